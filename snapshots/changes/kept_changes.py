"""What is kept of the difference of two neighbours: a row a change, and one for the pair.

Counterparts, own facts and reasons are needed for it, causes are not.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.changes.diff import Comparison
from snapshots.changes.hash_numbers import numbers_of
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pair_counts import PairCounts, counts_row
from snapshots.changes.pair_packages import PackageCounts, count_packages, packages_cell
from snapshots.changes.reasoning import Reasoning, reason
from snapshots.changes.reasons import NEW_REASONS, REASONS
from snapshots.changes.sides import Side
from snapshots.changes.spec_changes import SpecChangeKind, SpecChanges
from snapshots.frames.columns import Column, Mask, Rows
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import WIDTH
from snapshots.history import Pair
from snapshots.tables import CHANGES, COMPARISONS

_NO_ROW = -1
_KINDS = pa.array([kind.value for kind in SpecChangeKind])
_REASONS = pa.array([it.value for it in REASONS])


class KeptChanges(NamedTuple):
    """The changes of a pair as rows of ``CHANGES``, by package and hash, and their counts.

    ``packages`` are those that changed, in natural order. ``story`` is the text of the column of
    that name, of those pairs that have one.
    """

    pair: Pair
    rows: pa.Table
    counts: PairCounts
    packages: tuple[PackageCounts, ...]
    story: str | None = None


def keep_changes(base: Side, head: Side) -> KeptChanges:
    """Compare two contents as far as it is kept."""
    comparison = Comparison(base.frame, head.frame)
    return kept_of(comparison, reason(comparison.pairing, base, head))


def kept_of(comparison: Comparison, reasoning: Reasoning) -> KeptChanges:
    """Return what is kept of a comparison that is not narrowed."""
    pair = Pair(comparison.base.digest, comparison.head.digest)
    rows = _rows(pair, comparison.specs, reasoning)
    packages = tuple(count_packages(comparison.packages, rows))
    return KeptChanges(pair, rows, _counted(comparison, reasoning), packages)


def comparisons_table(
    made: Iterable[KeptChanges], made_by: str, made_at: datetime | None
) -> pa.Table:
    """Return one row a pair, as the table ``comparisons`` has it."""
    rows = [
        counts_row(it.pair, it.counts)
        | {
            "packages": packages_cell(it.packages),
            "new_specs": _new_specs(it.rows),
            "removed_specs": _removed_specs(it.rows),
            "story": it.story,
            "made_by": made_by,
            "made_at": made_at,
        }
        for it in made
    ]
    return pa.Table.from_pylist(rows, schema=COMPARISONS)


def _new_specs(rows: pa.Table) -> list[dict[str, Any]]:
    new = rows.filter(pc.is_in(rows["reason"], pa.array([it.value for it in NEW_REASONS])))
    numbers = numbers_of(new["hash"]).view(np.int64).tolist()
    return [
        {"number": number, "reason": reason}
        for number, reason in zip(numbers, new["reason"].to_pylist(), strict=True)
    ]


def _removed_specs(rows: pa.Table) -> list[int]:
    removed = rows.filter(pc.equal(rows["kind"], SpecChangeKind.REMOVED.value))
    numbers: list[int] = numbers_of(removed["hash"]).view(np.int64).tolist()
    return numbers


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
    characters = np.empty((len(changes), WIDTH), np.uint8)
    for frame, rows, mask in _sides(changes, is_removed):
        characters[mask] = frame.hashes.table[rows]
    ends = np.arange(len(changes) + 1, dtype=np.int32) * WIDTH
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(characters)]
    return pa.Array.from_buffers(pa.string(), len(changes), buffers)


def _values(changes: SpecChanges, is_removed: Mask, name: str) -> pa.Array:
    """Return a fact of each change: as it is in head where the hash is there."""
    codes = np.empty(len(changes), np.int64)
    texts: list[str] = []
    for frame, rows, mask in _sides(changes, is_removed):
        column: Column[str] = getattr(frame, name)
        codes[mask] = column.codes[rows] + np.int64(len(texts))
        texts.extend(column.values)
    return pa.array(texts, pa.string()).take(pa.array(codes))


def _sides(changes: SpecChanges, is_removed: Mask) -> tuple[tuple[Frame, Rows, Mask], ...]:
    return (
        (changes.base, changes.before[is_removed], is_removed),
        (changes.head, changes.after[~is_removed], ~is_removed),
    )


def _counted(comparison: Comparison, reasoning: Reasoning) -> PairCounts:
    packages = comparison.packages
    came, went = map(packages.count, (PackageChangeKind.ADDED, PackageChangeKind.REMOVED))
    codes = np.concatenate(reasoning.reasons)
    of_reasons = np.bincount(codes[codes >= 0], minlength=len(REASONS)).tolist()
    return PairCounts(
        specs_added=len(comparison.pairing.added),
        specs_removed=len(comparison.pairing.removed),
        specs_changed=comparison.pairing.changed.size,
        packages_added=came,
        packages_removed=went,
        packages_changed=len(packages) - came - went,
        reasons={it: count for it, count in zip(REASONS, of_reasons, strict=True) if count},
    )
