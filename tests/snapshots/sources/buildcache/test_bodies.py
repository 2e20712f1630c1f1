"""Stored bodies: opened, decompressed within a limit, and checked."""

import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources.downloads import StoredBody, collected, unpacked, user_file
from snapshots.sources.inputs import Missing
from tests.snapshots.sources.buildcache.folders import put

DATA = b'{"database": {}}' * 100


def body(tmp_path: Path, data: bytes) -> StoredBody:
    """Return a body with the data of a user's file."""
    return user_file(str(put(tmp_path / "blob", data)), 1 << 30)


def test_user_file(tmp_path: Path) -> None:
    """A file is read in place; its checksum is that of the stored bytes."""
    packed = gzip.compress(DATA, mtime=0)
    opened = body(tmp_path, packed)
    loaded = opened.load(limit=len(DATA), compression="gzip", algorithm="sha512")
    assert loaded == (bytearray(DATA), hashlib.sha512(packed).hexdigest())
    assert opened.file.closed
    with pytest.raises(SourceError), opened.forgotten_if_bad():
        raise SourceError(opened.location, "is bad")
    assert (tmp_path / "blob").read_bytes() == packed


def test_unreadable_files(tmp_path: Path) -> None:
    """Missing files, folders and large files have different errors, before data is read."""
    with pytest.raises(Missing, match="does not exist"):
        user_file(str(tmp_path / "none"), 10)
    with pytest.raises(SourceError, match="is not a file"):
        user_file(str(tmp_path), 10)
    with pytest.raises(SourceError, match="cannot be read: File name too long"):
        user_file("/" + "a" * 5000, 10)
    with pytest.raises(SourceError, match=r"more than 10 bytes.*max_index_bytes"):
        user_file(str(put(tmp_path / "blob", DATA)), 10)


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
        body(tmp_path, packed).load(limit=10_000, compression="gzip")


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4), st.integers(1, 50))
def test_gzip_in_members_and_pieces(members: list[bytes], size: int) -> None:
    """All members of a gzip file are decompressed, in chunks of any size."""
    packed = b"".join(map(gzip.compress, members))
    chunks = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert collected(unpacked(chunks, "gzip", "blob"), 1200, "blob") == b"".join(members)


def test_many_members_of_gzip(tmp_path: Path) -> None:
    """Any number of members is decompressed, empty ones and those across chunks too."""
    empty, full = gzip.compress(b""), gzip.compress(b"a" * 50_000, compresslevel=0)
    file = tmp_path / "body"
    file.write_bytes(empty * 20_000 + full * 3 + empty)
    data, _ = user_file(str(file), 1 << 20).load(limit=1 << 20, compression="gzip")
    assert data == b"a" * 150_000
