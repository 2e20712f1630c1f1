"""Pages: of all there is and of nothing, ever other ones, whole tables, and forms."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from urllib.parse import quote, urlencode

from server.pages.routes import TABS
from tests.hostile.attack import HOST, PATIENCE, Answer, Ask, Attack, Target, asking, fresh
from tests.hostile.attacks.sockets import held

_MANY = 100
_BROWSER = {"Accept": "text/html"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_PARTS = "multipart/form-data; boundary=x"


def _get(path: str) -> Ask:
    return Ask(b"", "GET", path, _BROWSER)


def _of_everything(target: Target) -> Iterator[Ask]:
    newest = target.digests[0]
    for tag in target.tags[:3]:
        yield _get(f"/r/{tag}")
        for package, spec in zip(target.packages[:60], target.hashes, strict=False):
            yield _get(f"/r/{tag}/packages/{quote(package)}")
            yield _get(f"/r/{newest}/specs/{spec}")
            yield _get(f"/hash/{spec}")


def _of_nothing(target: Target) -> Iterator[Ask]:
    """Every one of them is looked for among all names, for the nearest."""
    for _ in range(_MANY):
        yield _get(f"/r/{target.tags[0]}/packages/{quote(target.packages[0])}-{fresh()}")
        yield _get(f"/r/{fresh()}")
        yield _get(f"/{fresh()}")


def _comparisons(target: Target) -> Iterator[Ask]:
    pairs = [(base, head) for base in target.digests for head in target.digests]
    for tab in TABS:
        for base, head in pairs[:20]:
            yield _get(f"/compare/{base}...{head}{tab}")


def _searches(target: Target) -> Iterator[Ask]:
    """Search for what nobody searched for, and for what takes long to read or to find."""
    for number in range(_MANY):
        text = (f"{target.packages[number % len(target.packages)]} @1:{number}", "^zlib" * 16)
        for query in (*text, f"+{fresh()}", "(" * 500, f"*{fresh()}*", "x" * 3_900, "%gcc " * 200):
            yield _get(f"/search?{urlencode({'q': query})}")


def _odd_addresses(target: Target) -> Iterator[Ask]:
    tag = target.tags[0]
    odd = ("%00", "%0d%0aX:y", "..%2f..%2fetc", "%ff%fe", "%2e%2e/%2e%2e", "%", "a" * 60_000)
    for text in odd:
        for path in (f"/r/{text}", f"/series/{text}", f"/compare/{text}...{tag}", f"/{text}/"):
            yield _get(path)
        for name in ("after", "before", "order", "direction", "stacks", "search", "as", "first"):
            yield _get(f"/r/{tag}?{name}={text}")
    yield _get(f"/r/{tag}?" + "&".join(f"stacks={number}" for number in range(2_000)))
    yield _get(f"/r/{tag}?" + "&".join(f"{number}=" for number in range(150)))
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        yield Ask(b"x" * 100, method, f"/r/{tag}", _BROWSER)


def _ever_new_addresses(target: Target) -> Iterator[Ask]:
    """Add to an address what is not part of it, and what makes another page of it."""
    tag = target.tags[0]
    for number in range(_MANY):
        yield _get(f"/r/{tag}?{fresh()}={fresh()}")
        yield _get(f"/r/{tag}?search={fresh()}")
        yield _get(
            f"/r/{'%' + format(ord(tag[0]), '02x')}{tag[1:]}?search={number}&order=NUM_SPECS"
        )


def _whole_tables(target: Target) -> Iterator[Ask]:
    base, head = target.digests[-1], target.digests[0]
    paths = (f"/r/{head}", "/search?q=*", f"/compare/{base}...{head}/specs")
    for path in paths * 4:
        for form in ("csv", "jsonl"):
            yield _get(f"{path}{'&' if '?' in path else '?'}as={form}")


def _streamed(target: Target) -> list[Answer]:
    """Ask for whole tables, some beside each other; an answer is slow where it begins late."""
    with ThreadPoolExecutor(8) as pool:
        return [*pool.map(partial(_first_rows, target), _whole_tables(target))]


def _first_rows(target: Target, ask: Ask) -> Answer:
    """Read a table to its end, and return how long its first rows took."""
    started = time.perf_counter()
    connection = HTTPConnection(HOST, target.port, timeout=PATIENCE)
    try:
        connection.request(ask.method, ask.path, None, dict(ask.headers))
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


def _forms(_target: Target) -> Iterator[Ask]:
    """Send lock files that are none, ever deeper and longer, and parts without end."""
    texts = ("", "{", "[" * 100_000, '{"a":' * 50_000, '"\\ud800"', "1" * 400_000, "\x00" * 9_000)
    for text in texts:
        yield Ask(urlencode({"text": text}).encode(), "POST", "/check", _FORM)
        part = 'Content-Disposition: form-data; name="file"; filename="a"'
        body = f"--x\r\n{part}\r\n\r\n{text}\r\n--x--\r\n".encode()
        yield Ask(body, "POST", "/check", {"Content-Type": _PARTS})
    for text in ("%", "%41a", "\x00"):  # escapes that are none, and texts that are written out
        whole = text * (1_000_000 // len(text))
        yield Ask(f"text={whole}".encode(), "POST", "/check", _FORM)
    yield Ask(urlencode({"text": "{}", "in": "x" * 1_000_000}).encode(), "POST", "/check", _FORM)
    yield Ask(b"a=b&" * 200_000, "POST", "/check", _FORM)
    yield Ask(b"--x\r\n" * 50_000, "POST", "/check", {"Content-Type": _PARTS})
    yield Ask(b"--x\r\n" + b"A: b\r\n" * 50_000, "POST", "/check", {"Content-Type": _PARTS})
    yield Ask(b"x" * 20_000_000, "POST", "/check", _FORM)


def _export(target: Target) -> bytes:
    return f"GET /search?q=*&as=csv&x={fresh()} HTTP/1.1\r\nHost: {target.host}\r\n\r\n".encode()


def _filtered(target: Target) -> bytes:
    """Ask for a page that is long: each of its links has every filter of its address."""
    filters = "&".join(f"stacks={'x' * 40}{number}" for number in range(140))
    path = f"/r/{target.tags[0]}?search={fresh()}&{filters}"
    return f"GET {path} HTTP/1.1\r\nHost: {target.host}\r\n\r\n".encode()


ATTACKS = (
    Attack("pages of everything", "making many pages", asking(_of_everything, at_once=16)),
    Attack("pages of nothing", "looking for the nearest names", asking(_of_nothing, at_once=8)),
    Attack("pages of comparisons", "comparing all with all", asking(_comparisons, at_once=8)),
    Attack("pages of searches", "queries that are hard", asking(_searches, at_once=8)),
    Attack("odd addresses of pages", "confusing the reading of paths", asking(_odd_addresses)),
    Attack("ever new addresses of pages", "filling memory", asking(_ever_new_addresses, at_once=8)),
    Attack("whole tables", "streams beside each other", _streamed),
    Attack("whole tables, not read", "60 slow readers", held(60, _export, b"")),
    Attack("long pages, not read", "60 slow readers", held(60, _filtered, b"")),
    Attack("forms of pages", "lock files that are none", asking(_forms, at_once=4)),
)
