"""Requests over HTTP: responses, retries, and errors."""

import gzip
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.sources.downloads import StoredBody
from snapshots.sources.inputs import Missing
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.sources.transport import Transport
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    content,
    cut,
    in_turn,
    silence,
    status,
    unmeasured,
)

QUICK = ReadSettings(timeout=5, attempts=3, backoff=0.001)
DATA = b'{"database": {}}' * 100


def fetched(location: str, settings: ReadSettings = QUICK, report: Report | None = None) -> bytes:
    """Return the content of a location."""
    with Transport(settings, report or Report(), [location]) as transport:
        return bytes(loaded(transport.fetch(location), settings))


def loaded(body: StoredBody, settings: ReadSettings = QUICK) -> bytes | bytearray:
    """Return the unpacked content of a body."""
    return body.load(limit=settings.max_index_bytes)[0]


def caching(folder: Path) -> ReadSettings:
    """Return settings that cache bodies in a folder."""
    return replace(QUICK, cache_dir=folder)


def files_in(folder: Path) -> list[Path]:
    """Return all files below a folder."""
    return [file for file in folder.rglob("*") if file.is_file()]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (content(DATA), "contains more than 1,000 bytes"),
        (unmeasured(DATA), "contains more than 1,000 bytes"),
        (unmeasured(b"", **{"Content-Encoding": "br"}), "Content-Encoding 'br'"),
        (cut(b""), r"the connection failed: .*without sending complete"),
    ],
    ids=["large", "large without a length", "another encoding", "truncated"],
)
def test_refused_bodies(server: Server, tmp_path: Path, reply: Reply, reason: str) -> None:
    """The error has the reason, and no file remains."""
    server["/a.json"] = reply
    settings = replace(caching(tmp_path), max_index_bytes=1000)
    with pytest.raises(SourceError, match=reason):
        fetched(server.at("/a.json"), settings)
    assert files_in(tmp_path) == []


def test_gzip_bomb(server: Server) -> None:
    """Decompression stops at the limit."""
    zeros = bytes(20_000_000)
    settings = replace(QUICK, max_index_bytes=2_000_000)
    server["/encoded.json"] = content(zeros, packed=True)
    server["/blob"] = content(gzip.compress(zeros))
    with pytest.raises(SourceError, match="contains more than 2,000,000 bytes"):
        fetched(server.at("/encoded.json"), settings)
    with Transport(settings, Report(), [server.url]) as transport:
        with pytest.raises(SourceError, match="contains more than 2,000,000 bytes"):
            transport.fetch(server.at("/blob")).load(limit=2_000_000, compression="gzip")
        with pytest.raises(SourceError, match="contains more than 16,777,216 bytes"):
            transport.read(server.at("/encoded.json"))


@pytest.mark.parametrize("packed", [False, True])
def test_unchanged_body_is_not_fetched_again(server: Server, tmp_path: Path, packed: bool) -> None:
    """The ETag of a cached body is sent, and a 304 is answered from the cache, packed or not."""
    url, sent = server.at("/a.json"), '"one"'
    server["/a.json"] = content(DATA, etag=sent, packed=packed)
    assert fetched(url, caching(tmp_path)) == fetched(url, caching(tmp_path)) == DATA
    assert [headers.get("If-None-Match") for headers in server.headers] == [None, sent]
    assert server.headers[0]["Accept-Encoding"] == "gzip"
    with Transport(QUICK, Report(), [server.url]) as transport:
        assert transport.read(url) == DATA
        assert (transport.exists(url), transport.exists(server.at("/b.json"))) == (True, False)
    server["/a.json"] = content(b"changed", etag='"two"')
    assert fetched(url, caching(tmp_path)) == b"changed"
    assert len(files_in(tmp_path)) == 1


def test_unusable_cache_folder(server: Server, tmp_path: Path) -> None:
    """Reading continues without a cache, with a warning."""
    (tmp_path / "file").write_text("in the way")
    server["/a.json"] = content(DATA)
    report = Report()
    assert fetched(server.at("/a.json"), caching(tmp_path / "file"), report) == DATA
    assert "cannot store anything" in report.warnings[0]


def test_working_ahead() -> None:
    """Results are in the order of the items, and only a few items are begun ahead."""
    begun: list[int] = []
    results: list[tuple[int, int]] = []

    def work(item: int) -> int:
        begun.append(item)
        time.sleep(0.02 if item == 0 else 0)
        return -item

    def use(item: int, result: int) -> None:
        results.append((item, result))
        assert len(begun) <= 3 + len(results)

    with Transport(replace(QUICK, workers=2), Report(), []) as transport:
        transport.each("all", work, range(10), 10, use)
    assert results == [(item, -item) for item in range(10)]


