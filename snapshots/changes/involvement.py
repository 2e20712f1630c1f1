"""Which causes are involved in which specs: sets as bits, small for many causes and many specs."""

import numpy as np
import numpy.typing as npt

from snapshots.changes.own_causes import Numbers, OwnCauses
from snapshots.changes.pair_order import PairOrder
from snapshots.frames.columns import Mask

Bits = npt.NDArray[np.uint8]

_WORD = 64
_BLOCK_BYTES = 32 << 20
_PIECE_BYTES = 8 << 20
_BITS_OF_BYTE = np.array([byte.bit_count() for byte in range(256)], np.uint8)


class Involvement:
    """The specs that each of some causes is involved in.

    ``set_of`` has for each cause the number of its set of specs; causes with equal sets share it.
    ``sets`` holds these sets: a row a set, a bit a spec (the lowest of a byte first). The specs are
    the first ``num_specs`` pairs.
    """

    def __init__(self, own: OwnCauses, order: PairOrder, num_pairs: int, num_specs: int) -> None:
        self.num_specs = num_specs
        places: dict[bytes, int] = {}
        self.set_of = np.empty(len(own.names), np.int32)
        # Words for all causes of all pairs would be too many where both are.
        block = max(1, _BLOCK_BYTES // (8 * max(1, num_pairs))) * _WORD
        for first in range(0, len(own.names), block):
            size = min(block, len(own.names) - first)
            here = (own.numbers >= first) & (own.numbers < first + size)
            bits = np.zeros((num_pairs, -(-size // _WORD)), np.uint64)
            _set_bits(bits, own.pairs[here], own.numbers[here] - first)
            order.spread(bits)
            sets = _transposed(bits[:num_specs].view(np.uint8), size)
            for number, row in enumerate(sets, first):
                self.set_of[number] = places.setdefault(row.tobytes(), len(places))
        self.sets: Bits = np.frombuffer(b"".join(places), np.uint8).reshape(
            len(places), -(-num_specs // 8)
        )

    @property
    def num_bytes(self) -> int:
        """How much memory the sets take."""
        return self.sets.nbytes + self.set_of.nbytes

    def reorder(self, numbers: Numbers) -> None:
        """Give the causes other numbers: the first is that of the first of these, and so on."""
        self.set_of = self.set_of[numbers]

    def counts(self, specs: Numbers | None = None) -> Numbers:
        """Return for each cause the number of specs that it is involved in, of some or of all."""
        sets = self.sets if specs is None else self.sets & self._bits_of(specs)
        counts: Numbers = np.zeros(len(sets), np.int64)
        rows = max(1, _PIECE_BYTES // max(1, sets.shape[1]))
        for start in range(0, len(sets), rows):
            piece = _BITS_OF_BYTE[sets[start : start + rows]]
            counts[start : start + rows] = piece.sum(axis=1, dtype=np.int64)
        return counts[self.set_of]

    def specs_of(self, cause: int) -> Numbers:
        """Return the specs that a cause is involved in."""
        return np.flatnonzero(self._mask(self.sets[self.set_of[cause]]))

    def causes_of(self, spec: int) -> Numbers:
        """Return the causes that are involved in a spec, by their numbers."""
        has = self.sets[:, spec >> 3] >> np.uint8(spec & 7) & np.uint8(1)
        return np.flatnonzero(has[self.set_of])

    def first_of(self, causes: Numbers) -> Numbers:
        """Return for each spec the first of some causes, in this order, that is involved in it.

        -1 where none is.
        """
        found = np.full(self.num_specs, -1, np.int64)
        left = self._bits_of(np.arange(self.num_specs))
        for cause in causes.tolist():
            new = self.sets[self.set_of[cause]] & left
            if new.any():
                found[self._mask(new)] = cause
                left &= ~new
                if not left.any():
                    break
        return found

    def _bits_of(self, specs: Numbers) -> Bits:
        mask = np.zeros(self.num_specs, np.bool_)
        mask[specs] = True
        return np.packbits(mask, bitorder="little")

    def _mask(self, bits: Bits) -> Mask:
        return np.unpackbits(bits, count=self.num_specs, bitorder="little").view(np.bool_)


def _set_bits(bits: npt.NDArray[np.uint64], rows: Numbers, places: Numbers) -> None:
    values = np.uint64(1) << (places % _WORD).astype(np.uint64)
    np.bitwise_or.at(bits, (rows, places // _WORD), values)


def _transposed(bits: Bits, size: int) -> Bits:
    """Return the first bits of all rows as rows of bits."""
    rows = max(8, _PIECE_BYTES // max(1, size) // 8 * 8)
    columns = np.empty((size, -(-len(bits) // 8)), np.uint8)
    for start in range(0, len(bits), rows):
        piece = np.unpackbits(bits[start : start + rows], axis=1, count=size, bitorder="little")
        packed = np.packbits(piece, axis=0, bitorder="little")
        columns[:, start // 8 : start // 8 + len(packed)] = packed.T
    return columns
