"""Reading over HTTP: what comes, what is tried again, and what is refused."""

import gzip
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import msgspec
import pytest

from snapshots.errors import SourceError
from snapshots.sources.inputs import Missing
from snapshots.sources.reports import Report
from snapshots.sources.transport import Transport
from tests.snapshots.sources.buildcache.fetching import DATA, QUICK, fetched, keeping, kept, loaded
from tests.snapshots.sources.buildcache.folders import put
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    content,
    cut,
    in_turn,
    serving,
    silence,
    status,
    unmeasured,
)


def test_a_local_file(tmp_path: Path) -> None:
    """A file is read where it lies, and nothing is kept of it."""
    file = str(put(tmp_path / "index.json", DATA))
    with Transport(keeping(tmp_path / "kept"), Report(), []) as transport:
        assert transport.exists(file)
        assert not transport.exists(str(tmp_path))
        assert loaded(transport.fetch(file)) == transport.read(file) == DATA
    assert kept(tmp_path) == [tmp_path / "index.json"]


@pytest.mark.parametrize("packed", [False, True])
def test_content_over_http(server: Server, packed: bool) -> None:
    """A body is the same whether the server packs it for the way or not."""
    server["/index.json"] = content(DATA, packed=packed)
    assert fetched(server.at("/index.json")) == DATA
    with Transport(QUICK, Report(), [server.url]) as transport:
        assert transport.read(server.at("/index.json")) == DATA
        assert transport.exists(server.at("/index.json"))
        assert not transport.exists(server.at("/other.json"))
    assert server.headers[0]["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize("measured", [True, False])
def test_larger_than_the_limit(server: Server, measured: bool) -> None:
    """A body above the limit is refused, whether the server says how large it is or not."""
    server["/a.json"] = content(DATA) if measured else unmeasured(DATA)
    with pytest.raises(SourceError, match="holds more than 1,000 bytes"):
        fetched(server.at("/a.json"), msgspec.structs.replace(QUICK, max_index_bytes=1000))


def test_a_gzip_bomb(server: Server) -> None:
    """A small body that unpacks to a huge one is stopped at the limit, however it is packed."""
    zeros = bytes(20_000_000)
    settings = msgspec.structs.replace(QUICK, max_index_bytes=2_000_000)
    server["/encoded.json"] = content(zeros, packed=True)
    server["/blob"] = content(gzip.compress(zeros))
    with pytest.raises(SourceError, match="holds more than 2,000,000 bytes"):
        fetched(server.at("/encoded.json"), settings)
    with Transport(settings, Report(), [server.url]) as transport:
        with pytest.raises(SourceError, match="holds more than 2,000,000 bytes"):
            transport.fetch(server.at("/blob")).load(limit=2_000_000, compression="gzip")
        with pytest.raises(SourceError, match="holds more than 16,777,216 bytes"):
            transport.read(server.at("/encoded.json"))


def test_an_encoding_that_was_not_asked_for(server: Server) -> None:
    """A Content-Encoding other than gzip cannot be read, and is named."""
    server["/a.json"] = unmeasured(DATA, **{"Content-Encoding": "br"})
    with pytest.raises(SourceError, match="Content-Encoding 'br'"):
        fetched(server.at("/a.json"))


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_unchanged_is_not_fetched_again(
    server: Server, tmp_path: Path, packed: bool
) -> None:
    """The ETag of what was kept is sent along, and a 304 is answered from the cache."""
    url, sent = server.at("/a.json"), '"one"'
    server["/a.json"] = content(DATA, etag=sent, packed=packed)
    assert fetched(url, keeping(tmp_path)) == fetched(url, keeping(tmp_path)) == DATA
    assert [headers.get("If-None-Match") for headers in server.headers] == [None, sent]
    server["/a.json"] = content(b"changed", etag='"two"')
    assert fetched(url, keeping(tmp_path)) == b"changed"
    assert len(kept(tmp_path)) == 1


@pytest.mark.parametrize("etag", [None, '"\xe9"', '"\t"'])
def test_what_does_not_last(server: Server, tmp_path: Path, etag: str | None) -> None:
    """A body whose ETag is none, or cannot be sent back, is not kept."""
    server["/a.json"] = unmeasured(DATA, **({"ETag": etag} if etag else {}))
    for _ in range(2):
        assert fetched(server.at("/a.json"), keeping(tmp_path)) == DATA
    assert kept(tmp_path) == []


def test_a_cache_folder_that_cannot_be_made(server: Server, tmp_path: Path) -> None:
    """Reading goes on without a cache, with a warning."""
    (tmp_path / "file").write_text("in the way")
    server["/a.json"] = content(DATA)
    report = Report()
    assert fetched(server.at("/a.json"), keeping(tmp_path / "file"), report) == DATA
    assert "cannot store anything" in report.warnings[0]


def test_progress_is_told_in_bytes(server: Server) -> None:
    """The report hears how many bytes came, of how many, up to all of them."""
    heard: list[tuple[str, int, int | None]] = []
    server["/a.json"], server["/b.json"] = content(DATA), unmeasured(DATA)
    for name in ("/a.json", "/b.json"):
        fetched(server.at(name), report=Report(progress=lambda *what: heard.append(what)))
        assert heard[-1] == (f"reading {server.at(name)}", len(DATA), len(DATA))


def test_the_report_hears_one_thing_at_a_time() -> None:
    """Progress comes from several threads, but never from two at once."""
    inside: list[str] = []
    together: list[int] = []

    def progress(task: str, _done: int, _total: int | None) -> None:
        inside.append(task)
        together.append(len(inside))
        time.sleep(0.001)
        inside.pop()

    settings = msgspec.structs.replace(QUICK, workers=4)
    with Transport(settings, Report(progress=progress), []) as transport:
        for _, result in transport.ahead(
            lambda task: transport.progress(task, 0, None), "abcdefgh"
        ):
            result.result()
    assert together == [1] * 8


def test_working_ahead() -> None:
    """Results come in the order of the items, and only a few of those are begun ahead."""
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        time.sleep(0.02 if item == 0 else 0)
        return -item

    with Transport(msgspec.structs.replace(QUICK, workers=2), Report(), []) as transport:
        results = transport.ahead(work, range(10))
        item, result = next(results)
        assert (item, result.result()) == (0, 0)
        assert len(begun) <= 4
        assert [(item, result.result()) for item, result in results] == [
            (item, -item) for item in range(1, 10)
        ]


def test_stopping(server: Server) -> None:
    """Leaving a transport ends the waits between attempts, and begins nothing more."""
    server["/a.json"] = status(500)
    settings = msgspec.structs.replace(QUICK, backoff=60, workers=1)
    start = time.monotonic()
    with Transport(settings, Report(), [server.url]) as transport:
        results = transport.ahead(transport.fetch, [server.at("/a.json")] * 5)
        waiting = threading.Thread(target=lambda: next(results)[1].exception())
        waiting.start()
        while not server.asked:
            time.sleep(0.005)
    waiting.join(timeout=5)
    assert not waiting.is_alive()
    assert time.monotonic() - start < 5
    assert server.downloads() == 1


def test_bodies_are_closed(server: Server, tmp_path: Path) -> None:
    """No file that was fetched stays open behind the transport, whether it was read or not."""
    server["/a.json"], server["/b.json"] = content(DATA), unmeasured(DATA)
    file = str(put(tmp_path / "index.json", DATA))
    for _ in range(2):
        with Transport(keeping(tmp_path / "kept"), Report(), [server.url]) as transport:
            urls = [server.at("/a.json"), server.at("/b.json"), file]
            bodies = [transport.fetch(url) for url in urls]
            assert not any(body.file.closed for body in bodies)
        assert all(body.file.closed for body in bodies)


# -- requests over HTTP: what is tried again, for how long, and what is refused at once


@pytest.mark.parametrize(
    "failures",
    [[status(500), status(503)], [status(429), status(502)], [status(500), cut(DATA)]],
    ids=["500-503", "429-502", "500-cut"],
)
def test_trying_again(server: Server, failures: list[Reply]) -> None:
    """A server that recovers is read, after as many failures as attempts allow."""
    server["/a.json"] = in_turn(*failures, content(DATA))
    assert fetched(server.at("/a.json")) == DATA
    assert server.downloads() == 3


def test_the_server_says_when_to_come_back(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry-After is waited for, as seconds or as a date, however short the backoff is."""
    waits: list[float] = []
    past, later = "Wed, 21 Oct 2015 07:28:00 GMT", datetime.now(UTC) + timedelta(seconds=50)
    dates = [status(503, Retry_After=when) for when in (past, format_datetime(later), "soon")]
    server["/a.json"] = in_turn(status(429, Retry_After="7"), *dates, content(DATA))
    with Transport(msgspec.structs.replace(QUICK, attempts=5), Report(), [server.url]) as transport:
        monkeypatch.setattr(transport._stopped, "wait", waits.append)
        assert loaded(transport.fetch(server.at("/a.json"))) == DATA
    assert [round(wait / 10) * 10 for wait in waits] == [10, 0, 50, 0]
    assert waits[0] == 7


def test_the_waits_grow(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait is about twice the one before, with some jitter."""
    waits: list[float] = []
    server["/a.json"] = status(500)
    settings = msgspec.structs.replace(QUICK, attempts=4, backoff=8)
    with Transport(settings, Report(), [server.url]) as transport:
        monkeypatch.setattr(transport._stopped, "wait", waits.append)
        with pytest.raises(SourceError, match="tried 4 times"):
            transport.fetch(server.at("/a.json"))
    assert all(4 * 2**index <= wait <= 12 * 2**index for index, wait in enumerate(waits))
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (500, r"HTTP 500 Internal Server Error \(tried 3 times\); try again later"),
        (404, "HTTP 404 Not Found: it is not there"),
        (403, "HTTP 403 Forbidden: it is not there, or not for everyone to read"),
        (401, "HTTP 401 Unauthorized: check the URL"),
        (204, "HTTP 204 No Content: check the URL"),
        (304, "HTTP 304 Not Modified: check the URL"),
    ],
)
def test_statuses(server: Server, code: int, reason: str) -> None:
    """An error names the URL, the status and what to do."""
    server["/a.json"] = status(code)
    with pytest.raises(SourceError, match=reason) as caught:
        fetched(server.at("/a.json"))
    assert caught.value.location == server.at("/a.json")
    assert isinstance(caught.value, Missing) == (code in (403, 404))


