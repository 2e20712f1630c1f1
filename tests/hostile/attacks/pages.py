"""Pages and feeds: existing and missing ones, many addresses, exported tables, and forms."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from urllib.parse import quote, urlencode

from snapshots.refs import series
from tests.hostile.attack import (
    HOST,
    PATIENCE,
    Answer,
    Attack,
    Request,
    Target,
    fresh,
    get,
    sending,
)

_MANY = 100
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_PARTS = "multipart/form-data; boundary=x"


def _page(path: str) -> Request:
    return get(path, {"Accept": "text/html"})


def _existing(target: Target) -> Iterator[Request]:
    newest = target.digests[0]
    for tag in target.tags[:3]:
        yield _page(f"/r/{tag}")
        for package, spec in zip(target.packages[:60], target.hashes, strict=False):
            yield _page(f"/r/{tag}/packages/{quote(package)}")
            yield _page(f"/r/{newest}/specs/{spec}")
            yield _page(f"/hash/{spec}")


def _existing_feeds(target: Target) -> Iterator[Request]:
    for name in _series(target):
        for _ in range(8):
            yield get(f"/feeds/{quote(name)}.atom")
        for package in target.packages:
            yield get(f"/feeds/{quote(name)}/{quote(package)}.atom")


def _series(target: Target) -> list[str]:
    return list(dict.fromkeys(map(series, target.tags)))


def _missing(target: Target) -> Iterator[Request]:
    """Request what does not exist: the server searches all names for the nearest ones."""
    package, name = quote(target.packages[0]), quote(_series(target)[0])
    for _ in range(_MANY):
        yield _page(f"/r/{target.tags[0]}/packages/{package}-{fresh()}")
        yield _page(f"/r/{fresh()}")
        yield _page(f"/{fresh()}")
        yield get(f"/feeds/{fresh()}.atom")
        yield get(f"/feeds/{name}/{package}-{fresh()}.atom")


def _searches(target: Target) -> Iterator[Request]:
    """Send new queries, and queries that take long to parse or to execute."""
    for number in range(_MANY):
        text = (f"{target.packages[number % len(target.packages)]} @1:{number}", "^zlib" * 16)
        for query in (*text, f"+{fresh()}", "(" * 500, f"*{fresh()}*", "x" * 3_900, "%gcc " * 200):
            yield _page(f"/search?{urlencode({'q': query})}")


_ODD = ("%00", "%0d%0aX:y", "..%2f..%2fetc", "%ff%fe", "%2e%2e/%2e%2e", "%", "+", "a" * 60_000)


def _odd_addresses(target: Target) -> Iterator[Request]:
    tag, feed = target.tags[0], f"/feeds/{quote(_series(target)[0])}"
    for text in _ODD:
        for path in (f"/r/{text}", f"/series/{text}", f"/compare/{text}...{tag}", f"/{text}/"):
            yield _page(path)
        for name in ("after", "before", "order", "direction", "stacks", "search", "as", "first"):
            yield _page(f"/r/{tag}?{name}={text}")
        for path in (f"/feeds/{text}.atom", f"{feed}/{text}.atom", f"{feed}.atom?after={text}"):
            yield get(path)
        yield get(f"{feed}.atom?{text}&after=x&after=y")
    yield _page(f"/r/{tag}?" + "&".join(f"stacks={number}" for number in range(2_000)))
    yield _page(f"/r/{tag}?" + "&".join(f"{number}=" for number in range(150)))


def _new_addresses(target: Target) -> Iterator[Request]:
    """Add unknown parameters, which must not create other pages and feeds, and ones that do."""
    tag, feed = target.tags[0], f"/feeds/{quote(_series(target)[0])}.atom"
    for number in range(_MANY):
        yield _page(f"/r/{tag}?{fresh()}={fresh()}")
        yield _page(f"/r/{tag}?search={fresh()}")
        escaped = f"%{ord(tag[0]):02x}{tag[1:]}"
        yield _page(f"/r/{escaped}?search={number}&order=NUM_SPECS")
        yield get(f"{feed}?{fresh()}={fresh()}")
        yield get(f"{feed}?after={fresh()}")


def _tables(target: Target) -> Iterator[Request]:
    base, head = target.digests[-1], target.digests[0]
    paths = (f"/r/{head}", "/search?q=*", f"/compare/{base}...{head}/specs")
    for path in paths * 4:
        for form in ("csv", "jsonl"):
            yield _page(f"{path}{'&' if '?' in path else '?'}as={form}")


def _streamed(target: Target) -> list[Answer]:
    """Export tables concurrently; a response is slow if its beginning is."""
    with ThreadPoolExecutor(8) as pool:
        return [*pool.map(partial(_first_rows, target), _tables(target))]


def _first_rows(target: Target, request: Request) -> Answer:
    """Read a table to its end; return the time to its first rows."""
    started = time.perf_counter()
    connection = HTTPConnection(HOST, target.port, timeout=PATIENCE)
    try:
        connection.request(request.method, request.path, None, dict(request.headers))
        response = connection.getresponse()
        size = len(response.read(1))
        seconds = time.perf_counter() - started
        while part := response.read(1 << 16):
            size += len(part)
    except TimeoutError:
        return Answer(None, time.perf_counter() - started, in_time=False)
    finally:
        connection.close()
    return Answer(response.status, seconds, size, is_internal_error=response.status == 500)


def _forms(_target: Target) -> Iterator[Request]:
    """Send invalid lock files, deep and long ones, and very many parts."""
    texts = ("", "{", "[" * 100_000, '{"a":' * 50_000, '"\\ud800"', "1" * 400_000, "\x00" * 9_000)
    for text in texts:
        yield Request(urlencode({"text": text}).encode(), "POST", "/check", _FORM)
        part = 'Content-Disposition: form-data; name="file"; filename="a"'
        body = f"--x\r\n{part}\r\n\r\n{text}\r\n--x--\r\n".encode()
        yield Request(body, "POST", "/check", {"Content-Type": _PARTS})
    for text in ("%", "%41a", "\x00"):  # invalid escapes, and superfluous ones
        content = text * (1_000_000 // len(text))
        yield Request(f"text={content}".encode(), "POST", "/check", _FORM)
    yield Request(
        urlencode({"text": "{}", "in": "x" * 1_000_000}).encode(), "POST", "/check", _FORM
    )
    yield Request(b"a=b&" * 200_000, "POST", "/check", _FORM)
    yield Request(b"--x\r\n" * 50_000, "POST", "/check", {"Content-Type": _PARTS})
    yield Request(b"--x\r\n" + b"A: b\r\n" * 50_000, "POST", "/check", {"Content-Type": _PARTS})
    yield Request(b"x" * 20_000_000, "POST", "/check", _FORM)


ATTACKS = (
    Attack("existing pages", "rendering many pages", sending(_existing, at_once=16)),
    Attack("existing feeds", "rendering many feeds", sending(_existing_feeds, at_once=16)),
    Attack("missing pages", "searching for the nearest names", sending(_missing, at_once=8)),
    Attack("pages of searches", "queries that are hard", sending(_searches, at_once=8)),
    Attack("odd addresses of pages", "confusing the reading of paths", sending(_odd_addresses)),
    Attack("new addresses of pages", "filling memory", sending(_new_addresses, at_once=8)),
    Attack("whole tables", "streams beside each other", _streamed),
    Attack("forms of pages", "lock files that are none", sending(_forms, at_once=4)),
)
