"""The stored difference between two adjacent revisions: one row per change and one for the pair.

Hashes are also stored as 64-bit numbers: comparing many of them takes a tenth of the time of
comparing texts. Among some millions of hashes, the probability that any two share a number is one
in a million.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_64_intdigest

from snapshots.arrays import NO_ROW, Fingerprints, Numbers, Rows, SmallCodes
from snapshots.changes.causes import CauseName, Causes
from snapshots.changes.coverage import folded
from snapshots.changes.diff import Comparison, SpecChangeKind, SpecChanges
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import Pairing, code_of
from snapshots.changes.reasons import (
    NEW_REASONS,
    REASONS,
    Reasoning,
    SpecChangeReason,
)
from snapshots.changes.sides import Side
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import texts_of
from snapshots.history import Pair
from snapshots.models import CauseKind
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import CELL, CHANGES, COMPARISONS


def numbers_of(texts: pa.ChunkedArray) -> Fingerprints:
    """Return the number of each text: its 64-bit xxh3 hash."""
    values = texts.cast(pa.binary()).to_pylist()
    return np.fromiter(map(xxh3_64_intdigest, values), np.uint64, len(values))


def indices_of(subset: Numbers, numbers: Numbers) -> npt.NDArray[np.intp]:
    """Return the indices, ascending, of the numbers that are in a subset.

    Sixteen bits of each number rule out nearly all: for a small subset of millions of numbers, this
    takes a fifth of the time of a hash table.
    """
    can_be = np.zeros(1 << 16, np.bool_)
    can_be[_some_bits(subset)] = True
    places = np.flatnonzero(can_be[_some_bits(numbers)])
    return places[np.isin(numbers[places], subset)]


def _some_bits(numbers: Numbers) -> npt.NDArray[np.uint16]:
    return np.ascontiguousarray(numbers).view(np.uint16)[::4]


_NUM = "num_"
_UNCOUNTED = (SpecChangeReason.RETURNED, SpecChangeReason.FACTS)
_REASON_COLUMNS = {
    f"{_NUM}{reason.value}": reason for reason in REASONS if reason not in _UNCOUNTED
}


class PairCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of specs and packages that were added, removed and changed between two contents.

    ``reasons`` counts specs by the reason that follows from the two contents alone: a returned spec
    counts as new. It omits reasons that no spec has, and the reason of changed specs.
    """

    specs_added: int = 0
    specs_removed: int = 0
    specs_changed: int = 0
    packages_added: int = 0
    packages_removed: int = 0
    packages_changed: int = 0
    reasons: Mapping[SpecChangeReason, int] = msgspec.field(default_factory=dict)

    @property
    def specs_rebuilt(self) -> int:
        """Number of added specs that were rebuilt."""
        return self.reasons.get(SpecChangeReason.REBUILT, 0)

    @property
    def specs_replaced(self) -> int:
        """Number of added specs that replaced others that differ."""
        return self.reasons.get(SpecChangeReason.REPLACES, 0)


NO_COUNTS = PairCounts()
"""The counts of two adjacent revisions with the same content."""

_COUNTS = [name for name in PairCounts.__struct_fields__ if name != "reasons"]


COUNT_COLUMNS = ["base", "head", *(_NUM + name for name in _COUNTS), *_REASON_COLUMNS]
"""The columns of the table ``comparisons`` from which the counts are read."""


def counts_row(pair: Pair, counts: PairCounts) -> dict[str, Any]:
    """Return the count columns of the row of a pair."""
    return (
        {"base": pair.base, "head": pair.head}
        | {_NUM + name: getattr(counts, name) for name in _COUNTS}
        | {column: counts.reasons.get(reason, 0) for column, reason in _REASON_COLUMNS.items()}
    )


