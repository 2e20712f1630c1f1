"""The three tables of the history: ``comparisons``, ``changes`` and ``hashes``.

They contain the changes between neighbours of each series, which are derived from the contents and
immutable. ``comparisons`` is the commit point: changes of pairs that it does not list do not exist,
and are computed again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.catalog.delta import of_schema
from snapshots.catalog.parquet import Range
from snapshots.catalog.sorted_table import MayHave, Meets, SortedTable
from snapshots.catalog.storage import Storage, translated
from snapshots.catalog.whole_table import WholeTable
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.stored_changes import (
    CAUSES_FORMAT,
    COUNT_COLUMNS,
    PairCounts,
    StoredChanges,
    comparisons_table,
    counts_of,
)
from snapshots.errors import CatalogError
from snapshots.history import Pair
from snapshots.program import importer_name
from snapshots.tables import CELL, CHANGES, COMPARISONS, HASHES, NULLABLE, READ_ON_DEMAND

# -- pairs as texts, for lookups of many rows at once

_SEPARATOR = "\0"


def texts_of(pairs: Iterable[Pair]) -> pa.Array:
    """Return the text of each pair."""
    return pa.array(map(_SEPARATOR.join, pairs), pa.string())


def texts_in(rows: pa.Table) -> pa.ChunkedArray:
    """Return the text of each row's pair, from the columns ``base`` and ``head``."""
    return pc.binary_join_element_wise(rows["base"], rows["head"], _SEPARATOR)


def are_of(rows: pa.Table, texts: pa.Array) -> pa.ChunkedArray:
    """Return a mask that selects the rows of the pairs with these texts."""
    return pc.is_in(texts_in(rows), texts)


def pair_of(text: str) -> Pair:
    """Return the pair of a text."""
    return Pair(*text.split(_SEPARATOR))


# -- the tables

HISTORY_TABLES = ("comparisons", "changes", "hashes")
"""Their names, the commit point first."""

HOW_TO_MEND = (
    "remove the tables comparisons, changes and hashes, and run 'cachelog history fill': "
    "they are made again from the others"
)
"""Advice for damage."""

_LAST = "\U0010ffff"

_CODED_CELL = pa.struct(
    [
        it if it.type != pa.string() else it.with_type(pa.dictionary(pa.int32(), it.type))
        for it in CELL
    ]
)
_CODED_CELLS = COMPARISONS.set(
    COMPARISONS.get_field_index("cells"), pa.field("cells", pa.list_(_CODED_CELL))
)


class _Decoded(msgspec.Struct, frozen=True):
    """The cached data of rows: the counts of pairs, and the pairs whose causes are stored."""

    counts: dict[Pair, PairCounts]
    explained: frozenset[Pair]


def _decoded(rows: pa.Table) -> _Decoded:
    if "causes_format" not in rows.column_names:  # a file older than the column
        return _Decoded(counts_of(rows), frozenset())
    columns = (rows[name].to_pylist() for name in ("base", "head", "causes_format"))
    formats = zip(*columns, strict=True)
    explained = frozenset(Pair(base, head) for base, head, form in formats if form == CAUSES_FORMAT)
    return _Decoded(counts_of(rows), explained)


