"""Files of a catalog in a folder: written atomically, and read unchanged."""

from os import mkfifo
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snapshots.catalog.locations import parse_location
from snapshots.catalog.parquet import from_parquet, named_by_bytes, to_parquet
from snapshots.catalog.storage import Storage, checksum

TABLE = pa.table({"a": [1, 2], "b": ["x", "y"]})


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return the storage of a folder."""
    return Storage(parse_location(str(tmp_path)))


def test_what_is_written_is_read(storage: Storage) -> None:
    """Byte by byte, in folders that are made for it; another time it is replaced."""
    for data in (b"one", b"and two"):
        storage.write("some/folder/file", pa.py_buffer(data))
        assert bytes(storage.read("some/folder/file")) == data
        assert storage.sizes("some/folder") == {"file": len(data)}
    assert storage.read_all({"some/folder/file": 7})[0].to_pybytes() == b"and two"
    assert storage.exists("some/folder/file")
    assert not storage.exists("some/folder")
    storage.remove("some/folder/file")
    storage.remove("some/folder/file")
    storage.sync(["some/folder/file"])  # of which there is nothing to keep
    assert storage.sizes("some/folder") == storage.sizes("nothing") == {}


def test_the_end_of_a_file(storage: Storage) -> None:
    """It stands where it does in the file; of one that is shorter there is what there is."""
    storage.write("file", pa.py_buffer(b"0123456789"))
    for size in (10, 12):
        found = storage.read("file", size, 6)
        assert (found.size, found.slice(6).to_pybytes()) == (10, b"6789")
    assert storage.read("file", 1_000, 11).size == 11
    with pytest.raises(FileNotFoundError):
        storage.read("nothing", 10, 6)


@pytest.mark.parametrize(
    ("taken", "path", "reason"),
    [("taken/inside/", "taken", "directory"), ("taken", "taken/file", r"exists|directory")],
    ids=["a folder", "a file where a folder should be"],
)
def test_no_part_of_a_file_is_left(
    storage: Storage, tmp_path: Path, taken: str, path: str, reason: str
) -> None:
    """Where a file cannot be put into its place, the error names that, and nothing stays."""
    if taken.endswith("/"):
        (tmp_path / taken).mkdir(parents=True)
    else:
        (tmp_path / taken).touch()
    with pytest.raises(OSError, match=reason) as caught:
        storage.write(path, pa.py_buffer(b"data"))
    assert caught.value.filename == str(tmp_path / path)
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]


def test_an_interruption_leaves_nothing(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl+C is raised as it is, and no half of a file is left."""

    def interrupt(_file: Path, _data: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupt)
    with pytest.raises(KeyboardInterrupt):
        storage.write("folder/file", pa.py_buffer(b"data"))
    assert list((tmp_path / "folder").iterdir()) == []


def test_columns_of_a_parquet_file() -> None:
    """Those that are named and there; all of them where none are named."""
    data = to_parquet(TABLE)
    file = named_by_bytes("prefix-", data)
    assert (file.size, file.checksum) == (data.size, checksum(data))
    assert from_parquet(file.path, data) == TABLE
    assert from_parquet(file.path, data, ["b", "later"], file) == TABLE.select(["b"])


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no Parquet at all", b"PAR1" * 9])
def test_a_file_of_another_tool_that_is_damaged(data: bytes) -> None:
    """Its name says no checksum; the error names it."""
    with pytest.raises(pa.ArrowInvalid, match=r"part-0\.parquet is not a readable Parquet"):
        from_parquet("specs/part-0.parquet", pa.py_buffer(data))


def test_other_bytes_than_the_name_says() -> None:
    """They are not read, though they are a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE.slice(1), sink)
    path = named_by_bytes("", to_parquet(TABLE)).path
    with pytest.raises(pa.ArrowInvalid, match=f"{path} does not have the bytes that were written"):
        from_parquet(path, sink.getvalue())


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Nothing is read from what nobody writes to."""
    mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a file"):
        Storage(parse_location(str(tmp_path))).read("pipe")