def counts_of(table: pa.Table) -> dict[Pair, PairCounts]:
    """Read the counts of pairs from rows of the table ``comparisons``."""
    counts_of_pairs = {}
    for row in table.select(COUNT_COLUMNS).to_pylist():
        reasons = {reason: row[column] for column, reason in _REASON_COLUMNS.items() if row[column]}
        counts = {name: row[_NUM + name] for name in _COUNTS}
        pair = Pair(row["base"], row["head"])
        counts_of_pairs[pair] = PairCounts(reasons=reasons, **counts)
    return counts_of_pairs


class PackageCounts(msgspec.Struct, frozen=True):
    """A changed package, and the numbers of its specs that were added, removed and changed.

    Versions, those that only head has and those that only base has, are newest first. Of the added
    specs, ``specs_rebuilt`` are rebuilds of removed specs, ``specs_replaced`` replaced specs whose
    own facts differ, and ``specs_new`` replaced no spec; some of the latter may have returned.
    """

    name: str
    kind: PackageChangeKind
    versions_added: tuple[str, ...]
    versions_removed: tuple[str, ...]
    specs_added: int
    specs_removed: int
    specs_changed: int
    specs_rebuilt: int
    specs_replaced: int
    specs_new: int


_OF_CHANGES = ("name", "kind", "specs_added", "specs_removed", "specs_changed")


def count_packages(changes: Iterable[PackageChange], rows: pa.Table) -> Iterator[PackageCounts]:
    """Yield the stored counts of each package; ``rows`` are the changes of its specs."""
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    # For the few rows of most pairs, starting threads would take longer than counting.
    counted = rows.group_by(["name", "reason"], use_threads=False).aggregate([([], "count_all")])
    columns = (counted[name].to_pylist() for name in ("name", "reason", "count_all"))
    for name, reason, count in zip(*columns, strict=True):
        reasons[name][reason] += count
    for change in changes:
        of_package = reasons[change.name]
        yield PackageCounts(
            **{name: getattr(change, name) for name in _OF_CHANGES},
            versions_added=tuple(change.versions_added),
            versions_removed=tuple(change.versions_removed),
            specs_rebuilt=of_package[SpecChangeReason.REBUILT.value],
            specs_replaced=of_package[SpecChangeReason.REPLACES.value],
            specs_new=sum(of_package[reason.value] for reason in NEW_REASONS),
        )


def pairs_in(rows: pa.Table) -> list[Pair]:
    """Return the pair of each row."""
    return list(map(Pair, rows["base"].to_pylist(), rows["head"].to_pylist()))


def packages_of(table: pa.Table) -> dict[Pair, tuple[PackageCounts, ...]]:
    """Read the column ``packages`` of rows of the table ``comparisons``."""
    lists = table["packages"].combine_chunks()
    items = lists.flatten()
    columns = {name: items.field(name).to_pylist() for name in PackageCounts.__struct_fields__}
    columns["kind"] = list(map(PackageChangeKind, columns["kind"]))
    for name in ("versions_added", "versions_removed"):
        columns[name] = list(map(tuple, columns[name]))
    packages = map(PackageCounts, *columns.values())
    lengths = pc.list_value_length(lists).to_pylist()
    return {
        pair: tuple(islice(packages, length))
        for pair, length in zip(pairs_in(table), lengths, strict=True)
    }


CAUSES_FORMAT = 5
"""The version of stored causes and cells; increased if their computation or the reasons change."""


class StoredCause(msgspec.Struct, frozen=True):
    """A stored cause of a pair, and the number of specs that it explains.

    ``size`` is the sum of the known sizes, in bytes, of the specs whose main cause it is; None if
    no size is known.
    """

    kind: CauseKind
    package: str | None
    before: str | None
    after: str | None
    num_specs: int
    num_involved: int
    size: int | None

    @property
    def name(self) -> CauseName:
        """The name that identifies it."""
        return CauseName(self.kind, self.package, self.before, self.after)


def stored_causes(causes: Causes, head: Frame) -> tuple[StoredCause, ...]:
    """Return the stored form of causes, in their order; ``head`` contains the explained specs."""
    names = (causes.name_of(count.number) for count in causes.counted())
    return tuple(
        StoredCause(
            name.kind,
            name.package,
            name.before,
            name.after,
            count.num_specs,
            count.num_involved,
            head.size.total(causes.rows_of(count.number)) if count.num_specs else None,
        )
        for name, count in zip(names, causes.counted(), strict=True)
    )


