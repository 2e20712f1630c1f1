"""The stacks that changed, as columns: which specs and packages each gained and lost."""

from collections.abc import Iterator, Sequence
from enum import Enum

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.changes.pairings import ChangeTable, CommonNames, Pairing, code_of
from snapshots.frames.columns import Codes, Rows, begins_of_runs, rows_where
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK

Bits = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

_UNKNOWN = -1
_WORD = 64


class StackTotals:
    """Totals over some rows of a frame, rising ones, by stack.

    ``places`` gives the place of each of the frame's stacks among ``size`` ones, or -1 where it is
    left out; ``packages`` the code in the frame of each package of the result, or -1.

    ``bits`` has a bit for each stack in each distinct list of stacks, in words of 64.
    The totals are by place: ``num_specs``, ``sizes`` (-1 where no size is known), and ``packages``,
    a matrix of stacks by packages: which stack has a spec of which package.
    """

    def __init__(
        self, frame: Frame, rows: Rows | slice, places: Codes, size: int, packages: Codes
    ) -> None:
        column = frame.stacks
        of_item = places[column.flat]
        kept = of_item >= 0
        self._codes = column.codes
        self._owners, self._of_item = column.owner[kept], of_item[kept]
        self._num_lists, self._size = len(column.values), size
        self.bits = self._bits()
        lists = column.codes[rows]
        self.num_specs = self._by_stack(self._per_list(lists))
        self.sizes = self._sizes(frame, rows, lists)
        self.packages = self._packages(frame, rows, lists, packages)

    def num_specs_of(self, rows: Rows) -> Numbers:
        """Return how many of the rows each stack has."""
        return self._by_stack(self._per_list(self._codes[rows]))

    def _bits(self) -> Bits:
        has = np.zeros((self._num_lists, -(-self._size // _WORD) * _WORD), np.bool_)
        has[self._owners, self._of_item] = True
        return np.packbits(has, axis=1, bitorder="little").view(np.uint64)

    def _per_list(self, lists: Codes) -> Numbers:
        return np.bincount(lists, minlength=self._num_lists)

    def _by_stack(self, of_lists: Numbers) -> Numbers:
        """Add up by stack what is known by list."""
        totals = np.zeros(self._size, np.int64)
        np.add.at(totals, self._of_item, of_lists[self._owners])
        return totals

    def _sizes(self, frame: Frame, rows: Rows | slice, lists: Codes) -> Numbers:
        """Return the sums of the known sizes; -1 where a stack has specs but no known size."""
        if not frame.size.is_known:
            return np.where(self.num_specs > 0, _UNKNOWN, 0)
        sizes = frame.size.numbers[rows]
        of_lists = np.zeros(self._num_lists, np.int64)
        np.add.at(of_lists, lists, np.maximum(sizes, 0))
        sums = self._by_stack(of_lists)
        stated = sizes >= 0
        if not stated.all():
            num_known = self._by_stack(self._per_list(lists[stated]))
            sums[(self.num_specs > 0) & (num_known == 0)] = _UNKNOWN
        return sums

    def _packages(
        self, frame: Frame, rows: Rows | slice, lists: Codes, packages: Codes
    ) -> npt.NDArray[np.bool_]:
        of_row = frame.package.codes[rows]
        starts = np.flatnonzero(begins_of_runs(of_row))
        bits = np.zeros((len(frame.packages) + 1, self.bits.shape[1]), np.uint64)
        if len(starts):
            for word in range(bits.shape[1]):
                bits[of_row[starts], word] = np.bitwise_or.reduceat(self.bits[lists, word], starts)
        return unpacked(bits[packages], self._size).T


def unpacked(bits: Bits, size: int) -> npt.NDArray[np.bool_]:
    """Return the first bits of each row of words, a column each."""
    rows = np.ascontiguousarray(bits).view(np.uint8)
    return np.unpackbits(rows, axis=1, count=size, bitorder="little").view(np.bool_)


def count_members(bits: Bits, size: int) -> Numbers:
    """Return how many rows of words have each of the first bits."""
    counts: Numbers = unpacked(bits, size).sum(axis=0, dtype=np.int64)
    return counts


class StackChangeKind(Enum):
    """How a stack changed.

    - ADDED: Only in head.
    - REMOVED: Only in base.
    - CHANGED: In both, with other specs.
    """

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


_MOST_MARKS = 1 << 24
"""How many bytes a matrix of lists, or of packages, by stacks may take; more stacks are parted."""

_STACKS_AT_LEAST = 64

_KINDS = tuple(StackChangeKind)


class StackChange(msgspec.Struct, frozen=True, kw_only=True):
    """A stack that was added, removed, or has other specs than it had."""

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


class _Lists(msgspec.Struct, frozen=True):
    """A list of packages for each stack: ``places`` of those of number n at bounds n to n + 1."""

    bounds: npt.NDArray[np.int64]
    places: Codes

    @classmethod
    def of(cls, memberships: Sequence[npt.NDArray[np.bool_]]) -> "_Lists":
        """Make lists of matrices, stacks by packages, one block of stacks after the other."""
        lengths = [np.count_nonzero(matrix, axis=1) for matrix in memberships]
        bounds = np.concatenate([[0], *lengths]).cumsum()
        places = [np.nonzero(matrix)[1].astype(np.int32) for matrix in memberships]
        return cls(bounds, np.concatenate(places))

    def at(self, number: int) -> list[int]:
        """Return the packages of a stack."""
        places: list[int] = self.places[self.bounds[number] : self.bounds[number + 1]].tolist()
        return places


class _Block(msgspec.Struct, frozen=True):
    """The changes of some stacks, those from the place ``start`` on, in columns.

    ``counts`` are the stacks of base and of head; ``gained`` and ``lost`` are matrices of the
    changed stacks by packages.
    """

    counts: tuple[int, int]
    places: Rows
    kinds: npt.NDArray[np.int8]
    numbers: npt.NDArray[np.int64]
    gained: npt.NDArray[np.bool_]
    lost: npt.NDArray[np.bool_]


class StackChanges(ChangeTable[StackChange]):
    """A table of changed stacks in natural order; records are made when they are read.

    ``num_stacks`` counts the stacks of base and of head, changed or not.
    """

    def __init__(self, pairing: Pairing, stacks: CommonNames, packages: CommonNames) -> None:
        blocks = [_block(pairing, stacks, packages, span) for span in _spans(pairing, stacks)]
        num_before, num_after = np.sum([block.counts for block in blocks], axis=0).tolist()
        self.num_stacks: tuple[int, int] = num_before, num_after
        self._stacks, self._packages = stacks, packages
        self._places = np.concatenate([block.places for block in blocks])
        self.kinds = np.concatenate([block.kinds for block in blocks])
        self._numbers = np.concatenate([block.numbers for block in blocks], axis=1)
        self._gained = _Lists.of([block.gained for block in blocks])
        self._lost = _Lists.of([block.lost for block in blocks])

    def _record(self, number: int) -> StackChange:
        num_before, num_after, size_before, size_after, added, removed = self._numbers[
            :, number
        ].tolist()
        return StackChange(
            kind=_KINDS[self.kinds[number]],
            name=self._stacks.names[int(self._places[number])],
            num_specs_before=num_before,
            num_specs_after=num_after,
            size_before=None if size_before < 0 else size_before,
            size_after=None if size_after < 0 else size_after,
            specs_added=added,
            specs_removed=removed,
            packages_added=self._names(self._gained.at(number)),
            packages_removed=self._names(self._lost.at(number)),
        )

    def find(self, name: str) -> int | None:
        """Return the place of a stack; None where it is not among the changes."""
        (numbers,) = np.nonzero(self._places == self._stacks.place_of(name))
        return int(numbers[0]) if len(numbers) else None

    @property
    def num_bytes(self) -> int:
        """About how much memory the table takes, without the names."""
        lists = (self._gained.bounds, self._gained.places, self._lost.bounds, self._lost.places)
        arrays = (self._places, self.kinds, self._numbers, *lists)
        return sum(array.nbytes for array in arrays)

    def _names(self, places: list[int]) -> tuple[str, ...]:
        return tuple(map(self._packages.names.__getitem__, places))


def _spans(pairing: Pairing, stacks: CommonNames) -> Iterator[range]:
    """Yield the places of the stacks in parts, one at least, whose matrices are not too large."""
    sides = pairing.base, pairing.head
    lengths = (len(of) for side in sides for of in (side.stacks.values, side.packages))
    step = max(_STACKS_AT_LEAST, _MOST_MARKS // max(1, *lengths))
    for start in range(0, max(len(stacks), 1), step):
        yield range(start, min(start + step, len(stacks)))


def _block(pairing: Pairing, stacks: CommonNames, packages: CommonNames, span: range) -> _Block:
    """Return the changes of the stacks at some places."""
    base, head = pairing.base, pairing.head
    size = len(span)
    in_base, in_head = (_within(span, places) for places in (stacks.from_base, stacks.from_head))
    before = StackTotals(base, pairing.base_rows, in_base, size, packages.in_base)
    after = StackTotals(head, pairing.head_rows, in_head, size, packages.in_head)
    # A hash that persists and that a stack has on one side alone has other stacks: it changed.
    lists_before = base.stacks.codes[pairing.changed.base_rows]
    lists_after = head.stacks.codes[pairing.changed.head_rows]
    bits_before, bits_after = before.bits[lists_before], after.bits[lists_after]
    added = after.num_specs_of(pairing.added) + count_members(bits_after & ~bits_before, size)
    removed = before.num_specs_of(pairing.removed)
    removed = removed + count_members(bits_before & ~bits_after, size)
    num_before, num_after = before.num_specs, after.num_specs

    differ = (added + removed > 0) | ((num_before > 0) != (num_after > 0))
    # What a source does not state was neither added nor removed.
    places = rows_where(differ & pairing.persisting.tell_stacks)
    kinds = np.full(size, code_of(StackChangeKind.CHANGED), np.int8)
    kinds[num_before == 0] = code_of(StackChangeKind.ADDED)
    kinds[num_after == 0] = code_of(StackChangeKind.REMOVED)
    columns = (num_before, num_after, before.sizes, after.sizes, added, removed)
    has_before, has_after = (totals.packages[places] for totals in (before, after))
    return _Block(
        (int((num_before > 0).sum()), int((num_after > 0).sum())),
        places + np.int32(span.start),
        kinds[places],
        np.stack([column[places] for column in columns]),
        has_after & ~has_before,
        has_before & ~has_after,
    )


def _within(span: range, places: Codes) -> Codes:
    """Return the places as counted from the begin of the span; -1 for those outside it."""
    inside = (places >= span.start) & (places < span.stop)
    return np.where(inside, places - np.int32(span.start), np.int32(-1))


def common_stacks(pairing: Pairing) -> CommonNames:
    """Return the names of the stacks of both sides; root, the union of all others, is left out."""
    base, head = pairing.base.stacks.items, pairing.head.stacks.items
    return CommonNames(base, head, left_out=frozenset({ROOT_STACK}))
