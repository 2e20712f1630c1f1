"""Reading from files and over HTTP: what comes, what is tried again, and what is refused."""

import gzip
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from snapshots.errors import SourceError
from snapshots.sources.reports import Report
from snapshots.sources.transport import Body, Missing, ReadSettings, Transport, resolve
from tests.snapshots.sources.misbehaving import (
    Server,
    content,
    cut,
    in_turn,
    serving,
    silence,
    status,
    unmeasured,
)

QUICK = ReadSettings(timeout=5, attempts=3, backoff=0.001)
DATA = b'{"database": {}}' * 100


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that replies 404 until told otherwise."""
    with serving() as running:
        yield running


def fetched(location: str, settings: ReadSettings = QUICK, report: Report | None = None) -> bytes:
    """Return what lies at a location as ``fetch`` brings it."""
    with Transport(settings, report or Report()) as transport:
        return bytes(loaded(transport.fetch(location), settings))


def loaded(body: Body, settings: ReadSettings = QUICK) -> bytearray:
    """Return the unpacked content of a body."""
    return body.load(limit=settings.max_index_bytes)[0]


def keeping(folder: Path, **changes: object) -> ReadSettings:
    """Return quick settings that keep bodies in a folder."""
    return msgspec.structs.replace(QUICK, cache_dir=folder, **changes)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("some/folder", "some/folder"),
        ("file:///some/a%20folder", "/some/a folder"),
        ("HTTPS://Host/index.json", "https://Host/index.json"),
        ("s3://spack-binaries/develop/e4s", "https://binaries.spack.io/develop/e4s"),
        ("s3://other-bucket/a/b.json", "https://other-bucket.s3.amazonaws.com/a/b.json"),
        ("s3://mine/a", "http://127.0.0.1/mine/a"),
    ],
)
def test_resolve(location: str, expected: str) -> None:
    """A location stands for a path or for an http(s) URL; buckets for where they are served."""
    settings = ReadSettings(s3_prefixes={"mine": "http://127.0.0.1/mine/"})
    assert resolve(location, settings) == expected


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("oci://registry/image", "none of what can be read"),
        ("s3://-/a", "cannot name an S3 bucket"),
        ("https://me:secret@host/index.json", "holds a login"),
    ],
)
def test_resolve_refuses(location: str, reason: str) -> None:
    """URLs of other kinds are refused, and a login is not repeated in the message."""
    with pytest.raises(SourceError, match=reason) as caught:
        resolve(location, QUICK)
    assert "secret" not in str(caught.value)


def test_a_file_is_read_where_it_lies(tmp_path: Path) -> None:
    """A local file is not copied, and is never deleted."""
    file = tmp_path / "index.json"
    file.write_bytes(DATA)
    with Transport(QUICK, Report()) as transport:
        body = transport.fetch(str(file))
        assert body.path == file
        assert loaded(body) == transport.read(str(file)) == DATA
        body.release()
        with pytest.raises(SourceError), body.discarded_if_bad():
            raise SourceError(str(file), "is bad")
    assert file.exists()


def test_a_file_that_is_not_there_or_too_large(tmp_path: Path) -> None:
    """A missing file and one above the limit are told apart, before anything is read."""
    file = tmp_path / "index.json"
    with pytest.raises(Missing, match="does not exist"):
        fetched(str(file))
    file.write_bytes(DATA)
    with pytest.raises(SourceError, match=r"more than 10 bytes.*max_index_bytes"):
        fetched(str(file), msgspec.structs.replace(QUICK, max_index_bytes=10))
    with pytest.raises(SourceError, match="cannot be read: Is a directory"):
        fetched(str(tmp_path))


@pytest.mark.parametrize("packed", [False, True])
def test_content_over_http(server: Server, packed: bool) -> None:
    """A body is the same whether the server packs it for the way or not."""
    server["/index.json"] = content(DATA, packed=packed)
    assert fetched(server.at("/index.json")) == DATA
    with Transport(QUICK, Report()) as transport:
        assert transport.read(server.at("/index.json")) == DATA
        assert transport.exists(server.at("/index.json"))
        assert not transport.exists(server.at("/other.json"))
    assert server.headers[0]["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize(
    "failures", [[500, 503], [429, 502]], ids=lambda codes: "-".join(map(str, codes))
)
def test_trying_again(server: Server, failures: list[int]) -> None:
    """A server that recovers is read, after as many failures as attempts allow."""
    server["/a.json"] = in_turn(*map(status, failures), content(DATA))
    assert fetched(server.at("/a.json")) == DATA
    assert server.downloads() == 3


def test_a_cut_body_is_read_again(server: Server) -> None:
    """A connection that breaks in the middle of the body costs one attempt."""
    server["/a.json"] = in_turn(cut(DATA), content(DATA))
    assert fetched(server.at("/a.json")) == DATA
    assert server.downloads() == 2


def test_the_server_says_when_to_come_back(server: Server) -> None:
    """Retry-After is waited for, as seconds or as a date, however short the backoff is."""
    past = "Wed, 21 Oct 2015 07:28:00 GMT"
    busy = status(429, Retry_After="1"), status(503, Retry_After=past)
    server["/a.json"] = in_turn(*busy, content(DATA))
    start = time.monotonic()
    assert fetched(server.at("/a.json")) == DATA
    assert time.monotonic() - start >= 1


def test_the_waits_grow(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait is about twice the one before, with some jitter."""
    waits: list[float] = []
    server["/a.json"] = status(500)
    settings = msgspec.structs.replace(QUICK, attempts=4, backoff=8)
    with Transport(settings, Report()) as transport:
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
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


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
    with pytest.raises(SourceError, match="is no URL that can be read"):
        fetched(server.at("/file.json"))


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
    with Transport(settings, Report()) as transport:
        with pytest.raises(SourceError, match="holds more than 2,000,000 bytes"):
            transport.fetch(server.at("/blob")).load(limit=2_000_000, compression="gzip")
        with pytest.raises(SourceError, match="holds more than 16,777,216 bytes"):
            transport.read(server.at("/encoded.json"))


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (gzip.compress(DATA)[:-9], "breaks off in the middle of its gzip"),
        (b"", "breaks off in the middle of its gzip"),
        (b"no gzip", "is no good gzip"),
        (gzip.compress(DATA)[:-8] + bytes(8), "is no good gzip"),
    ],
)
def test_bad_gzip(tmp_path: Path, packed: bytes, reason: str) -> None:
    """Gzip that is cut, none at all or wrong in its own checksum is an error."""
    file = tmp_path / "blob"
    file.write_bytes(packed)
    body = Body(location="blob", path=file, file="user")
    with pytest.raises(SourceError, match=reason):
        body.load(limit=10_000, compression="gzip")


