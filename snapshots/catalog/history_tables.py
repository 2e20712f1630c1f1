"""The three tables of the history: ``comparisons``, ``changes`` and ``hashes``.

They contain the changes between neighbours of each series, which are derived from the contents and
immutable. ``comparisons`` is the commit point: changes of pairs that it does not list do not exist,
and are computed again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError, TableNotFoundError

from snapshots.catalog.delta import CatalogTable, TableView, sql_list, sql_text
from snapshots.catalog.storage import Storage, translated
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.stored_changes import (
    CAUSES_FORMAT,
    COUNT_COLUMNS,
    PairCounts,
    StoredChanges,
    comparisons_table,
    counts_of,
    pairs_in,
)
from snapshots.errors import CatalogError
from snapshots.history import Pair
from snapshots.program import importer_name
from snapshots.tables import CHANGES, COMPARISONS, HASHES

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


# -- the tables

HISTORY_TABLES = ("comparisons", "changes", "hashes")
"""Their names, the commit point first."""

HOW_TO_MEND = (
    "'cachelog upkeep' makes the tables comparisons, changes and hashes again from the contents"
)
"""Advice for damage."""

_ROWS = 65_536
"""The number of rows in each part of a file of changes or hashes."""

_FEW = 200
"""The maximum number of texts that a query lists; rows of more are selected from its result."""


class HistoryTables(TableView):
    """The history in a storage, as of the last ``refresh``.

    Rows of changes are read when they are requested, and are as new as the counts, or newer. Every
    method except ``refresh`` and ``merge`` raises CatalogError if the store fails or a table is
    damaged: revisions can be read and published without their history.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        table = partial(CatalogTable, storage, advice=HOW_TO_MEND)
        comparisons = table("comparisons", COMPARISONS, sorted_by=["head"], rows_at_once=64)
        super().__init__(comparisons, storage.location.text)
        self.changes = table("changes", CHANGES, sorted_by=["name", "hash"], rows_at_once=_ROWS)
        self.hashes = table("hashes", HASHES, sorted_by=["hash", "name"], rows_at_once=_ROWS)
        self._counts: dict[Pair, PairCounts] = {}
        self._explained: frozenset[Pair] = frozenset()

    @property
    def is_damaged(self) -> bool:
        """Whether the last ``refresh`` found damage, so that they have to be made again."""
        return self._problem is not None and self._problem.reason.endswith(HOW_TO_MEND)

    def _read(self, *, exists: bool) -> None:
        columns = [*COUNT_COLUMNS, "causes_format"]
        rows = self.table.select(columns) if exists else COMPARISONS.empty_table()
        explained = rows.filter(pc.equal(rows["causes_format"], CAUSES_FORMAT))
        self._explained = frozenset(pairs_in(explained))
        self._counts = counts_of(rows)

    @property
    def counts(self) -> Mapping[Pair, PairCounts]:
        """The counts of each stored pair."""
        self._require_sound()
        return self._counts

    @property
    def explained(self) -> frozenset[Pair]:
        """The pairs whose causes are stored in the format of this version."""
        self._require_sound()
        return self._explained

    def open(self) -> None:
        """Open the tables for lookups, which the first query would otherwise do."""
        if self.counts:
            for table in (self.changes, self.hashes):
                with self._existing(table):
                    table.current()

    def comparisons(self, pairs: Iterable[Pair], columns: Sequence[str]) -> pa.Table:
        """Read columns of ``COMPARISONS``, after ``base`` and ``head``: one row per stored pair.

        Of the rows of a pair that was stored several times, one whose causes have the format of
        this version is chosen.
        """
        stored = frozenset(pairs).intersection(self.counts)
        names = ["base", "head", *columns]
        if not stored:
            return pa.schema(map(COMPARISONS.field, names)).empty_table()
        heads = {pair.head for pair in stored}
        selected = [*dict.fromkeys([*names, "causes_format"])]
        rows = self._select(self.table, selected, {"head": heads})
        is_other = np.asarray(pc.not_equal(rows["causes_format"], CAUSES_FORMAT))
        rows = rows.take(np.argsort(is_other, kind="stable"))
        _, first = np.unique(np.asarray(texts_in(rows), object), return_index=True)
        chosen = rows.take(first)
        return chosen.filter(are_of(chosen, texts_of(stored))).select(names)

    def changes_of(self, names: Iterable[str], hashes: Iterable[str] | None = None) -> pa.Table:
        """Return the changes of packages, or of some of their hashes, in any pair.

        The rows of ``CHANGES`` are sorted by package. Rows of pairs that are not stored, and equal
        rows that two imports stored, are included.
        """
        values = {"name": {*names}} | ({} if hashes is None else {"hash": {*hashes}})
        if not self.counts or not all(values.values()):
            return CHANGES.empty_table()
        return self._select(self.changes, CHANGES.names, values).sort_by("name")

    def packages_of(self, hashes: Iterable[str]) -> dict[str, str]:
        """Return the package of each hash that any pair added."""
        if not self.counts or not (of_hashes := {*hashes}):
            return {}
        return _packages(self._select(self.hashes, HASHES.names, {"hash": of_hashes}))

    def packages_of_prefix(self, prefix: str) -> dict[str, str]:
        """Return the packages of the hashes that start with a prefix and that any pair added."""
        if not self.counts:
            return {}
        low, high = map(sql_text, (prefix, prefix + "\x7f"))
        where = f"hash >= {low} AND hash < {high}"
        return _packages(self._where(self.hashes, HASHES.names, where))

    def _select(
        self, table: CatalogTable, names: Sequence[str], values: Mapping[str, set[str]]
    ) -> pa.Table:
        """Return columns of the rows with any of some values in each of some columns."""
        few = [f"{name} IN {sql_list(it)}" for name, it in values.items() if len(it) <= _FEW]
        rows = self._where(table, names, " AND ".join(few))
        for name, many in values.items():
            if len(many) > _FEW:
                rows = rows.filter(pc.is_in(rows[name], pa.array(many, pa.string())))
        return rows

    def _where(self, table: CatalogTable, names: Sequence[str], where: str) -> pa.Table:
        with self._existing(table):
            return table.select(names, where)

    @contextmanager
    def _existing(self, table: CatalogTable) -> Iterator[None]:
        """Raise CatalogError if a table is missing, although a pair is stored."""
        with translated(self._location):
            try:
                yield
            except TableNotFoundError:
                reason = f"the table {table.name} is missing; {HOW_TO_MEND}"
                raise CatalogError(self._location, reason) from None

    # -- writing

    def keep(self, computed: Sequence[StoredChanges]) -> None:
        """Add the changes of some pairs, the commit point last, and make them visible.

        The changes of a pair that is already stored are not added again, but its row is.
        """
        self._require_sound()
        new = [changes.rows for changes in computed if changes.pair not in self._counts]
        with translated(self._location):
            if new:
                rows = pa.concat_tables(new)
                added = rows.filter(pc.equal(rows["kind"], SpecChangeKind.ADDED.value))
                self.changes.append(rows)
                self.hashes.append(added.select(HASHES.names))
            self.table.append(comparisons_table(computed, importer_name(), datetime.now(UTC)))
            self._update()

    def drop(self) -> None:
        """Delete the tables: they are made again from the contents."""
        with translated(self._location):
            for name in HISTORY_TABLES:
                for path in self._storage.find(name):
                    self._storage.remove(f"{name}/{path}")

    def merge(self) -> None:
        """Merge files of the tables if there are many, so that queries remain fast."""
        # The stored changes are valid even if this fails.
        with suppress(CatalogError, DeltaError, pa.ArrowException, OSError):
            for table in (self.table, self.changes, self.hashes):
                table.merge()


def _packages(rows: pa.Table) -> dict[str, str]:
    return dict(zip(rows["hash"].to_pylist(), rows["name"].to_pylist(), strict=True))
