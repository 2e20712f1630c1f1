"""Stored bodies and documents: cached entries, eviction, concurrent processes, and bad data."""

import gzip
import os
import time
from pathlib import Path

import pytest

from snapshots.errors import SourceError
from snapshots.sources.downloads import Note, Store, StoredBody, user_file
from snapshots.sources.inputs import Missing
from tests.snapshots.sources.buildcache.folders import put as write

URL = "https://host/index.json"
NOTE = Note(URL, '"etag"', None)
DATA = b"0123456789" * 3


def content(body: StoredBody | None) -> bytes | None:
    """Return the content of a body, and close it."""
    return None if body is None else bytes(body.load(limit=1000)[0])


def put(store: Store, key: str, data: bytes = DATA, age: float = 0) -> Path:
    """Store data under a key, last used ``age`` seconds ago; return the file."""
    body = store.keep(key, NOTE, [data])
    assert content(body) == data
    assert body.kept is not None
    os.utime(body.kept, (time.time() - age,) * 2)
    return body.kept


def test_replaced_body(tmp_path: Path) -> None:
    """A key and a location have one body, the last; a reader of the previous one can continue."""
    store = Store(tmp_path, 1000)
    put(store, "key", b"old")
    assert store.find("other", URL) is store.find("key", "https://host/other.json") is None
    reading = store.find("key", URL)
    put(store, "key", b"new")
    assert content(reading) == b"old"
    assert content(store.find("key", URL)) == b"new"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("has_folder", "etag", "bound"), [(True, None, 1000), (False, '"etag"', 1000), (True, '"a"', 1)]
)
def test_bodies_that_are_not_cached(
    tmp_path: Path, has_folder: bool, etag: str | None, bound: int
) -> None:
    """Without an ETag or a folder, or above the limit, a body is for this run only."""
    store = Store(tmp_path if has_folder else None, bound)
    assert content(store.keep("key", Note(URL, etag, None), [DATA])) == DATA
    assert store.find("key", URL) is None
    assert list(tmp_path.iterdir()) == []


def test_entries_of_another_form(tmp_path: Path) -> None:
    """They are not found, and neither is an empty one."""
    store = Store(tmp_path, 1000)
    file = put(store, "key")
    for data in (b"", b"{", b'{"url": 1}\n' + DATA, DATA):
        file.write_bytes(data)
        assert store.find("key", URL) is None


def test_least_recently_used_entries_are_evicted(tmp_path: Path) -> None:
    """Above the limit the least recently used entries are deleted."""
    one = put(Store(tmp_path, 1 << 30), "a", age=30).stat().st_size
    store = Store(tmp_path, 3 * one)
    put(store, "b", age=20)
    put(store, "c", age=10)
    assert content(store.find("a", URL)) == DATA
    put(store, "d")
    body = {key: content(store.find(key, URL)) for key in "abcd"}
    assert body == {"a": DATA, "b": None, "c": DATA, "d": DATA}


# -- bodies: decompressed within a limit, and checked


def test_unreadable_files(tmp_path: Path) -> None:
    """Missing files, folders and large files have different errors, before data is read."""
    with pytest.raises(Missing, match="does not exist"):
        user_file(str(tmp_path / "none"), 10)
    with pytest.raises(SourceError, match="is not a file"):
        user_file(str(tmp_path), 10)
    with pytest.raises(SourceError, match="cannot be read: File name too long"):
        user_file("/" + "a" * 5000, 10)
    with pytest.raises(SourceError, match=r"more than 10 bytes"):
        user_file(str(write(tmp_path / "blob", DATA)), 10)


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (gzip.compress(DATA, mtime=0)[:-9], "breaks off in the middle of its gzip"),
        (b"", "breaks off in the middle of its gzip"),
        (b"no gzip", "is not valid gzip"),
        (gzip.compress(DATA, mtime=0)[:-8] + bytes(8), "is not valid gzip"),
        (gzip.compress(DATA, mtime=0) + b"more", "is not valid gzip"),
    ],
)
def test_bad_gzip(tmp_path: Path, packed: bytes, reason: str) -> None:
    """Truncated, invalid and corrupted gzip data is an error."""
    with pytest.raises(SourceError, match=reason):
        user_file(str(write(tmp_path / "blob", packed)), 1 << 30).load(
            limit=10_000, compression="gzip"
        )
