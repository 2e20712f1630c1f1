"""The stored change in coverage between two adjacent revisions: the growth of each cell.

A cell is a package with a version and a target, in one stack or in all, so the counts of coarser
cells follow by addition. Rebuilds do not change cells: in most pairs, few cells change.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from snapshots.changes.coverage import folded
from snapshots.changes.involvement import Numbers, ranks
from snapshots.changes.pairings import Pairing, code_of
from snapshots.changes.reasons import REASONS, Codes, Reasoning, SpecChangeReason
from snapshots.frames.columns import Column, Rows
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import CELL

_FACTS = ("package", "version", "target")
_NO_REASON = len(REASONS)
_REASONS = pa.array([*(reason.value for reason in REASONS), None])


NO_CELLS: pa.StructArray = pa.array([], CELL)


class _Values:
    """Distinct texts, each with a code; None, for no value, has the code 0."""

    def __init__(self) -> None:
        self._codes: dict[str | None, int] = {None: 0}

    def __len__(self) -> int:
        return len(self._codes)

    def codes_of(self, values: Sequence[str | None]) -> Numbers:
        """Return the code of each value; new values get the next codes."""
        codes = (self._codes.setdefault(value, len(self._codes)) for value in values)
        return np.fromiter(codes, np.int64, len(values))

    def in_order(self, codes: Numbers) -> tuple[Numbers, pa.Array]:
        """Return the rank of each code's value, and the values in order, None first."""
        ordered = sorted(self._codes, key=lambda value: (value is not None, value or ""))
        ranked = ranks([self._codes[value] for value in ordered])
        return ranked[codes], pa.array(ordered, pa.string())


def stored_cells(pairing: Pairing, reasoning: Reasoning) -> pa.StructArray:
    """Return by how many specs each cell grew or shrank, per reason; CELL defines the fields.

    The result is sorted by value. Each spec is in the cell without a stack, and in one for each of
    its stacks other than root. A cell that gained and lost equally many specs is omitted. The
    reason is null for specs that persist and whose target or stacks only one of the two sources
    provides.
    """
    values = [_Values() for _ in (*_FACTS, "stack")]
    parts = []
    for frame, rows, reasons, sign in _changed_rows(pairing, reasoning):
        cells, owners = _cells(frame, rows, values)
        of_frame = np.zeros(len(frame), np.int64)
        of_frame[rows] = reasons
        parts.append(np.vstack([cells, of_frame[owners], np.full(len(owners), sign)]))
    columns = np.hstack(parts)
    # The order of the values does not depend on the order of the rows of the frames.
    ranked = [known.in_order(codes) for known, codes in zip(values, columns, strict=False)]
    keys, _ = folded([places for places, _ in ranked], [len(texts) for _, texts in ranked])
    _, of_cell = np.unique(keys, return_inverse=True)
    grew = np.flatnonzero((np.bincount(of_cell, columns[5]) != 0)[of_cell])
    _, first, same = np.unique(
        of_cell[grew] * len(_REASONS) + columns[4][grew], return_index=True, return_inverse=True
    )
    num_specs = np.bincount(same, columns[5][grew], len(first)).astype(np.int64)
    chosen = grew[first]
    facts = [texts.take(pa.array(places[chosen])) for places, texts in ranked]
    why = _REASONS.take(pa.array(columns[4][chosen]))
    return pa.StructArray.from_arrays([*facts, why, pa.array(num_specs)], fields=list(CELL))


def _changed_rows(
    pairing: Pairing, reasoning: Reasoning
) -> Iterator[tuple[Frame, Rows, Codes, int]]:
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


def _cells(frame: Frame, rows: Rows, values: Sequence[_Values]) -> tuple[Numbers, Rows]:
    """Return the codes of the cells of some rows, one line per fact, and the row of each cell."""
    places, stacks = frame.stacks.items_of(frame.stacks.codes[rows])
    is_root = np.array([item == ROOT_STACK for item in frame.stacks.items], np.bool_)[stacks]
    of_items = values[-1].codes_of(frame.stacks.items)[stacks[~is_root]]
    owners = np.concatenate([rows, rows[places[~is_root]]])
    columns: list[Column[str | None]] = [getattr(frame, name) for name in _FACTS]
    codes = [
        known.codes_of(column.values)[column.codes[owners]]
        for known, column in zip(values, columns, strict=False)
    ]
    return np.vstack([*codes, np.concatenate([np.zeros(len(rows), np.int64), of_items])]), owners