class HistoryTables:
    """The history in a storage, as of the last ``refresh``.

    Rows of changes are read when they are requested, and are as new as the counts, or newer. Every
    method except ``refresh`` and ``compact`` raises CatalogError if the store fails or a table is
    damaged: revisions can be read and published without their history.
    """

    def __init__(self, storage: Storage) -> None:
        self._comparisons = WholeTable(
            storage,
            "comparisons",
            COMPARISONS,
            _decoded,
            required=[name for name in COMPARISONS.names if name not in NULLABLE],
            columns=[*COUNT_COLUMNS, "causes_format"],
            on_demand=READ_ON_DEMAND,
            advice=HOW_TO_MEND,
        )
        self.table = self._comparisons.table
        """The log and the open state of the commit point."""
        self._changes = SortedTable(storage, "changes", CHANGES, advice=HOW_TO_MEND)
        self._hashes = SortedTable(storage, "hashes", HASHES, advice=HOW_TO_MEND)
        self._location = storage.location.text
        self._counts: dict[Pair, PairCounts] = {}
        self._explained: frozenset[Pair] = frozenset()
        self._problem: CatalogError | None = None

    @property
    def is_broken(self) -> bool:
        """Whether the last ``refresh`` could not read the tables."""
        return self._problem is not None

    def refresh(self) -> bool:
        """Read new pairs; return whether any pair was added or removed.

        A catalog without the tables, such as an older one, has no pairs.
        """
        try:
            with translated(self._location):
                is_new = self._comparisons.refresh(missing_ok=True)
        except CatalogError as error:
            is_new, self._problem = self._problem is None, error
            return is_new
        if is_new:
            self._show_rows()
        is_new, self._problem = is_new or self._problem is not None, None
        return is_new

    def _show_rows(self) -> None:
        counts: dict[Pair, PairCounts] = {}
        explained: set[Pair] = set()
        for rows in self._comparisons.rows:
            counts |= rows.counts
            explained |= rows.explained
        self._explained = frozenset(explained)
        self._counts = counts

    @property
    def counts(self) -> Mapping[Pair, PairCounts]:
        """The counts of each stored pair."""
        if self._problem is not None:
            raise self._problem
        return self._counts

    @property
    def explained(self) -> frozenset[Pair]:
        """The pairs whose causes are stored in the format of this version."""
        if self._problem is not None:
            raise self._problem
        return self._explained

    def open(self) -> None:
        """Open the tables for lookups, which the first query would otherwise do."""
        if self.counts:
            with translated(self._location):
                for table in (self._changes, self._hashes):
                    table.open()

    def comparisons(
        self, pairs: Iterable[Pair], columns: Sequence[str], *, is_coded: bool = False
    ) -> Iterator[pa.Table]:
        """Read columns of the rows of ``COMPARISONS`` of some pairs, file by file.

        The columns ``base`` and ``head`` precede them. A pair that is not stored has no row; a pair
        that was stored several times has several. ``NULLABLE`` columns are null if they have no
        stored value. With ``is_coded``, texts in ``cells`` are codes into their distinct values,
        which are read faster.
        """
        stored = frozenset(pairs).intersection(self.counts)
        names = ["base", "head", *columns]
        fields = _CODED_CELLS if is_coded else COMPARISONS
        schema = pa.schema([fields.field(name) for name in names])
        coded = ["cells"] if is_coded else []
        with translated(self._location):
            for file in self._comparisons.select(
                names, lambda rows: not rows.counts.keys().isdisjoint(stored), coded
            ):
                rows = of_schema("the table comparisons", file, schema)
                of_rows = map(Pair, rows["base"].to_pylist(), rows["head"].to_pylist())
                is_wanted = [pair in stored for pair in of_rows]
                if not all(is_wanted):
                    rows = rows.filter(pa.array(is_wanted))
                if any(_lacks_values(rows[name]) for name in names if name not in NULLABLE):
                    reason = f"the table comparisons lacks values of {', '.join(columns)}"
                    raise CatalogError(self._location, f"{reason}; {HOW_TO_MEND}")
                yield rows

    def changes_of(self, names: Iterable[str], hashes: Iterable[str] | None = None) -> pa.Table:
        """Return the changes of packages, or of some of their hashes, in any pair.

        The rows of ``CHANGES`` are sorted by package and hash, without duplicates. Rows of pairs
        that are not stored are included.
        """
        sorted_names = sorted(set(names))
        if not self.counts or not sorted_names:
            return CHANGES.empty_table()
        of_names = pa.array(sorted_names, pa.string())
        of_hashes = None if hashes is None else pa.array(sorted(set(hashes)), pa.string())

        def meets(rows: pa.Table) -> pa.ChunkedArray:
            has_name = pc.is_in(rows["name"], of_names)
            return (
                has_name
                if of_hashes is None
                else pc.and_(has_name, pc.is_in(rows["hash"], of_hashes))
            )

        with translated(self._location):
            return self._changes.select(_any_of(sorted_names), meets)

    def packages_of(self, hashes: Iterable[str]) -> dict[str, str]:
        """Return the package of each hash that any pair added."""
        sorted_hashes = sorted(set(hashes))
        of_hashes = pa.array(sorted_hashes, pa.string())
        return self._packages(
            _any_of(sorted_hashes), lambda rows: pc.is_in(rows["hash"], of_hashes)
        )

    def packages_of_prefix(self, prefix: str) -> dict[str, str]:
        """Return the packages of the hashes that start with a prefix and that any pair added."""

        def may_have(ends: Range) -> bool:
            return ends[0] <= prefix + _LAST and prefix <= ends[1]

        return self._packages(may_have, lambda rows: pc.starts_with(rows["hash"], prefix))

    def _packages(self, may_have: MayHave, meets: Meets) -> dict[str, str]:
        if not self.counts:
            return {}
        with translated(self._location):
            rows = self._hashes.select(may_have, meets)
        return dict(zip(rows["hash"].to_pylist(), rows["name"].to_pylist(), strict=True))

    # -- writing

    def keep(self, computed: Sequence[StoredChanges]) -> None:
        """Add the changes of some pairs, the commit point last, and make them visible.

        The changes of a pair that is already stored are not added again, but its row is.
        """
        if self._problem is not None:
            raise self._problem
        new = [changes.rows for changes in computed if changes.pair not in self._counts]
        with translated(self._location):
            if new:
                rows = pa.concat_tables(new)
                added = rows.filter(pc.equal(rows["kind"], SpecChangeKind.ADDED.value))
                self._changes.append(rows)
                self._hashes.append(added.select(HASHES.names))
            self._comparisons.append(
                comparisons_table(computed, importer_name(), datetime.now(UTC))
            )
        self._show_rows()

    def compact(self) -> None:
        """Merge small files if there are many, so that queries remain fast."""
        # The stored changes are valid even if this fails.
        with suppress(CatalogError):
            for table in (self._comparisons, self._changes, self._hashes):
                table.compact()


def _lacks_values(column: pa.ChunkedArray) -> bool:
    """Return whether a value, or an item of a list, is missing."""
    if column.null_count or not pa.types.is_list(column.type):
        return bool(column.null_count)
    return any(chunk.flatten().null_count for chunk in column.chunks)


def _any_of(texts: Sequence[str]) -> MayHave:
    """Return a function that returns whether any of the sorted texts is in a range."""

    def may_have(ends: Range) -> bool:
        place = bisect_left(texts, ends[0])
        return place < len(texts) and texts[place] <= ends[1]

    return may_have
