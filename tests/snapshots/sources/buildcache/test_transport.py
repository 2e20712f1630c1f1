"""Requests over HTTP: responses, retries, and errors."""

import gzip
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.sources.downloads import StoredBody
from snapshots.sources.inputs import Missing
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.sources.transport import Transport, retry_after
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


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("soon", 0), ("", 0)],
)
def test_retry_after(text: str, seconds: float) -> None:
    """The header has seconds or a date; other texts are none."""
    assert retry_after(httpx.Response(503, headers={"Retry-After": text})) == seconds


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
