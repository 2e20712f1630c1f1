"""A table of sorted runs: finds a few of millions of rows without reading the others.

Rows are added in batches. Each batch is sorted and becomes a run: a sequence of files, whose
smallest and largest keys are in the table's log. A lookup of a key reads one file of each run. To
limit the number of runs, each has at least twice as many rows as all smaller runs together, as in
geometric partitioning (Lester, Moffat and Zobel, 2005); a run that has fewer is merged with the
smaller ones. The number of runs, and of writes per row, grows logarithmically with the number of
rows. Equal rows count once, and no column may be null.

Runs are identified by the names of their files, ``RUN-NUMBER-CHECKSUM``. A file with another name,
written by another tool, is a separate run, and is not assumed to be sorted.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from itertools import chain, pairwise
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from snapshots.catalog import delta
from snapshots.catalog.parquet import Range, named_by_bytes, parts_of_parquet, to_parquet
from snapshots.catalog.storage import Storage, reason_of
from snapshots.errors import CatalogError

RATIO = 2
"""The minimum ratio between the rows of a run and the rows of all smaller runs.

A merge takes about a second per million rows. A row is written seven times if there are millions
that were added some thousands at a time. Most merges take a tenth of a second, few of them more
than one.
"""

SMALL = 8_000
"""The maximum number of rows of a small run."""

SMALL_RUNS = 3
"""The number of small runs that are merged; merging fewer with each batch is not worth it."""

_ROWS_OF_FILE = 32_000
_ROWS_AT_ONCE = 2_000
_ENCODINGS = {"hash": "PLAIN"}  # values rarely repeat: a dictionary is larger, and slower to read
_ROWS_IN_MEMORY = 128_000
_FILES_AT_ONCE = 16
_RUN = re.compile(r"([0-9a-f]{32})(-\d{5}-)[0-9a-f]{16}\.zstd\.parquet")


MayHave = Callable[[Range], bool]
Meets = Callable[[pa.Table], pa.ChunkedArray]


class SortedTable:
    """A table in a storage, sorted by the columns of ``schema`` in their order.

    Errors are those of the store, and CatalogError with ``advice`` if the table is damaged. Methods
    are thread-safe, and safe for concurrent processes.
    """

    def __init__(self, storage: Storage, name: str, schema: pa.Schema, *, advice: str) -> None:
        self._storage = storage
        self._name = name
        self._schema = schema
        self._key = schema.names[0]
        self._advice = advice
        self._table = delta.CatalogTable(storage, name, schema, advice=advice)
        self._listed: tuple[delta.Mark, list[delta.TableFile]] | None = None

    # -- reading

    def open(self) -> None:
        """Read the list of files; raises like ``select``."""
        self._listing()

    def select(self, may_have: MayHave, meets: Meets) -> pa.Table:
        """Return the rows that meet a condition, sorted.

        ``meets`` returns a mask over rows. ``may_have`` returns whether rows with the given
        smallest and largest value of the first column can contain a match. Raises CatalogError if
        the table does not exist.
        """
        _, listed = self._listing()
        files = [file for file in listed if file.range is None or may_have(file.range)]
        return self._sorted([rows.filter(meets(rows)) for rows in self._parts(files, may_have)])

    def _parts(self, files: Sequence[delta.TableFile], may_have: MayHave) -> Iterator[pa.Table]:
        """Yield the parts of files that may contain matching rows."""
        for start in range(0, len(files), _FILES_AT_ONCE):
            some = files[start : start + _FILES_AT_ONCE]
            sizes = {f"{self._name}/{file.path}": file.size for file in some}
            try:
                for path, data in zip(sizes, self._storage.read_all(sizes), strict=True):
                    yield delta.of_schema(
                        path, parts_of_parquet(path, data, may_have), self._schema
                    )
            except (pa.ArrowInvalid, FileNotFoundError) as error:
                raise self._storage.error(f"{reason_of(error)}; {self._advice}") from None

    def _listing(self) -> tuple[delta.Mark, list[delta.TableFile]]:
        """Return the state of the table, and its files in that state or a slightly later one."""
        try:
            table = self._table.current()
        except TableNotFoundError:
            raise self._storage.error(
                f"the table {self._name} is missing; {self._advice}"
            ) from None
        listing, mark = self._listed, self._table.mark()
        if listing is None or listing[0] != mark:
            if missing := delta.missing_columns(table, self._schema.names):
                reason = f"the table {self._name} has no column {', '.join(missing)}"
                raise self._storage.error(f"{reason}; {self._advice}")
            self._listed = listing = mark, self._table.files(self._key)
        return listing

    def _sorted(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Return the sorted rows of tables, without duplicates."""
        # Unnecessary copies are avoided, because most time is spent on allocating memory.
        filled = [rows for rows in tables if len(rows)] or [self._schema.empty_table()]
        rows = pa.concat_tables(filled).combine_chunks()
        rows = rows.take(
            pc.sort_indices(rows, [(name, "ascending") for name in self._schema.names])
        )
        if len(rows) < 2:
            return rows
        columns = [column.combine_chunks() for column in rows.columns]
        differs = reduce(pc.or_, (pc.not_equal(column[1:], column[:-1]) for column in columns))
        if pc.all(differs).as_py():
            return rows
        return rows.filter(pa.concat_arrays([pa.array([True]), differs]))

    # -- writing

    def append(self, rows: pa.Table) -> None:
        """Add rows in one commit; creates the table if it does not exist."""
        self._table.prepare()
        if len(rows):
            self._table.commit(self._write_run([self._sorted([rows])], is_new=True))

    def _write_run(self, pieces: Iterable[pa.Table], *, is_new: bool) -> list[AddAction]:
        """Write sorted rows, piece by piece, as the files of a new run.

        Returns the actions that add the files.
        """
        run = uuid4().hex
        actions: list[AddAction] = []
        for rows in pieces:
            for start in range(0, len(rows), _ROWS_OF_FILE):
                data, action = _sorted_file(
                    f"{run}-{len(actions):05}-", rows.slice(start, _ROWS_OF_FILE), is_new=is_new
                )
                self._storage.write(f"{self._name}/{action.path}", data)
                actions.append(action)
        return actions

    def compact(self) -> None:
        """Merge runs if there are many, unless another process is faster."""
        # The added rows are valid even if this fails.
        with suppress(CatalogError, DeltaError, OSError):
            mark, listed = self._listing()
            files = _to_merge(listed)
            if not files:
                return
            merged = self._write_run(self._merged(files), is_new=False)
            if not self._table.merge(files, merged, seen=mark):
                for action in merged:
                    self._storage.remove(f"{self._name}/{action.path}")

    def _merged(self, files: Sequence[delta.TableFile]) -> Iterator[pa.Table]:
        """Yield the sorted rows of files by ranges of keys, so that few are in memory at once."""
        for low, high in pairwise([None, *_cuts(files), None]):

            def may_have(ends: Range, low: str | None = low, high: str | None = high) -> bool:
                return (low is None or ends[1] > low) and (high is None or ends[0] <= high)

            some = [piece for piece in files if piece.range is None or may_have(piece.range)]
            read = (self._parts([file], may_have) for file in some)
            yield self._sorted([self._between(piece, low, high) for piece in chain(*read)])

    def _between(self, rows: pa.Table, low: str | None, high: str | None) -> pa.Table:
        if low is not None:
            rows = rows.filter(pc.greater(rows[self._key], low))
        return rows if high is None else rows.filter(pc.less_equal(rows[self._key], high))


