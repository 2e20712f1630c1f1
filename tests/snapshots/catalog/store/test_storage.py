"""Files of a catalog: written atomically, and read unchanged; messages of failures."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snapshots.catalog.locations import parse_location
from snapshots.catalog.parquet import check_bytes, new_path, to_parquet
from snapshots.catalog.storage import Storage, reason_of

TABLE = pa.table({"a": [1, 2], "b": ["x", "y"]})


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize("location", ["folder", "s3://bucket/store"])
def test_files(location: str, tmp_path: Path) -> None:
    """A file is replaced by the next write."""
    root = location if "://" in location else str(tmp_path / location)
    storage = Storage(parse_location(root))
    for data in (b"one", b"0123456789"):
        storage.write("some/folder/file", pa.py_buffer(data))
        assert bytes(storage.read("some/folder/file")) == data
        assert storage.sizes("some/folder") == {"file": len(data)}
    assert storage.exists("some/folder/file")
    assert not storage.exists("some/folder")
    with pytest.raises(FileNotFoundError):
        storage.read("some/nothing")
    storage.remove("some/folder/file")
    storage.remove("some/folder/file")
    storage.sync(["some/folder/file"])  # which does nothing for a missing file
    assert storage.sizes("some/folder") == storage.sizes("nothing") == {}


@pytest.mark.parametrize(
    ("existing", "path", "reason"),
    [("taken/inside/", "taken", "directory"), ("taken", "taken/file", r"exists|directory")],
    ids=["a folder", "a file where a folder should be"],
)
def test_failed_write(
    storage: Storage, tmp_path: Path, existing: str, path: str, reason: str
) -> None:
    """The error names the file, and no part of it is left."""
    if existing.endswith("/"):
        (tmp_path / existing).mkdir(parents=True)
    else:
        (tmp_path / existing).touch()
    with pytest.raises(OSError, match=reason) as caught:
        storage.write(path, pa.py_buffer(b"data"))
    assert caught.value.filename == str(tmp_path / path)
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]


def test_checksum_in_the_name() -> None:
    """A file with other bytes than its name says is refused, even if it is a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE.slice(1), sink)
    path = new_path("folder/", to_parquet(TABLE))
    check_bytes(path, to_parquet(TABLE))
    with pytest.raises(pa.ArrowInvalid, match=f"{path} does not have the bytes that were written"):
        check_bytes(path, sink.getvalue())


# -- messages of failures


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            "Kernel error -> Json error: Encountered 'g'\n   0: <unknown>\n   1: start_thread",
            "Kernel error -> Json error: Encountered 'g'",
        ),
        (
            "Generic S3 error\n   \x1b[31m↳\x1b[0m Error performing GET\n  \x1b[31m↳\x1b[0m 403\n",
            "Generic S3 error: Error performing GET: 403",
        ),
        (
            "HTTP error: builder error: URL scheme is not allowed",
            "HTTP error: builder error: URL scheme is not allowed; "
            "set AWS_ALLOW_HTTP=true for an http:// endpoint",
        ),
    ],
)
def test_reasons(message: str, text: str) -> None:
    """They contain the cause on one line, without a backtrace, and a missing variable."""
    assert reason_of(OSError(message)) == text
    assert reason_of(OSError(28, "No space left", "/c/specs/a")) == "/c/specs/a: No space left"