def test_stopping(server: Server) -> None:
    """Closing a transport ends the waits between attempts, and begins no request."""
    server["/a.json"] = status(500)
    settings = replace(QUICK, backoff=60, workers=1)
    start = time.monotonic()

    def read() -> None:
        with suppress(SourceError):
            transport.each("all", transport.fetch, [server.at("/a.json")] * 5, 5, lambda *_: None)

    with Transport(settings, Report(), [server.url]) as transport:
        thread = threading.Thread(target=read)
        thread.start()
        while not server.requests:
            time.sleep(0.005)
    thread.join(timeout=5)
    assert not thread.is_alive()
    assert time.monotonic() - start < 5
    assert server.downloads() == 1


# -- requests that fail


@pytest.mark.parametrize(
    "failures",
    [[status(500), status(503)], [status(429), status(502)], [status(500), cut(DATA)]],
    ids=["500-503", "429-502", "500-cut"],
)
def test_retries(server: Server, failures: list[Reply]) -> None:
    """A server that recovers within the number of attempts is read."""
    server["/a.json"] = in_turn(*failures, content(DATA))
    assert fetched(server.at("/a.json")) == DATA
    assert server.downloads() == 3


def waits_of(server: Server, monkeypatch: pytest.MonkeyPatch, **settings: float) -> list[float]:
    """Return the waits between the attempts of a request."""
    waits: list[float] = []
    with Transport(replace(QUICK, **settings), Report(), [server.url]) as transport:
        monkeypatch.setattr(transport._stopped, "wait", waits.append)
        with suppress(SourceError):
            assert loaded(transport.fetch(server.at("/a.json"))) == DATA
    return waits


def test_retry_after(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry-After, in seconds or as a date, is waited for instead of the backoff."""
    past, later = "Wed, 21 Oct 2015 07:28:00 GMT", datetime.now(UTC) + timedelta(seconds=50)
    dates = [status(503, Retry_After=when) for when in (past, format_datetime(later), "soon")]
    server["/a.json"] = in_turn(status(429, Retry_After="7"), *dates, content(DATA))
    waits = waits_of(server, monkeypatch, attempts=5)
    assert [round(wait / 10) * 10 for wait in waits] == [10, 0, 50, 0]
    assert waits[0] == 7


@pytest.mark.parametrize(
    ("code", "reason", "attempts"),
    [
        (500, r"HTTP 500 Internal Server Error \(tried 3 times\); try again later", 3),
        (429, "HTTP 429 Too Many Requests; try again in 600 s", 1),
        (404, "HTTP 404 Not Found: it is not there", 1),
        (403, "HTTP 403 Forbidden: it is not there, or it is not public", 1),
        (401, "HTTP 401 Unauthorized: check the URL", 1),
        (204, "HTTP 204 No Content: check the URL", 1),
        (304, "HTTP 304 Not Modified: check the URL", 1),
    ],
)
def test_statuses(server: Server, code: int, reason: str, attempts: int) -> None:
    """The error has the URL, the status and what to do; a long wait ends the run at once."""
    server["/a.json"] = status(code, **({"Retry_After": "600"} if code == 429 else {}))
    with pytest.raises(SourceError, match=reason) as caught:
        fetched(server.at("/a.json"))
    assert caught.value.location == server.at("/a.json")
    assert isinstance(caught.value, Missing) == (code in (403, 404))
    assert server.downloads() == attempts


def test_silent_server(server: Server) -> None:
    """Each attempt ends after the timeout."""
    server["/a.json"] = silence(server)
    settings = replace(QUICK, timeout=0.1, attempts=2)
    with pytest.raises(SourceError, match=r"no answer within 0.1 s \(tried 2 times\)"):
        fetched(server.at("/a.json"), settings)


def test_redirects(server: Server) -> None:
    """A redirect is followed; a cycle is an error without retries."""
    server["/old.json"] = status(302, Location="/a.json")
    server["/a.json"] = content(DATA)
    assert fetched(server.at("/old.json")) == DATA
    server["/circle.json"] = status(302, Location="/circle.json")
    server.requests.clear()
    with pytest.raises(SourceError, match="redirects more than 10 times, perhaps in a loop"):
        fetched(server.at("/circle.json"))
    assert server.downloads() == 11
    server["/file.json"] = status(302, Location="file:///etc/hostname")
    with pytest.raises(SourceError, match="is not a valid URL"):
        fetched(server.at("/file.json"))
