"""The stacks that changed, as columns: the specs and packages that each gained and lost."""

from enum import Enum
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Codes, Numbers, Rows
from snapshots.changes.pairings import ChangeTable, CommonNames, Pairing, RowPairs, code_of
from snapshots.frames.columns import ListColumn, rows_where
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK


class StackChangeKind(Enum):
    """How a stack changed.

    - ADDED: Only in head.
    - REMOVED: Only in base.
    - CHANGED: In both, with other specs.
    """

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


_KINDS = tuple(StackChangeKind)


class StackChange(msgspec.Struct, frozen=True, kw_only=True):
    """A stack that was added, removed, or has other specs than before."""

    kind: StackChangeKind
    name: str
    num_specs_before: int
    num_specs_after: int
    size_before: int | None
    size_after: int | None
    specs_added: int
    specs_removed: int
    packages_added: tuple[str, ...]
    packages_removed: tuple[str, ...]

    @property
    def num_specs(self) -> int:
        """The number of specs of a stack that only one side has."""
        return max(self.num_specs_before, self.num_specs_after)


class StackChanges(ChangeTable[StackChange]):
    """A table of changed stacks in natural order; records are created on access.

    ``num_stacks`` contains the numbers of stacks of base and of head, including unchanged ones.
    """

    def __init__(self, pairing: Pairing, stacks: CommonNames, packages: CommonNames) -> None:
        self._pairing, self._stacks, self._packages = pairing, stacks, packages
        base, head, changed = pairing.base, pairing.head, pairing.changed
        num_before = _num_specs(base, pairing.base_rows, stacks.in_base)
        num_after = _num_specs(head, pairing.head_rows, stacks.in_head)
        size_before = _sizes(base, pairing.base_rows, stacks.in_base, num_before)
        size_after = _sizes(head, pairing.head_rows, stacks.in_head, num_after)
        self.num_stacks = int((num_before > 0).sum()), int((num_after > 0).sum())
        moved_out, moved_in = _moves(changed, stacks)
        added = _num_specs(head, pairing.added, stacks.in_head) + moved_in
        removed = _num_specs(base, pairing.removed, stacks.in_base) + moved_out
        differ = (added + removed > 0) | ((num_before > 0) != (num_after > 0))
        # If a source does not state stacks, none was added or removed.
        self._places = rows_where(differ & pairing.persisting.state_stacks)
        kinds = np.full(len(stacks), code_of(StackChangeKind.CHANGED), np.int8)
        # A stack without a spec in scope is still a stack of its side.
        kinds[_num_specs(base, slice(None), stacks.in_base) == 0] = code_of(StackChangeKind.ADDED)
        kinds[_num_specs(head, slice(None), stacks.in_head) == 0] = code_of(StackChangeKind.REMOVED)
        self.kinds = kinds[self._places]
        columns = (num_before, num_after, size_before, size_after, added, removed)
        self._numbers = np.stack([column[self._places] for column in columns])

    def _record(self, number: int) -> StackChange:
        place = int(self._places[number])
        num_before, num_after, size_before, size_after, added, removed = self._numbers[
            :, number
        ].tolist()
        lost, gained = (self._names(members, place) for members in self._packages_of_one_side)
        return StackChange(
            kind=_KINDS[self.kinds[number]],
            name=self._stacks.names[place],
            num_specs_before=num_before,
            num_specs_after=num_after,
            size_before=None if size_before < 0 else size_before,
            size_after=None if size_after < 0 else size_after,
            specs_added=added,
            specs_removed=removed,
            packages_added=gained,
            packages_removed=lost,
        )

    @cached_property
    def _packages_of_one_side(self) -> tuple[Numbers, Numbers]:
        """The packages that stacks have only in base, and only in head, encoded by ``_members``."""
        pairing, stacks, packages = self._pairing, self._stacks, self._packages
        sides = (
            (pairing.base, pairing.base_rows, stacks.from_base, packages.from_base),
            (pairing.head, pairing.head_rows, stacks.from_head, packages.from_head),
        )
        return _members_of_one_side(
            *(
                _members(frame, rows, of_stacks, names[frame.package.codes[rows]], len(packages))
                for frame, rows, of_stacks, names in sides
            )
        )

    def _names(self, members: Numbers, place: int) -> tuple[str, ...]:
        """Return the names of the packages of a stack."""
        size = len(self._packages)
        start, stop = np.searchsorted(members, (place * size, (place + 1) * size)).tolist()
        places = (members[start:stop] - place * size).tolist()
        return tuple(map(self._packages.names.__getitem__, places))

    def find(self, name: str) -> int | None:
        """Return the index of a stack; None if it is not among the changes."""
        (numbers,) = np.nonzero(self._places == self._stacks.place_of(name))
        return int(numbers[0]) if len(numbers) else None


