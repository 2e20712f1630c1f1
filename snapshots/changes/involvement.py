"""Which items each node of a graph reaches, as bits: 64 items per word.

An item, such as a cause, is located at some nodes, and is involved in every node that leads to one
of these. The bits of all nodes are propagated bottom-up, one block of items at a time, so that
thousands of items in a large graph use bounded memory.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from snapshots.arrays import Bytes, Fingerprints, Numbers
from snapshots.frames.columns import Arrays
from snapshots.frames.graphs import BottomUpGraph

MAX_CACHED_BYTES = 16 << 20
"""Maximum size of all bits, in bytes, up to which they are cached."""

BLOCK_BYTES = 32 << 20
"""Approximate size of a block of bits, in bytes."""

WORD = 64
"""Number of items per word."""

_BITS_OF_BYTE = np.array([byte.bit_count() for byte in range(256)], np.uint8)
# Each step swaps off-diagonal blocks of the matrix of bits, of side 1, 2 and 4.
_SWAPS = [(7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)]


class Involvement(Arrays):
    """The items that are involved in each of the first ``num_specs`` nodes of a graph.

    There are ``size`` items; the item ``items[n]`` is located at the node ``nodes[n]``. ``order``
    is the bottom-up order of the graph.
    """

    def __init__(
        self, size: int, nodes: Numbers, items: Numbers, order: BottomUpGraph, num_specs: int
    ) -> None:
        self._size, self._nodes, self._items = size, nodes, items
        self._order = order
        self._num_specs = num_specs
        self._numbers = self._places = np.arange(self._size)
        self._cached: Fingerprints | None = None
        if 8 * num_specs * -(-self._size // WORD) <= MAX_CACHED_BYTES:
            blocks = [bits for _, bits in self._blocks()]
            self._cached = np.concatenate([np.empty((num_specs, 0), np.uint64), *blocks], axis=1)

    def renumber(self, numbers: Numbers) -> None:
        """Renumber the items: the new item n is the former item ``numbers[n]``."""
        self._numbers = self._numbers[numbers]
        self._places = ranks(self._numbers)

    def totals(self) -> tuple[Numbers, Numbers]:
        """Return the number of specs in which each item is involved, and the number of their set.

        Items that are involved in the same specs have the same set.
        """
        num_involved = np.zeros(self._size, np.int64)
        sets = np.empty(self._size, np.int64)
        # Two sets share a digest of 128 bits by chance in one of some 10^38 pairs.
        numbers: dict[bytes, int] = {}
        for first, rows in self._rows_of_items(slice(None)):
            num_involved[first : first + len(rows)] = _num_bits(rows)
            for item, row in enumerate(rows, first):
                digest = xxhash.xxh3_128_digest(row)
                sets[item] = numbers.setdefault(digest, len(numbers))
        return num_involved[self._numbers], sets[self._numbers]

    def num_involved(self, specs: Numbers) -> Numbers:
        """Return for each item the number of the given specs in which it is involved."""
        counts = np.zeros(self._size, np.int64)
        for first, rows in self._rows_of_items(specs):
            counts[first : first + len(rows)] = _num_bits(rows)
        return counts[self._numbers]

    def items_of(self, specs: Numbers) -> tuple[Numbers, Numbers]:
        """Return sorted pairs of an index into ``specs`` and an item involved in that spec."""
        places, items = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for first, bits in self._blocks():
            is_reached = np.unpackbits(bits[specs].view(np.uint8), axis=1, bitorder="little")
            rows, columns = np.nonzero(is_reached)
            places.append(rows)
            items.append(columns + first)
        of_specs, of_items = np.concatenate(places), self._places[np.concatenate(items)]
        order = np.lexsort((of_items, of_specs))
        return of_specs[order], of_items[order]

    def specs_of(self, item: int) -> Numbers:
        """Return the specs in which an item is involved."""
        item = int(self._numbers[item])
        for first, bits in self._blocks():
            if first <= item < first + WORD * bits.shape[1]:
                word, bit = divmod(item - first, WORD)
                return np.flatnonzero(bits[:, word] >> np.uint64(bit) & np.uint64(1))
        raise IndexError(item)

    def _rows_of_items(self, specs: Numbers | slice) -> Iterator[tuple[int, Bytes]]:
        """Yield the bits of some specs, one row per item, for a word of items and its first item.

        A word of all specs stays in the processor's cache; a block does not.
        """
        for start, bits in self._blocks():
            for first, column in enumerate(np.ascontiguousarray(bits[specs].T)):
                first = start + WORD * first
                rows = _transposed(column.view(np.uint8).reshape(-1, 8))
                yield first, rows[: self._size - first]

    def _blocks(self) -> Iterator[tuple[int, Fingerprints]]:
        """Yield the bits of the specs for one block of items at a time, and its first item."""
        if self._cached is not None:
            if self._size:
                yield 0, self._cached
            return
        num_words = max(1, BLOCK_BYTES // (8 * max(1, self._order.num_nodes)))
        for first in range(0, self._size, num_words * WORD):
            size = min(num_words * WORD, self._size - first)
            bits = np.zeros((self._order.num_nodes, -(-size // WORD)), np.uint64)
            in_block = (self._items >= first) & (self._items < first + size)
            words, places = np.divmod(self._items[in_block] - first, WORD)
            values = np.uint64(1) << places.astype(np.uint64)
            np.bitwise_or.at(bits, (self._nodes[in_block], words), values)
            self._order.spread(bits, np.bitwise_or)
            yield first, bits[: self._num_specs]


def _num_bits(rows: Bytes) -> Numbers:
    counts: Numbers = _BITS_OF_BYTE[rows].sum(axis=1, dtype=np.int64)
    return counts


def _transposed(bits: Bytes) -> Bytes:
    """Return the columns of a matrix of bits as rows, padded with zeros.

    Blocks of eight by eight bits are transposed as one number: Hacker's Delight (Warren), 7-3.
    """
    num_rows, num_bytes = bits.shape
    padded = np.zeros((-(-num_rows // 8) * 8, num_bytes), np.uint8)
    padded[:num_rows] = bits
    squares = np.ascontiguousarray(padded.reshape(-1, 8, num_bytes).transpose(2, 0, 1))
    numbers = squares.view("<u8")
    for shift, mask in _SWAPS:
        moved = (numbers ^ (numbers >> np.uint64(shift))) & np.uint64(mask)
        numbers ^= moved ^ (moved << np.uint64(shift))
    turned: Bytes = squares.transpose(0, 2, 1)
    return np.ascontiguousarray(turned).reshape(8 * num_bytes, -1)


def ranks(order: Sequence[int] | npt.NDArray[np.integer[Any]]) -> Numbers:
    """Return the index of each number in an order of all of them."""
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
