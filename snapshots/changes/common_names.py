"""The names of two frames in one order, so that both sides can be counted side by side."""

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from snapshots.frames.columns import Codes, Mask
from snapshots.spack.names import natural_order


class CommonNames:
    """The distinct names that two frames have, in natural order.

    ``from_base`` and ``from_head`` give the place of each name of a frame in this order, or -1
    where it is left out; ``in_base`` and ``in_head`` give the place of each of these names in the
    frame's own list, or -1 where the frame has no such name.
    """

    def __init__(
        self, base: Sequence[str], head: Sequence[str], left_out: frozenset[str] = frozenset()
    ) -> None:
        # Each list is nearly in order: as one after the other they are sorted faster than as a set.
        every = dict.fromkeys((*base, *head))
        self.names = natural_order(name for name in every if name not in left_out)
        self._places = {name: place for place, name in enumerate(self.names)}
        self.from_base, self.in_base = self._mapped(base)
        self.from_head, self.in_head = self._mapped(head)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def num_bytes(self) -> int:
        """About how much memory the names take; the texts are mostly those of the frames."""
        maps = (self.from_base, self.in_base, self.from_head, self.in_head)
        return sum(it.nbytes for it in maps) + 180 * len(self.names)

    def place_of(self, name: str) -> int:
        """Return the place of a name; -1 where neither frame has it."""
        return self._places.get(name, -1)

    def with_text(self, text: str) -> Mask:
        """Return a mask over the names: those with a text in them, in upper or lower case."""
        lower = text.lower()
        return np.fromiter((lower in name.lower() for name in self.names), np.bool_, len(self))

    def by_text(self) -> Codes:
        """Return the rank of each name in the plain order of texts."""
        ranks = np.empty(len(self), np.int32)
        ranks[[self._places[name] for name in sorted(self._places)]] = np.arange(len(self))
        return ranks

    def _mapped(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        places = np.fromiter(map(self._places.get, names, repeat(-1)), np.int32, len(names))
        inverse = np.full(len(self), -1, np.int32)
        known = places >= 0
        inverse[places[known]] = np.flatnonzero(known)
        return places, inverse
