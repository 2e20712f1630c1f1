"""Reader of cost files, CSV or Parquet, into rows of the table ``costs``.

A header names the columns: ``hash``, ``name`` or both; ``seconds``; and optionally one with the
prefix ``cost_``, followed by the unit, as in ``cost_usd``. Other columns are ignored.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.errors import SourceError
from snapshots.sources.inputs import read_regular
from snapshots.spack.names import is_hash, is_name
from snapshots.tables import COSTS
from snapshots.texts import counted, quoted

MAX_BYTES = 256 << 20
MAX_ROWS = 5_000_000
"""Maximum number of rows in a file, enough for years of a large build cache."""

_MAX_VALUE = 1e12
"""Maximum number of seconds or cost of a build; above it, the column contains something else."""

_PARQUET = b"PAR1"
_UNIT = "cost_"
_MAX_UNIT_LENGTH = 20

Row = tuple[int, Mapping[str, Any]]
"""The line number of a row, or its row number in a Parquet file, and its values by column."""


def read(location: str) -> pa.Table:
    """Read the rows of a file, in its order, without ``recorded_at``.

    Raises SourceError with the line and column of an error.
    """
    data = read_regular(location, MAX_BYTES)
    try:
        if data.startswith(_PARQUET):
            return _table(location, *_parquet_rows(data, location))
        return _table(location, *_csv_rows(data, location))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).strip().replace("\n", ", ")
        raise SourceError(location, f"is not valid Parquet: {reason}") from None


def _csv_rows(data: bytes, location: str) -> tuple[Sequence[str], Iterator[Row]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(location, "is neither UTF-8 nor Parquet", line=line) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)

    def lines() -> Iterator[list[str]]:
        try:
            yield from filter(None, reader)
        except csv.Error as error:
            reason = f"is not valid CSV: {error}"
            raise SourceError(location, reason, line=reader.line_num) from None

    of_file = lines()
    names = [name.strip() for name in next(of_file, [])]

    def rows() -> Iterator[Row]:
        for values in of_file:
            if len(values) != len(names):
                reason = f"has {counted(len(values), 'value')}, and the header {len(names):,}"
                raise SourceError(location, reason, line=reader.line_num)
            yield reader.line_num, dict(zip(names, map(str.strip, values), strict=True))

    return names, rows()


def _parquet_rows(data: bytes, location: str) -> tuple[Sequence[str], Iterator[Row]]:
    file = pq.ParquetFile(pa.BufferReader(data))
    if file.metadata.num_rows > MAX_ROWS:
        raise SourceError(location, f"has more than {MAX_ROWS:,} rows")
    names = file.schema_arrow.names
    batches = file.iter_batches(batch_size=10_000, columns=list(filter(_is_read, names)))
    return names, enumerate((row for batch in batches for row in batch.to_pylist()), 1)


def _is_read(name: str) -> bool:
    return name in ("hash", "name", "seconds") or name.startswith("cost")


def _table(location: str, names: Sequence[str], rows: Iterable[Row]) -> pa.Table:
    """Return the rows as an Arrow table with the columns of ``costs``."""
    unit = _unit(location, names)
    columns: dict[str, list[Any]] = {name: [] for name in ("hash", "name", "seconds", "cost")}
    for number, (line, row) in enumerate(rows):
        if number == MAX_ROWS:
            raise SourceError(location, f"has more than {MAX_ROWS:,} rows")
        digest, name = row.get("hash") or None, row.get("name") or None
        if digest is None and name is None:
            raise SourceError(location, "has neither a hash nor a name", line=line)
        if digest is not None and not (isinstance(digest, str) and is_hash(digest)):
            reason = f"{quoted(str(digest))} is not a hash: 32 characters of a-z and 2-7"
            raise SourceError(location, reason, line=line, key="hash")
        if name is not None and not (isinstance(name, str) and is_name(name)):
            reason = f"{quoted(str(name))} cannot name a package"
            raise SourceError(location, reason, line=line, key="name")
        columns["hash"].append(digest)
        columns["name"].append(name)
        columns["seconds"].append(_number(location, line, "seconds", row["seconds"]))
        key = f"{_UNIT}{unit}"
        columns["cost"].append(unit and _number(location, line, key, row[key]))
    columns["unit"] = [unit] * len(columns["hash"])
    return pa.table({name: pa.array(columns[name], COSTS.field(name).type) for name in columns})


def _unit(location: str, names: Sequence[str]) -> str | None:
    """Return the unit of the cost column; None without one. Raises SourceError for a bad header."""

    def wrong(reason: str) -> SourceError:
        return SourceError(location, reason, line=1)

    twice = [name for name in names if _is_read(name) and names.count(name) > 1]
    if twice:
        raise wrong(f"the header names {twice[0]} twice")
    if "hash" not in names and "name" not in names:
        raise wrong("the header names neither hash nor name")
    if "seconds" not in names:
        raise wrong("the header does not name seconds")
    if "cost" in names:
        raise wrong("the header names cost without its unit, as in cost_usd")
    costs = [name for name in names if name.startswith(_UNIT)]
    if len(costs) > 1:
        raise wrong(f"the header names more than one cost: {', '.join(costs[:3])}")
    if not costs:
        return None
    unit = costs[0].removeprefix(_UNIT)
    if not (unit.isascii() and unit.isalnum() and len(unit) <= _MAX_UNIT_LENGTH):
        raise wrong(f"{quoted(costs[0])} names no unit, as cost_usd does")
    return unit


def _number(location: str, line: int, key: str, value: Any) -> float:
    """Return a number of a row. Raises SourceError if it is not a number, or out of range."""
    if value is None or value == "":
        raise SourceError(location, "is empty", line=line, key=key)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise SourceError(
            location, f"{quoted(str(value))} is not a number", line=line, key=key
        ) from None
    if not math.isfinite(number) or not 0 <= number <= _MAX_VALUE:
        reason = f"{quoted(str(value))} is not from 0 to {_MAX_VALUE:,.0f}"
        raise SourceError(location, reason, line=line, key=key)
    return number