class PackageCause(msgspec.Struct, frozen=True):
    """The number of specs of a package whose main cause is the cause with the index ``cause``."""

    package: str
    cause: int
    num_specs: int


def package_causes(causes: Causes, head: Frame) -> Iterator[PackageCause]:
    """Yield the numbers of specs per package and cause; indices are those of ``stored_causes``."""
    for place, count in enumerate(causes.counted()):
        if count.num_specs:
            # Most causes have few specs, which are counted faster individually.
            codes = head.package.codes[causes.rows_of(count.number)].tolist()
            for code, num_specs in sorted(Counter(codes).items()):
                yield PackageCause(head.packages[code], place, num_specs)


def causes_of_package(
    rows: pa.Table, number: int, name: str
) -> tuple[tuple[StoredCause, int], ...]:
    """Return the main causes of a package, with the numbers of its specs, most frequent first.

    ``number`` is that of a row in ``rows``, which are rows of ``comparisons`` with CAUSES_FORMAT.
    """
    explained = rows["package_causes"][number].values
    own = explained.filter(pc.equal(explained.field("package"), name))
    counts = sorted(
        zip(own.field("cause").to_pylist(), own.field("num_specs").to_pylist(), strict=True),
        key=lambda one: (-one[1], one[0]),
    )
    causes = rows["causes"][number].values
    return tuple(
        (msgspec.convert(causes[place].as_py(), StoredCause), num_specs)
        for place, num_specs in counts
    )


# -- the change in coverage: the growth of each cell
#
# A cell is a package with a version and a target, in one stack or in all, so the counts of coarser
# cells follow by addition. Rebuilds do not change cells: in most pairs, few cells change.

_FACTS = ("package", "version", "target")
_NO_REASON = len(REASONS)
_REASONS_OR_NONE = pa.array([*(reason.value for reason in REASONS), None])


NO_CELLS: pa.StructArray = pa.array([], CELL)


def stored_cells(pairing: Pairing, reasoning: Reasoning) -> pa.StructArray:
    """Return by how many specs each cell grew or shrank, per reason; CELL defines the fields.

    The result is sorted by value. Each spec is in the cell without a stack, and in one for each of
    its stacks other than root. A cell that gained and lost equally many specs is omitted. The
    reason is null for specs that persist and whose target or stacks only one of the two sources
    provides.
    """
    both = pairing.base, pairing.head
    texts = [[getattr(frame, name).values for frame in both] for name in _FACTS]
    texts.append([frame.stacks.items for frame in both])
    # The order of the values does not depend on the order of the rows of the frames.
    values = [[None, *sorted({*before, *after} - {None})] for before, after in texts]
    codes = [{value: code for code, value in enumerate(of_fact)} for of_fact in values]
    parts = []
    for frame, rows, reasons, sign in _changed_rows(pairing, reasoning):
        cells, owners = _cells(frame, rows, codes)
        of_frame = np.zeros(len(frame), np.int64)
        of_frame[rows] = reasons
        parts.append(np.vstack([cells, of_frame[owners], np.full(len(owners), sign)]))
    columns = np.hstack(parts)
    keys, _ = folded([*columns[:4]], list(map(len, values)))
    _, of_cell = np.unique(keys, return_inverse=True)
    grew = np.flatnonzero((np.bincount(of_cell, columns[5]) != 0)[of_cell])
    _, first, same = np.unique(
        of_cell[grew] * len(_REASONS_OR_NONE) + columns[4][grew],
        return_index=True,
        return_inverse=True,
    )
    num_specs = np.bincount(same, columns[5][grew], len(first)).astype(np.int64)
    chosen = grew[first]
    facts = [
        pa.array(of_fact, pa.string()).take(pa.array(column[chosen]))
        for of_fact, column in zip(values, columns, strict=False)
    ]
    why = _REASONS_OR_NONE.take(pa.array(columns[4][chosen]))
    return pa.StructArray.from_arrays([*facts, why, pa.array(num_specs)], fields=list(CELL))


