"""Invalid bodies and headers, and floods of requests that fill caches."""

from collections.abc import Callable, Iterator

import orjson

from tests.hostile.attack import Attack, Request, Target, fresh, query, sending

_TINY = "{ tags { name } }"


def _deep_json(_target: Target) -> Iterator[Request]:
    depth = 100_000
    yield Request(b"[" * depth)
    yield Request(b'{"query":' * depth)
    for deep in (b"[" * 900 + b"]" * 900, b"[" * 100_000 + b"]" * 100_000):
        yield Request(b'{"query":"{tags{name}}","variables":{"x":%s}}' % deep)
        yield Request(
            b'{"query":"query($i:[ID!]!){nodes(ids:$i){id}}","variables":{"i":%s}}' % deep
        )
    objects = b'{"a":' * 900 + b"1" + b"}" * 900
    yield Request(b'{"query":"{tags{name}}","extensions":%s}' % objects)
    yield Request(
        b'{"query":"query($f:SpecFilter){revision{specs(filter:$f){totalCount}}}",'
        b'"variables":{"f":%s}}' % objects
    )


def _other_methods(_target: Target) -> Iterator[Request]:
    for method in ("HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "QUERY"):
        yield Request(b"", method)
    for path in (
        "/" + "a" * 60_000,
        "/%2e%2e/%2e%2e/etc/passwd",
        "/static/..%2f..%2fetc/passwd",
        "/static/%00",
        "/graphql/../graphql",
        "//example.org/graphql",
        "/graphql?query",
        "/graphql?query=%ff",
        f"/graphql?query={'%7B' * 20_000}",
        f"/graphql?variables={'%5B' * 20_000}&query=%7Btags%7Bname%7D%7D",
    ):
        yield Request(b"", "GET", path)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        yield Request(b"query=%7B__typename%7D", headers={"Content-Type": kind})
    yield Request(b"{}", headers={"Content-Type": "application/json;charset=" + "u" * 50_000})
    yield Request(b"{}", headers={"Content-Type": "application/json", "Accept": "a/b;q=1," * 7_000})
    yield query(_TINY)._replace(
        headers={"Content-Type": "application/json", "Accept-Encoding": "gzip;q=0.1," * 5_000}
    )


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
    Attack("deep JSON", "100,000 brackets", sending(_deep_json)),
    Attack("methods, paths, headers", "each odd one", sending(_other_methods)),
    Attack("flood: undeclared variables", "600 x 18,000", sending(_undeclared, at_once=2), True),
    Attack("flood: documents", "300 of 240 kB", sending(_large_documents, at_once=2), True),
    Attack("flood: columns", "400 filters and orders", sending(_columns), True),
)