def rewritten(path: str, rows: pa.Table) -> tuple[pa.Buffer, AddAction]:
    """Return the bytes of a file's remaining rows, and the action that adds them.

    The new file has the position of the old one in its run.
    """
    match = _RUN.fullmatch(path)
    return _sorted_file(path[: match.end(2)] if match else f"{uuid4()}-", rows, is_new=False)


def _sorted_file(prefix: str, rows: pa.Table, *, is_new: bool) -> tuple[pa.Buffer, AddAction]:
    data = to_parquet(rows, _ROWS_AT_ONCE, _ENCODINGS)
    file = named_by_bytes(prefix, data)
    ranges = {name: _range(rows[name]) for name in rows.column_names}
    return data, delta.add_action(file, len(rows), {}, is_new=is_new, ranges=ranges)


def _range(column: pa.ChunkedArray) -> Range:
    ends = pc.min_max(column)
    return ends["min"].as_py(), ends["max"].as_py()


def _to_merge(files: Sequence[delta.TableFile]) -> list[delta.TableFile]:
    """Return the files of a run that is too small, and of all smaller ones; empty if none is."""
    runs: defaultdict[str, list[delta.TableFile]] = defaultdict(list)
    for file in files:
        match = _RUN.fullmatch(file.path)
        runs[match[1] if match else file.path].append(file)
    by_size = sorted(runs.values(), key=_num_rows, reverse=True)
    sizes = [*map(_num_rows, by_size)]
    are_many = sum(size <= SMALL for size in sizes) >= SMALL_RUNS
    for place, (size, following) in enumerate(pairwise(sizes)):
        is_due = are_many or following > SMALL
        if is_due and size <= max(SMALL, RATIO * sum(sizes[place + 1 :])):
            return [*chain.from_iterable(by_size[place:])]
    return []


def _num_rows(files: Sequence[delta.TableFile]) -> int:
    return sum(file.num_rows for file in files)


def _cuts(files: Sequence[delta.TableFile]) -> list[str]:
    """Return ascending keys that divide the files into ranges that fit in memory.

    A key with more rows than that is not divided.
    """
    cuts: list[str] = []
    num_rows = 0
    ends = [(file.range[1], file.num_rows) for file in files if file.range is not None]
    for last, num_rows_of_file in sorted(ends):
        num_rows += num_rows_of_file
        if num_rows >= _ROWS_IN_MEMORY:
            cuts.append(last)
            num_rows = 0
    return list(dict.fromkeys(cuts))
