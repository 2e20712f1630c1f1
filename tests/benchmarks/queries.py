"""The three measured queries: a long list, lists in a list, and one number."""

from collections.abc import Mapping

import orjson

QUERIES = {
    "list1000": '{revision(ref:"develop"){specs(first:1000){nodes'
    "{hash name version compiler operatingSystem target variants stackNames}}}}",
    "nested": '{revision(ref:"develop"){packages(first:100){nodes'
    "{name specs(first:20){nodes{hash version compiler}}}}}}",
    "tiny": '{revision(ref:"develop"){numSpecs}}',
}


def request_body(query: str) -> bytes:
    """Return the body of a POST request."""
    return orjson.dumps({"query": query})


def require_same(answers: Mapping[str, bytes]) -> None:
    """Exit unless the answers of all contenders are the same JSON, without errors."""
    expected: object = None
    for contender, answer in answers.items():
        decoded = orjson.loads(answer)
        expected = expected or decoded
        if decoded.keys() != {"data"} or decoded != expected:
            raise SystemExit(f"{contender} has another answer: {answer[:200].decode()}")