def _changed_rows(
    pairing: Pairing, reasoning: Reasoning
) -> Iterator[tuple[Frame, Rows, SmallCodes, int]]:
    """Yield rows that may have left cells, with reasons and -1, and rows that joined, with 1."""
    base, head, pairs = pairing.base, pairing.head, pairing.persisting
    differ = np.zeros(pairs.size, np.bool_)
    for name in (*_FACTS, "stacks"):
        before, after = getattr(base, name), getattr(head, name)
        of_base = before.fingerprints[before.codes[pairs.base_rows]]
        differ |= of_base != after.fingerprints[after.codes[pairs.head_rows]]
    is_changed = np.isin(pairs.base_rows[differ], pairing.changed.base_rows)
    facts = np.where(is_changed, code_of(SpecChangeReason.FACTS), _NO_REASON).astype(np.int8)
    for frame, rows, persisting, reasons, sign in (
        (base, pairing.removed, pairs.base_rows, reasoning.of_base, -1),
        (head, pairing.added, pairs.head_rows, reasoning.of_head, 1),
    ):
        changed = np.concatenate([rows, persisting[differ]])
        yield frame, changed, np.concatenate([reasons[rows], facts]), sign


def _cells(
    frame: Frame, rows: Rows, codes: Sequence[Mapping[str | None, int]]
) -> tuple[npt.NDArray[np.int64], Rows]:
    """Return the codes of the cells of some rows, one line per fact, and the row of each cell."""
    places, stacks = frame.stacks.items_of(frame.stacks.codes[rows])
    is_other = np.array([item != ROOT_STACK for item in frame.stacks.items], np.bool_)[stacks]
    owners = np.concatenate([rows, rows[places[is_other]]])
    lines = [
        _coded(codes[number], column.values)[column.codes[owners]]
        for number, column in enumerate(getattr(frame, name) for name in _FACTS)
    ]
    of_stacks = _coded(codes[-1], frame.stacks.items)[stacks[is_other]]
    return np.vstack([*lines, np.concatenate([np.zeros(len(rows), np.int64), of_stacks])]), owners


def _coded(codes: Mapping[str | None, int], values: Sequence[str | None]) -> npt.NDArray[np.int64]:
    return np.fromiter(map(codes.__getitem__, values), np.int64, len(values))


# -- the difference

_KINDS = pa.array([kind.value for kind in SpecChangeKind])
_REASONS = pa.array([reason.value for reason in REASONS])


class StoredChanges(msgspec.Struct, frozen=True):
    """The changes of a pair as rows of ``CHANGES``, sorted by package and hash, and their counts.

    ``packages`` are the changed packages in natural order. ``cells`` are the result of
    ``stored_cells``.
    """

    pair: Pair
    rows: pa.Table
    counts: PairCounts
    packages: tuple[PackageCounts, ...]
    causes: tuple[StoredCause, ...] = ()
    package_causes: tuple[PackageCause, ...] = ()
    cells: pa.StructArray = NO_CELLS


def changes_to_store(base: Side, head: Side) -> StoredChanges:
    """Compare two contents and return what is stored of their difference."""
    comparison = Comparison(base.frame, head.frame)
    explanation = Explanation(comparison, base, head)
    reasoning, causes = explanation.reasoning, explanation.causes
    pair = Pair(comparison.base.digest, comparison.head.digest)
    rows = _rows(pair, comparison.specs, reasoning)
    packages = tuple(count_packages(comparison.packages, rows))
    return StoredChanges(
        pair,
        rows,
        _counted(comparison, reasoning),
        packages,
        causes=stored_causes(causes, comparison.head),
        package_causes=tuple(package_causes(causes, comparison.head)),
        cells=stored_cells(comparison.pairing, reasoning),
    )


