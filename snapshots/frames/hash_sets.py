"""Which hashes a content has, in eight bytes each: so little that those of many are kept."""

from secrets import randbits

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snapshots.frames.arrow_columns import words_of
from snapshots.frames.columns import Mask
from snapshots.frames.hashes import WIDTH, Hashes, Keys

_WORDS = WIDTH // 8

# Odd, so that nothing is lost by multiplying, and secret: nobody can make hashes that collide.
_FIRST, _SECOND, _THIRD = (np.uint64(randbits(64) | 1) for _ in range(3))


class HashSet:
    """The hashes of a content, all of them whole, to ask which of some others are among them.

    Kept are 64 bits of each, mixed by numbers of this process: one of a million that are asked of a
    million is taken for another by chance in one of some ten million times.
    """

    def __init__(self, hashes: pa.ChunkedArray) -> None:
        self._keys = np.sort(_mixed(words_of(hashes)))

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def num_bytes(self) -> int:
        """How much memory the set takes."""
        return self._keys.nbytes + 200

    def having(self, wanted: Hashes) -> Mask:
        """Return which of some hashes are in the set."""
        if not len(self):
            return np.zeros(len(wanted), np.bool_)
        keys = _mixed(wanted.words)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self) - 1)
        found: Mask = self._keys[places] == keys
        return found


def _mixed(words: npt.NDArray[np.uint64]) -> Keys:
    """Return 64 bits of each hash, to which each of its characters adds."""
    of_hashes = words.reshape(-1, _WORDS)
    keys = np.zeros(len(of_hashes), np.uint64)
    for word in of_hashes.T:
        keys ^= word
        for factor, shift in ((_FIRST, 32), (_SECOND, 29), (_THIRD, 32)):
            keys *= factor
            keys ^= keys >> np.uint64(shift)
    return keys