def test_a_long_wait_is_not_waited_for(server: Server) -> None:
    """A server that asks for minutes of patience ends the reading at once."""
    server["/a.json"] = status(429, Retry_After="600")
    with pytest.raises(SourceError, match=r"HTTP 429 .*; try again in 600 s"):
        fetched(server.at("/a.json"))
    assert server.downloads() == 1


def test_a_silent_server(server: Server) -> None:
    """A server that does not answer is given up on after its time, so many times."""
    server["/a.json"] = silence(server)
    settings = msgspec.structs.replace(QUICK, timeout=0.1, attempts=2)
    with pytest.raises(SourceError, match=r"no answer within 0.1 s \(tried 2 times\)"):
        fetched(server.at("/a.json"), settings)


def test_no_server() -> None:
    """A port that nobody listens on is a broken connection."""
    with serving() as server:
        url = server.at("/a.json")
    with pytest.raises(SourceError, match=r"the connection failed: .*refused"):
        fetched(url)


def test_a_body_that_is_always_cut(server: Server, tmp_path: Path) -> None:
    """What never comes whole is an error, and nothing of it stays on disk."""
    server["/a.json"] = cut(DATA)
    with pytest.raises(SourceError, match=r"the connection failed: .*without sending complete"):
        fetched(server.at("/a.json"), keeping(tmp_path))
    assert kept(tmp_path) == []


def test_redirects(server: Server) -> None:
    """A redirect is followed; a circle of them is an error that is not tried again."""
    server["/old.json"] = status(302, Location="/a.json")
    server["/a.json"] = content(DATA)
    assert fetched(server.at("/old.json")) == DATA
    server["/circle.json"] = status(302, Location="/circle.json")
    server.asked.clear()
    with pytest.raises(SourceError, match="redirects more than 10 times, perhaps in a circle"):
        fetched(server.at("/circle.json"))
    assert server.downloads() == 11
    server["/file.json"] = status(302, Location="file:///etc/hostname")
    with pytest.raises(SourceError, match="is not a valid URL"):
        fetched(server.at("/file.json"))
