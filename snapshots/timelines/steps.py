"""The steps of series: each revision beside the one before it, numbered through all series."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from snapshots.history import History, Neighbours, Pair, age
from snapshots.models import RevisionInfo

Places = npt.NDArray[np.int64]
"""Numbers of steps."""


_LOCK = Lock()


class Steps:
    """The steps of some series that are there, one after the other, each oldest first.

    The step to a revision has that revision's place: ``revisions[place]``.
    """

    def __init__(self, history: History, names: Iterable[str]) -> None:
        self.names: Sequence[str] = [*names]
        families: list[Sequence[Neighbours]] = [history.neighbours(name) for name in self.names]
        self.neighbours = [step for family in families for step in family]
        self.revisions: list[RevisionInfo] = [step.head for step in self.neighbours]
        lengths = [len(family) for family in families]
        self.starts = np.array([0, *accumulate(lengths)], np.int64)
        self._series = np.repeat(np.arange(len(families)), lengths)
        self._places: defaultdict[Pair, list[int]] = defaultdict(list)
        for place, step in enumerate(self.neighbours):
            self._places[step.pair].append(place)

    @classmethod
    def of(cls, history: History, names: Iterable[str]) -> "Steps":
        """Return the steps of some series, made once for each history as long as that is there."""
        asked = tuple(name for name in names if history.of_series(name))
        with _LOCK:
            known = _MADE.setdefault(history, {}).get(asked)
        made = cls(history, asked) if known is None else known
        with _LOCK:
            return _MADE[history].setdefault(asked, made)

    def __len__(self) -> int:
        return len(self.revisions)

    def of_pair(self, pair: Pair) -> Sequence[int]:
        """Return the places where a pair stands, rising: none, one, or several."""
        return self._places.get(pair, ())

    def series_of(self, places: Places) -> Places:
        """Return the number, in ``names``, of the series that each place is in."""
        numbers: Places = self._series[places]
        return numbers

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first place of a series, and the one behind its last."""
        return int(self.starts[number]), int(self.starts[number + 1])

    def newest(self, begin: int, end: int) -> int:
        """Return the place of the revision taken last of those from ``begin`` to ``end`` - 1.

        That need not be the last one: an old release may be built again after a new one.
        """
        return max(range(begin, end), key=lambda place: age(self.revisions[place]))


_MADE: WeakKeyDictionary[History, dict[tuple[str, ...], Steps]] = WeakKeyDictionary()
