"""What is kept of the difference of two neighbours: a row a change, and one for the pair.

Hashes are kept as numbers of
64 bits, too: to compare many of them takes a tenth of what texts take. Two hashes of some millions
share a number by chance once in a million times.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_64_intdigest

from snapshots.changes.cause_names import CauseKind
from snapshots.changes.causes import Causes
from snapshots.changes.diff import Comparison, SpecChangeKind, SpecChanges
from snapshots.changes.kept_cells import NO_CELLS, kept_cells
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.reasons import (
    NEW_REASONS,
    REASONS,
    Reasoning,
    SpecChangeReason,
    find_reasons,
)
from snapshots.changes.sides import Side
from snapshots.frames.columns import Column, Mask, Rows
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import WIDTH
from snapshots.history import Pair
from snapshots.tables import CHANGES, COMPARISONS

Numbers = npt.NDArray[np.uint64]
Signed = npt.NDArray[np.int64]
"""The same numbers, as tables have them."""


def numbers_of(texts: pa.ChunkedArray) -> Numbers:
    """Return the number of each text: its xxh3."""
    values = texts.cast(pa.binary()).to_pylist()
    return np.fromiter(map(xxh3_64_intdigest, values), np.uint64, len(values))


def places_of(subset: Signed, numbers: Signed) -> npt.NDArray[np.intp]:
    """Return the places, rising, of the numbers that are in a subset.

    Sixteen of their bits rule nearly all out: of a few among millions this takes a fifth of what a
    hash table takes.
    """
    can_be = np.zeros(1 << 16, np.bool_)
    can_be[_some_bits(subset)] = True
    places = np.flatnonzero(can_be[_some_bits(numbers)])
    return places[np.isin(numbers[places], subset)]


def _some_bits(numbers: Signed) -> npt.NDArray[np.uint16]:
    return np.ascontiguousarray(numbers).view(np.uint16)[::4]


_NUM = "num_"
_UNCOUNTED = (SpecChangeReason.RETURNED, SpecChangeReason.FACTS)
_REASON_COLUMNS = {
    f"{_NUM}{reason.value}": reason for reason in REASONS if reason not in _UNCOUNTED
}


class PairCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many specs and packages were added, removed and changed between two contents.

    ``reasons`` counts specs by the reason that follows from the two contents alone: one that came
    back counts as new. Reasons that no spec has are left out, and so is that of changed ones.
    """

    specs_added: int = 0
    specs_removed: int = 0
    specs_changed: int = 0
    packages_added: int = 0
    packages_removed: int = 0
    packages_changed: int = 0
    reasons: Mapping[SpecChangeReason, int] = msgspec.field(default_factory=dict)


NO_COUNTS = PairCounts()
"""The counts of two neighbours with one content."""

_COUNTS = [name for name in PairCounts.__struct_fields__ if name != "reasons"]


COUNT_COLUMNS = ["base", "head", *(_NUM + name for name in _COUNTS), *_REASON_COLUMNS]
"""The columns of the table ``comparisons`` that the counts are read from."""


def counts_row(pair: Pair, counts: PairCounts) -> dict[str, Any]:
    """Return those columns of the row of a pair."""
    return (
        {"base": pair.base, "head": pair.head}
        | {_NUM + name: getattr(counts, name) for name in _COUNTS}
        | {column: counts.reasons.get(reason, 0) for column, reason in _REASON_COLUMNS.items()}
    )


def counts_of(table: pa.Table) -> dict[Pair, PairCounts]:
    """Read rows of the table ``comparisons``."""
    counts_of_pairs = {}
    for row in table.select(COUNT_COLUMNS).to_pylist():
        reasons = {reason: row[column] for column, reason in _REASON_COLUMNS.items() if row[column]}
        counts = {name: row[_NUM + name] for name in _COUNTS}
        pair = Pair(row["base"], row["head"])
        counts_of_pairs[pair] = PairCounts(reasons=reasons, **counts)
    return counts_of_pairs