def _num_specs(frame: Frame, rows: Rows | slice, places: Codes) -> Numbers:
    """Return the number of rows in each stack.

    ``places`` are the indices of the stacks in the frame, -1 for stacks that it does not have.
    """
    column = frame.stacks
    of_lists = np.bincount(column.codes[rows], minlength=len(column.values))
    return _by_stack(column, of_lists, places)


def _sizes(frame: Frame, rows: Rows | slice, places: Codes, num_specs: Numbers) -> Numbers:
    """Return the sums of the known sizes; -1 if a stack has specs but no known size."""
    column, sizes = frame.stacks, frame.size.numbers[rows]
    of_lists = np.zeros(len(column.values), np.int64)
    np.add.at(of_lists, column.codes[rows], np.maximum(sizes, 0))
    totals = _by_stack(column, of_lists, places)
    is_stated = sizes >= 0
    if not is_stated.all():
        stated = np.arange(len(frame), dtype=np.int32)[rows][is_stated]
        totals[(num_specs > 0) & (_num_specs(frame, stated, places) == 0)] = NO_ROW
    return totals


def _by_stack(column: ListColumn, of_lists: Numbers, places: Codes) -> Numbers:
    """Return totals of distinct lists of stacks as totals of stacks."""
    totals: Numbers = np.append(column.total_by_item(of_lists), 0)[places]
    return totals


def _moves(pairs: RowPairs, stacks: CommonNames) -> tuple[Numbers, Numbers]:
    """Return the numbers of persisting hashes that left and that joined each stack."""
    base, head, size = pairs.base.stacks, pairs.head.stacks, len(stacks)
    codes = base.codes[pairs.base_rows].astype(np.int64), head.codes[pairs.head_rows]
    moves, counts = np.unique(codes[0] * len(head.values) + codes[1], return_counts=True)
    before, after = divmod(moves, len(head.values))
    moved_out, moved_in = (
        np.bincount(members % size, counts[members // size], size).astype(np.int64)
        for members in _members_of_one_side(
            _numbered(base, before, stacks.from_base, size),
            _numbered(head, after, stacks.from_head, size),
        )
    )
    return moved_out, moved_in


def _numbered(column: ListColumn, lists: Numbers, places: Codes, size: int) -> Numbers:
    """Return the stacks of distinct lists, each as the index of the list and the stack's."""
    owners, items = column.items_of(lists)
    stacks = places[items]
    return (owners * size + stacks)[stacks >= 0]


def _members(
    frame: Frame, rows: Rows | slice, places: Codes, numbers: npt.NDArray[Any], size: int
) -> Numbers:
    """Return stacks with the numbers of their rows, each pair as one number, ascending.

    The numbers are below ``size``.
    """
    column, num_lists = frame.stacks, len(frame.stacks.values)
    keys = numbers.astype(np.int64) * num_lists + column.codes[rows]
    pairs = _distinct_below(num_lists * size, keys)
    owners, items = column.items_of(pairs % num_lists)
    stacks = places[items].astype(np.int64)
    members = stacks * size + (pairs // num_lists)[owners]
    return _distinct_below((int(places.max(initial=0)) + 1) * size, members[stacks >= 0])


_MARKED = 1 << 20


def _distinct_below(bound: int, numbers: Numbers) -> Numbers:
    """Return the distinct numbers in ascending order; all are less than ``bound``."""
    if bound > _MARKED:
        return np.unique(numbers)
    # Marking takes a tenth of the time of sorting.
    marked = np.zeros(bound, np.bool_)
    marked[numbers] = True
    return np.flatnonzero(marked)


def _members_of_one_side(base: Numbers, head: Numbers) -> tuple[Numbers, Numbers]:
    """Return the members that only base has, and those that only head has."""
    return (
        np.setdiff1d(base, head, assume_unique=True),
        np.setdiff1d(head, base, assume_unique=True),
    )


def common_stacks(pairing: Pairing) -> CommonNames:
    """Return the names of the stacks of both sides, without root, the union of all others."""
    base, head = pairing.base.stacks.items, pairing.head.stacks.items
    return CommonNames(base, head, left_out=frozenset({ROOT_STACK}))
