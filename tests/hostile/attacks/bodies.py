"""Long headers, and floods of requests that fill caches."""

from collections.abc import Callable, Iterator

import orjson

from tests.hostile.attack import Attack, Request, Target, fresh, query, sending

_TINY = "{ tags { name } }"


def _long_headers(_target: Target) -> Iterator[Request]:
    for name, text in (
        ("Content-Type", "application/json;charset=" + "u" * 50_000),
        ("Accept", "a/b;q=1," * 7_000),
        ("Accept-Encoding", "gzip;q=0.1," * 5_000),
    ):
        request = query(_TINY)
        yield request._replace(headers={**request.headers, name: text})


def _floods(count: int, make: Callable[[str], Request]) -> Iterator[Request]:
    return (make(fresh()) for _ in range(count))


def _undeclared(_target: Target) -> Iterator[Request]:
    ballast = orjson.dumps({f"v{number}": number for number in range(18_000)})[1:]
    text = b'{"query":"{ tags { name } }","variables":{"%s":1,%s}'
    return _floods(600, lambda name: Request(text % (name.encode(), ballast)))


def _large_documents(_target: Target) -> Iterator[Request]:
    ballast = "x" * 240_000
    return _floods(300, lambda name: query(f"#{ballast}\nquery {name} {_TINY}"))


def _columns(target: Target) -> Iterator[Request]:
    kinds = ("versions", "compilers", "targets", "platforms", "operatingSystems", "stacks")
    fields = ("VERSION", "HASH", "COMPILER", "TARGET", "SIZE", "PACKAGE")
    for number in range(400):
        picked = [kind for bit, kind in enumerate(kinds) if number >> bit & 1]
        filters = ",".join(f'{kind}:["{fresh()}","linux"]' for kind in picked)
        order = f"{{field:{fields[number % 6]}}}"
        ref = target.digests[number % len(target.digests)]
        yield query(
            f'{{ revision(ref:"{ref}") {{ specs(first:5,orderBy:{order},filter:{{{filters}}})'
            "{ facets { versions { value } stacks { value } } nodes { hash } } } }"
        )


ATTACKS = (
    Attack("long headers", "lists of very many parts", sending(_long_headers)),
    Attack("flood: undeclared variables", "600 x 18,000", sending(_undeclared, at_once=2), True),
    Attack("flood: documents", "300 of 240 kB", sending(_large_documents, at_once=2), True),
    Attack("flood: columns", "400 filters and orders", sending(_columns), True),
)
