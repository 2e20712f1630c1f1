"""Invalid bodies and headers, and floods of requests that fill caches."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from tests.hostile.attack import Attack, Request, Target, fresh, query, sending

_TINY = "{ tags { name } }"


def _raw(*bodies: bytes) -> Callable[[Target], list[Request]]:
    return lambda _target: [Request(body) for body in bodies]


def _numbers(_target: Target) -> Iterator[Request]:
    digits = "9" * 5_000
    yield query(f"{{ revisions(first: {digits}) {{ totalCount }} }}")
    yield query(f"{{ revisions(first: -{digits}) {{ totalCount }} }}")
    yield query(f"{{ node(id: {digits}) {{ id }} }}")
    yield query(f"{{ revision(ref: {digits}.{digits}e{digits}) {{ id }} }}")
    yield query(f"query($n: Int = {digits}) {{ revisions(first: $n) {{ totalCount }} }}")
    text = b'{"query":"query($n:Int){revisions(first:$n){totalCount}}","variables":{"n":%s}}'
    for number in (digits, "-" + digits, "1e400", "1e999999999", "NaN", "Infinity", "-0.0"):
        yield Request(text % number.encode())


def _surrogates(_target: Target) -> Iterator[Request]:
    for text in (rb"\ud800", rb"\udfff", rb"\ud83d\ud83d", rb"\u0000", rb"\uffff"):
        yield Request(rb'{"query":"{ tag(name: \"%s\") { name } }"}' % text)
        yield Request(rb'{"query":"{ tag(name: \"\%s\") { name } }"}' % text)
        yield Request(
            rb'{"query":"query($t:String!){tag(name:$t){name}}","variables":{"t":"%s"}}' % text
        )
        yield Request(rb'{"query":"{ tags { name } }","operationName":"%s"}' % text)
        yield Request(
            rb'{"query":"query($r:String!){revision(ref:$r){id}}","variables":{"r":"%s"}}' % text
        )
        yield Request(rb'{"query":"{revision{specs(matching:\"\%s\"){totalCount}}}"}' % text)


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


def _persisted_oddities(_target: Target) -> Iterator[Request]:
    values: tuple[Any, ...] = ("0" * 64, "x" * 200_000, 7, None, [], {"a": 1}, "\ud7ff")
    for value in values:
        extensions = {"persistedQuery": {"version": 1, "sha256Hash": value}}
        yield query(_TINY, extensions=extensions)
        yield Request(orjson.dumps({"extensions": extensions}))
    yield query(_TINY, extensions={"persistedQuery": 7})
    yield query(_TINY, extensions={str(number): number for number in range(15_000)})


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
    Attack("numbers", "numbers of 5,000 digits, NaN, 1e400", sending(_numbers)),
    Attack("surrogates", "half characters and NUL, in each place", sending(_surrogates)),
    Attack("deep JSON", "100,000 brackets", sending(_deep_json)),
    Attack("persisted oddities", "hashes of every wrong type", sending(_persisted_oddities)),
    Attack("methods, paths, headers", "each odd one", sending(_other_methods)),
    Attack(
        "bytes of other kinds",
        "what is not JSON, or not UTF-8",
        sending(
            _raw(
                b"",
                b"\x00" * 1_000,
                b"\xff\xfe{\x00",
                b"{",
                b"null",
                b'"x"',
                b"7",
                b"{}" * 9,
                b'{"query":7}',
                b'{"query":"{tags{name}}","query":"{x}"}',
                b'{"query":"\xff"}',
                '{"query":"{tags{name}}"}'.encode("utf-16"),
                b"\xef\xbb\xbf{}",
                b"[" * 1_000_000,
                b'{"query":"{tags{name}}","variables":[]}',
                b" " * 1_000_000,
            )
        ),
    ),
    Attack("flood: undeclared variables", "600 x 18,000", sending(_undeclared, at_once=2), True),
    Attack("flood: documents", "300 of 240 kB", sending(_large_documents, at_once=2), True),
    Attack("flood: columns", "400 filters and orders", sending(_columns), True),
)
