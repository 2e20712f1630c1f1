"""What is kept of the difference of two neighbours: a row a change, and the counts.

Counterparts, own facts and reasons are needed for it, causes are not.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from snapshots.changes.diff import Comparison
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pair_counts import PairCounts
from snapshots.changes.reasoning import Reasoning, reason
from snapshots.changes.reasons import REASONS
from snapshots.changes.sides import Side
from snapshots.changes.spec_changes import SpecChangeKind, SpecChanges
from snapshots.frames.columns import Column, Mask, Rows
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import WIDTH
from snapshots.history import Pair
from snapshots.tables import CHANGES

_NO_ROW = -1
_KINDS = pa.array([kind.value for kind in SpecChangeKind])
_REASONS = pa.array([it.value for it in REASONS])


class KeptChanges(NamedTuple):
    """The changes of a pair as rows of ``CHANGES``, by package and hash, and their counts."""

    pair: Pair
    rows: pa.Table
    counts: PairCounts


def keep_changes(base: Side, head: Side) -> KeptChanges:
    """Compare two contents as far as it is kept."""
    comparison = Comparison(base.frame, head.frame)
    reasoning = reason(comparison.pairing, base, head)
    pair = Pair(base.frame.digest, head.frame.digest)
    return KeptChanges(
        pair, _rows(pair, comparison.specs, reasoning), _counted(comparison, reasoning)
    )


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