def test_gzip_in_members(tmp_path: Path) -> None:
    """A gzip file of several members is all of them; its checksum is that of the packed bytes."""
    file = tmp_path / "blob"
    file.write_bytes(gzip.compress(b"one ", mtime=0) + gzip.compress(b"two", mtime=0))
    body = Body(location="blob", path=file, file="user")
    unpacked, checksum = body.load(limit=1000, compression="gzip")
    assert unpacked == b"one two"
    assert checksum == hashlib.sha256(file.read_bytes()).hexdigest()


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
    assert len(list(tmp_path.rglob("*.body"))) == 1


def test_a_damaged_cache_is_fetched_again(server: Server, tmp_path: Path) -> None:
    """A kept body of other bytes than were fetched is not used, nor one without its note."""
    url = server.at("/a.json")
    server["/a.json"] = content(DATA)
    fetched(url, keeping(tmp_path))
    (kept,) = tmp_path.rglob("*.body")
    kept.write_bytes(DATA[::-1])
    assert fetched(url, keeping(tmp_path)) == DATA
    kept.with_suffix(".json").write_text("{")
    assert fetched(url, keeping(tmp_path)) == DATA
    assert all("If-None-Match" not in headers for headers in server.headers)


def test_what_does_not_last_is_released(server: Server, tmp_path: Path) -> None:
    """A body without an ETag leaves the cache with its release; another if it is bad."""
    server["/none.json"], server["/tag.json"] = unmeasured(DATA), content(DATA)
    with Transport(keeping(tmp_path), Report()) as transport:
        passing = transport.fetch(server.at("/none.json"))
        kept = transport.fetch(server.at("/tag.json"))
        passing.release()
        kept.release()
        assert list(tmp_path.rglob("*.body")) == [kept.path]
        with pytest.raises(SourceError), kept.discarded_if_bad():
            raise SourceError(kept.location, "is bad")
        assert not kept.path.exists()


def test_a_cache_folder_that_cannot_be_made(server: Server, tmp_path: Path) -> None:
    """Reading goes on without a cache, with a warning."""
    (tmp_path / "file").write_text("in the way")
    server["/a.json"] = content(DATA)
    report = Report()
    assert fetched(server.at("/a.json"), keeping(tmp_path / "file"), report) == DATA
    assert "cannot keep anything" in report.warnings[0]


def test_progress_is_told_in_bytes(server: Server) -> None:
    """The report hears how many bytes came, of how many, up to all of them."""
    heard: list[tuple[str, int, int | None]] = []
    server["/a.json"] = content(DATA)
    fetched(server.at("/a.json"), report=Report(progress=lambda *what: heard.append(what)))
    assert heard[-1] == (f"reading {server.at('/a.json')}", len(DATA), len(DATA))


def test_stopping(server: Server) -> None:
    """A transport that is stopped ends the wait between attempts in other threads."""
    server["/a.json"] = status(500)
    errors: list[str] = []
    settings = msgspec.structs.replace(QUICK, backoff=60)

    def work(transport: Transport) -> None:
        try:
            transport.fetch(server.at("/a.json"))
        except SourceError as error:
            errors.append(error.reason)

    with Transport(settings, Report()) as transport:
        thread = Thread(target=work, args=(transport,))
        thread.start()
        while not server.asked:
            time.sleep(0.005)
        transport.stop()
        thread.join(timeout=5)
    assert errors == ["reading was stopped"]
