"""The three queries that are measured: a long list, lists in a list, and one number."""

from collections.abc import Mapping

import orjson

QUERIES = {
    "list1000": '{revision(ref:"develop"){specs(first:1000){nodes'
    "{hash name version compiler operatingSystem target variants stacks}}}}",
    "nested": '{revision(ref:"develop"){packages(first:100){nodes'
    "{name specs(first:20){nodes{hash version compiler}}}}}}",
    "tiny": '{revision(ref:"develop"){numSpecs}}',
}


def request_body(query: str) -> bytes:
    """Return the body of a POST request."""
    return orjson.dumps({"query": query})


def require_same(answers: Mapping[str, bytes]) -> None:
    """Leave where the answers, by contender, are not the same JSON, or are errors."""
    expected: object = None
    for contender, answer in answers.items():
        found = orjson.loads(answer)
        expected = expected or found
        if found.keys() != {"data"} or found != expected:
            raise SystemExit(f"{contender} answers otherwise: {answer[:200].decode()}")