def comparisons_table(
    computed: Iterable[StoredChanges], made_by: str, made_at: datetime | None
) -> pa.Table:
    """Return one row per pair in the form of the table ``comparisons``."""
    stored = list(computed)
    rows = [
        counts_row(changes.pair, changes.counts)
        | {
            "packages": msgspec.to_builtins(changes.packages),
            "causes": msgspec.to_builtins(changes.causes),
            "package_causes": msgspec.to_builtins(changes.package_causes),
            "causes_format": CAUSES_FORMAT,
            "made_by": made_by,
            "made_at": made_at,
        }
        for changes in stored
    ]
    # For a first revision, these contain an item per spec: no Python objects are created.
    numbers = {
        "new_specs": [_new_specs(changes.rows) for changes in stored],
        "removed_specs": [_removed_specs(changes.rows) for changes in stored],
        "cells": [changes.cells for changes in stored],
    }
    others = pa.schema([field for field in COMPARISONS if field.name not in numbers])
    table = pa.Table.from_pylist(rows, schema=others)
    for name, values in numbers.items():
        table = table.append_column(COMPARISONS.field(name), _lists(name, values))
    return table.select(COMPARISONS.names).cast(COMPARISONS)


def _lists(name: str, values: Sequence[pa.Array]) -> pa.ListArray:
    ends = np.cumsum([0, *map(len, values)])
    none = pa.array([], COMPARISONS.field(name).type.value_type)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.concat_arrays([none, *values]))


def _new_specs(rows: pa.Table) -> pa.StructArray:
    new = rows.filter(pc.is_in(rows["reason"], pa.array([reason.value for reason in NEW_REASONS])))
    reasons = new["reason"].combine_chunks()
    return pa.StructArray.from_arrays([_signed(new["hash"]), reasons], ["number", "reason"])


def _removed_specs(rows: pa.Table) -> pa.Array:
    return _signed(rows.filter(pc.equal(rows["kind"], SpecChangeKind.REMOVED.value))["hash"])


def _signed(hashes: pa.ChunkedArray) -> pa.Array:
    return pa.array(numbers_of(hashes).view(np.int64))


def _rows(pair: Pair, changes: SpecChanges, reasoning: Reasoning) -> pa.Table:
    size = len(changes)
    columns = {
        "base": pa.repeat(pair.base, size),
        "head": pa.repeat(pair.head, size),
        "kind": _KINDS.take(pa.array(changes.kinds)),
        "hash": _texts(changes, lambda frame, rows: texts_of(frame.hashes.words_at(rows))),
        "name": _texts(changes, lambda frame, rows: frame.package.values_at(rows)),
        "version": _texts(changes, lambda frame, rows: frame.version.values_at(rows)),
        "reason": _REASONS.take(pa.array(reasoning.reasons_of(changes))),
    }
    return pa.table([columns[name] for name in CHANGES.names], schema=CHANGES)


def _texts(changes: SpecChanges, texts_at: Callable[[Frame, Rows], list[str]]) -> pa.Array:
    """Return a text of each change, from head if head has the hash, else from base."""
    is_removed = changes.after == NO_ROW
    texts = np.empty(len(changes), object)
    texts[is_removed] = texts_at(changes.base, changes.before[is_removed])
    texts[~is_removed] = texts_at(changes.head, changes.after[~is_removed])
    return pa.array(texts, pa.string())


def _counted(comparison: Comparison, reasoning: Reasoning) -> PairCounts:
    packages = comparison.packages
    added, removed = map(packages.count, (PackageChangeKind.ADDED, PackageChangeKind.REMOVED))
    codes = np.concatenate((reasoning.of_base, reasoning.of_head))
    of_reasons = np.bincount(codes[codes >= 0], minlength=len(REASONS)).tolist()
    return PairCounts(
        specs_added=len(comparison.pairing.added),
        specs_removed=len(comparison.pairing.removed),
        specs_changed=comparison.pairing.changed.size,
        packages_added=added,
        packages_removed=removed,
        packages_changed=len(packages) - added - removed,
        reasons={reason: count for reason, count in zip(REASONS, of_reasons, strict=True) if count},
    )
