"""Making what is kept of pairs of neighbours, each content loaded once where pairs share it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from snapshots.changes.diff import Comparison
from snapshots.changes.kept_changes import KeptChanges, keep_changes, kept_of
from snapshots.changes.sides import Side
from snapshots.errors import CachelogError
from snapshots.history import Neighbours, Pair
from snapshots.notes.atom import kept_stories

ROWS_AT_ONCE = 48_000
"""So many changes are written at once, or a few more; eight such runs become one."""


def in_chains(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Return the pairs in lists, in each of which every head is the base of the next."""
    waiting = dict.fromkeys(pairs)
    by_base: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in waiting:
        by_base[pair.base].append(pair)
    heads = {pair.head for pair in waiting}
    chains: list[list[Pair]] = []
    # Those that nothing leads to come first; of a circle any may be the first.
    for first in sorted(waiting, key=lambda it: it.base in heads):
        chain: list[Pair] = []
        following: Pair | None = first if first in waiting else None
        while following is not None:
            del waiting[following]
            chain.append(following)
            following = next((it for it in by_base[following.head] if it in waiting), None)
        if chain:
            chains.append(chain)
    return chains


Told = Mapping[Pair, Neighbours]
"""The pairs whose stories are to be kept, too, and the revisions that they are told of."""


class Unmade(msgspec.Struct):
    """Why pairs could not be made: ``failures`` has the reason for each of them.

    ``unreadable`` has it for each content that could not be read.
    """

    failures: dict[Pair, str] = {}
    unreadable: dict[str, str] = {}

    def add(self, other: "Unmade") -> None:
        """Take in what others could not make."""
        self.failures |= other.failures
        self.unreadable |= other.unreadable


class PairMaker:
    """Compares pairs one by one, and has the two contents of the last one at hand.

    ``load`` reads a content. ``unmade`` has what could not be made. Of the pairs that are ``told``
    the story is made with the rest.
    """

    def __init__(
        self, load: Callable[[str], Side], unmade: Unmade | None = None, told: Told | None = None
    ) -> None:
        self._load = load
        self._told = told or {}
        self._sides: dict[str, Side] = {}
        self.unmade = Unmade() if unmade is None else unmade

    def make(self, chain: Iterable[Pair]) -> Iterator[KeptChanges]:
        """Yield what is kept of each pair, but of those with a content that cannot be read."""
        for pair in chain:
            sides = [side for side in map(self._side, pair) if side is not None]
            self._sides = {side.frame.digest: side for side in sides}
            if len(sides) == len(pair):
                neighbours = self._told.get(pair)
                yield _with_story(neighbours, *sides) if neighbours else keep_changes(*sides)
            else:
                unreadable = self.unmade.unreadable
                self.unmade.failures[pair] = next(unreadable[it] for it in pair if it in unreadable)

    def _side(self, digest: str) -> Side | None:
        if digest not in self._sides and digest not in self.unmade.unreadable:
            try:
                self._sides[digest] = self._load(digest)
            except CachelogError as error:
                self.unmade.unreadable[digest] = str(error)
        return self._sides.get(digest)


def _with_story(neighbours: Neighbours, base: Side, head: Side) -> KeptChanges:
    """Return what is kept of a pair, with its story: a tenth of what it takes to read the two."""
    # Late: most commands make nothing, and need not wait for what stories are made with.
    from snapshots.changes.explanation import Explanation
    from snapshots.notes.atom.stories import story

    explanation = Explanation(Comparison(base.frame, head.frame), base, head)
    kept = kept_of(explanation.comparison, explanation.reasoning)
    return msgspec.structs.replace(
        kept, story=kept_stories.to_text(neighbours, story(neighbours, explanation))
    )


def keep_all(made: Iterable[KeptChanges], keep: Callable[[Sequence[KeptChanges]], None]) -> None:
    """Keep the changes of pairs in batches of some ``ROWS_AT_ONCE``.

    Where the making of one is interrupted, those that were made before are kept.
    """
    batch: list[KeptChanges] = []
    try:
        for it in made:
            batch.append(it)
            if sum(len(one.rows) for one in batch) >= ROWS_AT_ONCE:
                full, batch = batch, []
                keep(full)
    finally:
        if batch:
            keep(batch)
