"""The store of bodies: what is found again, what is pruned, and what others may do meanwhile."""

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots.errors import SourceError
from snapshots.sources.downloads import DocumentCache, Note, Store, StoredBody
from snapshots.sources.reports import Report

URL = "https://host/index.json"
NOTE = Note(URL, '"etag"', None)
DATA = b"0123456789" * 3


def content(body: StoredBody | None) -> bytes | None:
    """Return what a body holds, and close it."""
    return None if body is None else bytes(body.load(limit=1000)[0])


def put(store: Store, key: str, data: bytes = DATA, age: float = 0) -> Path:
    """Keep data under a key, last used ``age`` seconds ago; return the file."""
    body = store.keep(key, NOTE, [data])
    assert content(body) == data
    assert body.kept is not None
    os.utime(body.kept, (time.time() - age,) * 2)
    return body.kept


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    """A body is found under its key and location alone, with its ETag and encoding."""
    note = Note(URL, '"etag"', "gzip")
    kept = Store(tmp_path, 1000).keep("key", note, [b"packed ", b"bytes"])
    store = Store(tmp_path, 1000)
    assert store.find("other", URL) is None
    assert store.find("key", "https://host/other.json") is None
    found = store.find("key", URL)
    assert found is not None
    for body in (kept, found):
        assert (body.location, body.etag, body.encoding) == (URL, '"etag"', "gzip")
        assert body.size == len(b"packed bytes")
        with body.file:
            body.file.seek(body.start)
            assert body.file.read(body.size) == b"packed bytes"


def test_a_body_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    """A key has one body, the last; who reads the one before goes on doing so."""
    store = Store(tmp_path, 1000)
    put(store, "key", b"old")
    reading = store.find("key", URL)
    put(store, "key", b"new")
    assert content(reading) == b"old"
    assert content(store.find("key", URL)) == b"new"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("has_folder", "etag", "bound"), [(True, None, 1000), (False, '"etag"', 1000), (True, '"a"', 1)]
)
def test_bodies_that_are_not_kept(
    tmp_path: Path, has_folder: bool, etag: str | None, bound: int
) -> None:
    """Without an ETag, without a folder or beyond the bound a body is read in this run alone."""
    store = Store(tmp_path if has_folder else None, bound)
    assert content(store.keep("key", Note(URL, etag, None), [DATA])) == DATA
    assert store.find("key", URL) is None
    assert list(tmp_path.iterdir()) == []


def test_damage_is_noticed(tmp_path: Path) -> None:
    """An entry that was cut, has another byte anywhere, or another form is not found."""
    store = Store(tmp_path, 1000)
    file = put(store, "key")
    whole = file.read_bytes()
    other = b'{"url": 1}\n' + DATA
    damaged = [other + hashlib.sha256(other).digest()]
    for place in range(len(whole)):
        damaged += [whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]]
    for data in damaged:
        file.write_bytes(data)
        assert store.find("key", URL) is None
    file.write_bytes(whole)
    assert content(store.find("key", URL)) == DATA


def test_the_least_recently_used_are_pruned(tmp_path: Path) -> None:
    """Beyond the bound those go first that were used longest ago; being found is a use."""
    one = put(Store(tmp_path, 1 << 30), "a", age=30).stat().st_size
    store = Store(tmp_path, 3 * one)
    put(store, "b", age=20)
    put(store, "c", age=10)
    assert content(store.find("a", URL)) == DATA
    put(store, "d")
    found = {key: content(store.find(key, URL)) for key in "abcd"}
    assert found == {"a": DATA, "b": None, "c": DATA, "d": DATA}


def test_what_killed_runs_left_is_pruned(tmp_path: Path) -> None:
    """A download that was abandoned a day ago is deleted; one of another process goes on."""
    old, new = tmp_path / "old.partial", tmp_path / "new.partial"
    (tmp_path / "folder").mkdir()
    for file in (old, new):
        file.write_bytes(DATA)
    os.utime(old, (time.time() - 90_000,) * 2)
    put(Store(tmp_path, 1000), "key")
    assert (old.exists(), new.exists()) == (False, True)
    assert content(Store(tmp_path, 1).keep("key", NOTE, [DATA])) == DATA


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    """Where the bytes stop coming, nothing stays on disk, and what was there before does."""
    store = Store(tmp_path, 1000)

    def broken() -> Iterator[bytes]:
        yield b"new"
        raise SourceError(URL, "the connection failed")

    put(store, "key", b"old")
    for note in (NOTE, Note(URL, None, None)):
        with pytest.raises(SourceError, match="the connection failed"):
            store.keep("key", note, broken())
    assert content(store.find("key", URL)) == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """A disk that cannot take a body is an error that names the body and the folder."""
    with pytest.raises(SourceError, match=rf"^{URL}: cannot be stored in .*gone: No such file"):
        Store(tmp_path / "gone", 1000).keep("key", NOTE, [DATA])


# -- documents that later runs need not fetch again: which are there, and which are forgotten


def keeping(folder: Path | None, bound: int = 1000) -> DocumentCache:
    """Open the documents of a folder."""
    return DocumentCache(folder, bound, Report())


def test_documents_are_written_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed loses no more than what it kept last."""
    monkeypatch.setattr("snapshots.sources.downloads._BATCH", 2)
    with keeping(tmp_path) as documents:
        for number in range(3):
            documents.keep(str(number), b"text")
        with keeping(tmp_path) as others:
            assert [others.find(str(number)) for number in range(3)] == [b"text", b"text", None]


def test_documents_beyond_the_bound_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were written longest ago."""
    for moment, key in enumerate("abac"):
        monkeypatch.setattr("time.time", lambda moment=moment: 1e9 + moment)
        with keeping(tmp_path, bound=10) as documents:
            documents.keep(key, b"12345")
    with keeping(tmp_path) as documents:
        assert [documents.find(key) for key in "abc"] == [b"12345", None, b"12345"]