class PackageCounts(msgspec.Struct, frozen=True, kw_only=True):
    """A package that changed, and how many of its specs were added, removed and changed.

    Versions are newest first: those that only head has, and those that only base has. Of the added
    specs ``specs_rebuilt`` are others built anew, ``specs_replaced`` replaced others that
    differ, and ``specs_new`` took no place; of these some may have been there before.
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
    """Yield what is kept of each package; ``rows`` are the changes of its specs."""
    reasons: defaultdict[str, Counter[str]] = defaultdict(Counter)
    # Threads would take longer to wake than to count what most pairs have.
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


def packages_of(table: pa.Table) -> dict[Pair, tuple[PackageCounts, ...]]:
    """Read the column ``packages`` of rows of the table ``comparisons``."""
    rows = table.select(["base", "head", "packages"]).to_pylist()
    return {
        Pair(row["base"], row["head"]): msgspec.convert(row["packages"], tuple[PackageCounts, ...])
        for row in rows
    }


CAUSES_FORMAT = 4
"""The version of kept causes and cells; it rises where others are found, or reasons are others."""


class KeptCause(msgspec.Struct, frozen=True):
    """A cause of a pair, and how many specs it explains.

    ``size`` is the sum of the known sizes of the specs that it is the main cause of; None where
    none is known.
    """

    kind: CauseKind
    package: str | None
    before: str | None
    after: str | None
    num_specs: int
    num_involved: int
    size: int | None


def kept_causes(causes: Causes, head: Frame) -> tuple[KeptCause, ...]:
    """Return what is kept of causes, in their order; ``head`` has the specs that they explain."""
    names = (causes.name_of(count.number) for count in causes.counted())
    return tuple(
        KeptCause(
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
    """Of how many specs of a package a cause, by its place among all, is the main one."""

    package: str
    cause: int
    num_specs: int


def package_causes(causes: Causes, head: Frame) -> Iterator[PackageCause]:
    """Yield what each cause explains of each package, as ``kept_causes`` has the causes."""
    for place, count in enumerate(causes.counted()):
        if count.num_specs:
            # Most causes have few specs, which are counted faster one by one.
            codes = head.package.codes[causes.rows_of(count.number)].tolist()
            for code, num_specs in sorted(Counter(codes).items()):
                yield PackageCause(head.packages[code], place, num_specs)


def causes_of_package(table: pa.Table, name: str) -> dict[Pair, tuple[tuple[KeptCause, int], ...]]:
    """Read the main causes of a package, with the number of its specs, what explains most first.

    ``table`` has rows of ``comparisons``; pairs whose causes are not kept, or otherwise, are left
    out.
    """
    rows = table.filter(pc.equal(table["causes_format"], CAUSES_FORMAT))
    found = {}
    for number, pair in enumerate(map(Pair, rows["base"].to_pylist(), rows["head"].to_pylist())):
        explained = rows["package_causes"][number].values
        own = explained.filter(pc.equal(explained.field("package"), name))
        counts = sorted(
            zip(own.field("cause").to_pylist(), own.field("num_specs").to_pylist(), strict=True),
            key=lambda one: (-one[1], one[0]),
        )
        causes = rows["causes"][number].values
        found[pair] = tuple(
            (msgspec.convert(causes[place].as_py(), KeptCause), num_specs)
            for place, num_specs in counts
        )
    return found


_NO_ROW = -1
_KINDS = pa.array([kind.value for kind in SpecChangeKind])
_REASONS = pa.array([reason.value for reason in REASONS])


class KeptChanges(msgspec.Struct, frozen=True):
    """The changes of a pair as rows of ``CHANGES``, by package and hash, and their counts.

    ``packages`` are those that changed, in natural order. ``story`` is the text of the column of
    that name, of those pairs that have one. ``causes`` are None where they were not looked for.
    ``cells`` are those of ``kept_cells``.
    """

    pair: Pair
    rows: pa.Table
    counts: PairCounts
    packages: tuple[PackageCounts, ...]
    story: str | None = None
    causes: tuple[KeptCause, ...] | None = None
    package_causes: tuple[PackageCause, ...] = ()
    cells: pa.StructArray = NO_CELLS


def keep_changes(base: Side, head: Side) -> KeptChanges:
    """Compare two contents as far as it is kept."""
    comparison = Comparison(base.frame, head.frame)
    reasoning = find_reasons(comparison.pairing, base, head, with_ties=False)
    causes = Causes(base, head, reasoning) if len(reasoning.counterparts) else None
    return kept_of(comparison, reasoning, causes)


def kept_of(comparison: Comparison, reasoning: Reasoning, causes: Causes | None) -> KeptChanges:
    """Return what is kept of a comparison that is not narrowed; None for no causes."""
    pair = Pair(comparison.base.digest, comparison.head.digest)
    rows = _rows(pair, comparison.specs, reasoning)
    packages = tuple(count_packages(comparison.packages, rows))
    explained = () if causes is None else kept_causes(causes, comparison.head)
    of_packages = () if causes is None else tuple(package_causes(causes, comparison.head))
    return KeptChanges(
        pair,
        rows,
        _counted(comparison, reasoning),
        packages,
        causes=explained,
        package_causes=of_packages,
        cells=kept_cells(comparison.pairing, reasoning),
    )


def comparisons_table(
    made: Iterable[KeptChanges], made_by: str, made_at: datetime | None
) -> pa.Table:
    """Return one row a pair, as the table ``comparisons`` has it."""
    every = list(made)
    rows = [
        counts_row(kept.pair, kept.counts)
        | {
            "packages": msgspec.to_builtins(kept.packages),
            "story": kept.story,
            "causes": msgspec.to_builtins(kept.causes),
            "package_causes": (
                None if kept.causes is None else msgspec.to_builtins(kept.package_causes)
            ),
            "causes_format": None if kept.causes is None else CAUSES_FORMAT,
            "made_by": made_by,
            "made_at": made_at,
        }
        for kept in every
    ]
    # Of a first revision these are as many as it has specs: no objects are made of them.
    numbers = {
        "new_specs": [_new_specs(kept.rows) for kept in every],
        "removed_specs": [_removed_specs(kept.rows) for kept in every],
        "cells": [kept.cells for kept in every],
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
    is_removed = changes.after == _NO_ROW
    size = len(changes)
    columns = {
        "base": pa.repeat(pair.base, size),
        "head": pa.repeat(pair.head, size),
        "kind": _KINDS.take(pa.array(changes.kinds)),
        "hash": _hashes(changes, is_removed),
        "name": _values(changes, is_removed, "package"),
        "version": _values(changes, is_removed, "version"),
        "reason": _REASONS.take(pa.array(reasoning.reasons_of(changes))),
    }
    return pa.table([columns[name] for name in CHANGES.names], schema=CHANGES)


def _hashes(changes: SpecChanges, is_removed: Mask) -> pa.Array:
    """Return the hash of each change as text."""
    words = np.empty((len(changes), WIDTH // 8), np.uint64)
    for frame, rows, mask in _sides(changes, is_removed):
        words[mask] = frame.hashes.words_at(rows)
    ends = np.arange(len(changes) + 1, dtype=np.int32) * WIDTH
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(words)]
    return pa.Array.from_buffers(pa.string(), len(changes), buffers)


def _values(changes: SpecChanges, is_removed: Mask, name: str) -> pa.Array:
    """Return a fact of each change: as it is in head where the hash is there."""
    codes = np.empty(len(changes), np.int64)
    texts: list[str] = []
    for frame, rows, mask in _sides(changes, is_removed):
        column: Column[str] = getattr(frame, name)
        codes[mask] = column.codes[rows].astype(np.int64) + len(texts)
        texts.extend(column.values)
    return pa.array(texts, pa.string()).take(pa.array(codes))


def _sides(changes: SpecChanges, is_removed: Mask) -> tuple[tuple[Frame, Rows, Mask], ...]:
    return (
        (changes.base, changes.before[is_removed], is_removed),
        (changes.head, changes.after[~is_removed], ~is_removed),
    )


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
