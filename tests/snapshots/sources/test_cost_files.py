"""Files of costs: CSV and Parquet, and errors with position and reason."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snapshots.errors import SourceError
from snapshots.sources import cost_files
from tests.snapshots.factories import hash_of

A = hash_of("a")


def read(folder: Path, data: bytes | str) -> list[dict[str, Any]]:
    """Return the rows of a file."""
    file = folder / "costs"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    rows: list[dict[str, Any]] = cost_files.read(str(file)).to_pylist()
    return rows


def row(**facts: Any) -> dict[str, Any]:
    """Return a row."""
    return {"hash": None, "name": None, "cost": None, "unit": None} | facts


def parquet(columns: Any) -> bytes:
    """Return columns as Parquet."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def test_csv(tmp_path: Path) -> None:
    """Columns may be in any order; other columns and empty lines are ignored."""
    text = f"\ufeffwhen,name,seconds,hash,cost_usd\r\n\r\n1,zlib,2.5, {A},.5\r\n2,hdf5,1e3,,0\r\n"
    assert read(tmp_path, text) == [
        row(hash=A, name="zlib", seconds=2.5, cost=0.5, unit="usd"),
        row(name="hdf5", seconds=1000.0, cost=0.0, unit="usd"),
    ]
    assert read(tmp_path, "name,seconds\nzlib,3\n") == [row(name="zlib", seconds=3.0)]
    assert read(tmp_path, "hash,seconds\n") == []


def test_parquet(tmp_path: Path) -> None:
    """The rows are the same from typed columns."""
    columns = {"hash": [A, None], "name": [None, "zlib"], "seconds": [1, 2], "cost_eur": [0.5, 1.5]}
    assert read(tmp_path, parquet(columns)) == [
        row(hash=A, seconds=1.0, cost=0.5, unit="eur"),
        row(name="zlib", seconds=2.0, cost=1.5, unit="eur"),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: the header names neither hash nor name"),
        ("hash\n", "line 1: the header does not name seconds"),
        ("hash,seconds,seconds\n", "line 1: the header names seconds twice"),
        ("hash,seconds,cost\n", "line 1: the header names cost without its unit"),
        ("hash,seconds,cost_usd,cost_eur\n", "line 1: the header names more than one cost"),
        ("hash,seconds,cost_$\n", "line 1: 'cost_$' names no unit"),
        ("name,seconds\nzlib,1\nzlib\n", "line 3: has 1 value, and the header 2"),
        ("name,seconds\n,1\n", "line 2: has neither a hash nor a name"),
        ("name,seconds\na b,1\n", "line 2, name: 'a b' cannot name a package"),
        ("hash,seconds\nabc,1\n", "line 2, hash: 'abc' is not a hash"),
        ("name,seconds\nzlib,\n", "line 2, seconds: is empty"),
        ("name,seconds\nzlib,fast\n", "line 2, seconds: 'fast' is not a number"),
        ("name,seconds\nzlib,-1\n", "line 2, seconds: '-1' is not from 0 to"),
        ("name,seconds\nzlib,1e13\n", "line 2, seconds: '1e13' is not from 0 to"),
        ('name,seconds\n"zlib,1\n', "line 2: is not valid CSV"),
        (b"name,seconds\nzl\xffb,1\n", "line 2: is neither UTF-8 nor Parquet"),
        (b"PAR1 and nothing else", "is not valid Parquet"),
        (
            parquet({"name": ["zlib"], "seconds": pa.array([1], pa.timestamp("ns"))}),
            "is not valid Parquet: Nanosecond",
        ),
        (parquet({"hash": [5], "seconds": [1]}), "line 1, hash: '5' is not a hash"),
        (parquet({"name": [[1]], "seconds": [1]}), "line 1, name: '[1]' cannot name"),
        (parquet({"name": ["zlib"], "seconds": [[1]]}), "seconds: '[1]' is not a number"),
    ],
)
def test_bad_files(tmp_path: Path, text: str | bytes, reason: str) -> None:
    """The error names the line, the column and the reason."""
    with pytest.raises(SourceError) as caught:
        read(tmp_path, text)
    assert reason in str(caught.value)


def test_too_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows is limited in both formats."""
    monkeypatch.setattr(cost_files, "MAX_ROWS", 1)
    two = parquet({"name": ["zlib"] * 2, "seconds": [1, 2]})
    for data in (b"name,seconds\nzlib,1\nzlib,2\n", two):
        with pytest.raises(SourceError, match="more than 1 rows"):
            read(tmp_path, data)
