"""The totals of each stack on one side: how many specs, their sizes, their packages."""

import numpy as np
import numpy.typing as npt

from snapshots.frames.columns import Codes, Rows
from snapshots.frames.frame import Frame

Bits = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

_UNKNOWN = -1
_WORD = 64


class StackTotals:
    """Totals over some rows of a frame, rising ones, by stack.

    ``places`` gives the place of each of the frame's stacks among ``size`` ones, or -1 where it is
    left out; ``packages`` the code in the frame of each package of the result, or -1.

    ``bits`` tells of each distinct list of stacks which ones it has, a bit each, in words of 64.
    The totals are by place: ``num_specs``, ``sizes`` (-1 where no size is known), and ``packages``,
    a matrix of stacks by packages that tells which has a spec of which.
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
        known = sizes >= 0
        if not known.all():
            num_known = self._by_stack(self._per_list(lists[known]))
            sums[(self.num_specs > 0) & (num_known == 0)] = _UNKNOWN
        return sums

    def _packages(
        self, frame: Frame, rows: Rows | slice, lists: Codes, packages: Codes
    ) -> npt.NDArray[np.bool_]:
        of_row = frame.package.codes[rows]
        begins = np.ones(len(of_row), np.bool_)
        begins[1:] = of_row[1:] != of_row[:-1]
        starts = np.flatnonzero(begins)
        bits = np.zeros((len(frame.packages) + 1, self.bits.shape[1]), np.uint64)
        if len(starts):
            for word in range(bits.shape[1]):
                found = np.bitwise_or.reduceat(self.bits[lists, word], starts)
                bits[of_row[starts], word] = found
        return unpacked(bits[packages], self._size).T


def unpacked(bits: Bits, size: int) -> npt.NDArray[np.bool_]:
    """Return the first bits of each row of words, a column each."""
    rows = np.ascontiguousarray(bits).view(np.uint8)
    return np.unpackbits(rows, axis=1, count=size, bitorder="little").view(np.bool_)


def count_members(bits: Bits, size: int) -> Numbers:
    """Return how many rows of words have each of the first bits."""
    counts: Numbers = unpacked(bits, size).sum(axis=0, dtype=np.int64)
    return counts
