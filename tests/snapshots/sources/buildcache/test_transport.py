"""Reading over HTTP: what comes, what is tried again, and what is refused."""

import gzip
import threading
import time
from pathlib import Path

import msgspec
import pytest

from snapshots.errors import SourceError
from snapshots.sources.reports import Report
from snapshots.sources.transport import Transport
from tests.snapshots.sources.buildcache.fetching import DATA, QUICK, fetched, keeping, kept, loaded
from tests.snapshots.sources.buildcache.folders import put
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Server,
    content,
    in_turn,
    status,
    unmeasured,
)


def test_a_local_file(tmp_path: Path) -> None:
    """A file is read where it lies, and nothing is kept of it."""
    file = str(put(tmp_path / "index.json", DATA))
    with Transport(keeping(tmp_path / "kept"), Report()) as transport:
        assert transport.exists(file)
        assert not transport.exists(str(tmp_path))
        assert loaded(transport.fetch(file)) == transport.read(file) == DATA
    assert kept(tmp_path) == [tmp_path / "index.json"]


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


def test_the_cache_is_bounded(server: Server, tmp_path: Path) -> None:
    """What was used longest ago makes room for what comes."""
    for number in range(4):
        server[f"/{number}.json"] = content(DATA)
        assert fetched(server.at(f"/{number}.json"), keeping(tmp_path, cache_bytes=4000)) == DATA
    assert len(kept(tmp_path)) == 2


def test_several_readings_at_once(server: Server, tmp_path: Path) -> None:
    """Readings that share a cache folder, and what changes meanwhile, do not mix up bodies."""
    versions = [content(letter * 100_000, etag=f'"{letter.decode()}"') for letter in (b"a", b"b")]
    server["/a.json"] = in_turn(*(versions * 20))
    with Transport(msgspec.structs.replace(QUICK, workers=4), Report()) as pool:
        settings = keeping(tmp_path, cache_bytes=150_000)
        urls = [server.at("/a.json")] * 40
        found = [
            result.result() for _, result in pool.ahead(lambda url: fetched(url, settings), urls)
        ]
    assert {bytes(set(data)) for data in found} == {b"a", b"b"}
    assert {len(data) for data in found} == {100_000}


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
    with Transport(settings, Report(progress=progress)) as transport:
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

    with Transport(msgspec.structs.replace(QUICK, workers=2), Report()) as transport:
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
    with Transport(settings, Report()) as transport:
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
        with Transport(keeping(tmp_path / "kept"), Report()) as transport:
            urls = [server.at("/a.json"), server.at("/b.json"), file]
            bodies = [transport.fetch(url) for url in urls]
            assert not any(body.file.closed for body in bodies)
        assert all(body.file.closed for body in bodies)
