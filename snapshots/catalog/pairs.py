"""Comparison of neighbours, in this process or by workers that read the contents themselves."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import msgspec

from snapshots.catalog.specs_table import ContentReader
from snapshots.catalog.workers import mapping
from snapshots.changes.diff import Comparison
from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import StoredChanges, as_stored, changes_to_store
from snapshots.errors import CachelogError
from snapshots.history import Neighbours, Pair
from snapshots.notes import stories

ROWS_AT_ONCE = 48_000
"""The minimum number of changes in a batch that is written; eight such runs become one."""


NeighboursOfPairs = Mapping[Pair, Neighbours]
"""The pairs whose stories are stored as well, with the revisions that the stories describe."""


class PairFailures(msgspec.Struct):
    """The failures of a computation: ``failures`` maps pairs to reasons.

    ``unreadable`` maps the digests of unreadable contents to reasons.
    """

    failures: dict[Pair, str] = {}
    unreadable: dict[str, str] = {}


class PairMaker:
    """Compares pairs one by one, and retains the two contents of the last pair.

    ``load`` reads a content. ``narrow`` returns the parts of two contents that determine the stored
    changes, if they are in memory. ``pair_failures`` collects failures. For pairs in
    ``neighbours``, the story is composed as well.
    """

    def __init__(
        self,
        load: Callable[[str], Side],
        pair_failures: PairFailures | None = None,
        neighbours: NeighboursOfPairs | None = None,
        narrow: Callable[[Pair], tuple[Side, Side] | None] = lambda _: None,
    ) -> None:
        self._load = load
        self._narrow = narrow
        self._neighbours = neighbours or {}
        self._sides: dict[str, Side] = {}
        self.pair_failures = PairFailures() if pair_failures is None else pair_failures

    def make(self, chain: Iterable[Pair]) -> Iterator[StoredChanges]:
        """Yield the stored form of each pair's changes, except pairs with an unreadable content."""
        for pair in chain:
            if pair not in self._neighbours and (narrow_sides := self._narrow(pair)) is not None:
                yield changes_to_store(*narrow_sides)
                continue
            sides = [side for side in map(self._side, pair) if side is not None]
            self._sides = {side.frame.digest: side for side in sides}
            if len(sides) == 2:
                neighbours = self._neighbours.get(pair)
                yield _with_story(neighbours, *sides) if neighbours else changes_to_store(*sides)
            else:
                unreadable = self.pair_failures.unreadable
                self.pair_failures.failures[pair] = next(
                    unreadable[digest] for digest in pair if digest in unreadable
                )

    def _side(self, digest: str) -> Side | None:
        if digest not in self._sides and digest not in self.pair_failures.unreadable:
            try:
                self._sides[digest] = self._load(digest)
            except CachelogError as error:
                self.pair_failures.unreadable[digest] = str(error)
        return self._sides.get(digest)


def _with_story(neighbours: Neighbours, base: Side, head: Side) -> StoredChanges:
    """Return the stored form of a pair's changes with its story.

    The story takes a tenth of the time that reading the two contents takes.
    """
    # Imported here, because most commands compose no stories.
    from snapshots.changes.explanation import Explanation
    from snapshots.notes.templates import story

    explanation = Explanation(Comparison(base.frame, head.frame), base, head)
    stored = as_stored(explanation.comparison, explanation.reasoning, explanation.causes)
    return msgspec.structs.replace(
        stored, story=stories.to_text(neighbours, story(neighbours, explanation))
    )


def store_all(
    computed: Iterable[StoredChanges], keep: Callable[[Sequence[StoredChanges]], None]
) -> None:
    """Store the changes of pairs in batches of about ``ROWS_AT_ONCE`` rows.

    If the computation is interrupted, the results up to then are stored.
    """
    batch: list[StoredChanges] = []
    try:
        for changes in computed:
            batch.append(changes)
            if sum(len(one.rows) for one in batch) >= ROWS_AT_ONCE:
                full, batch = batch, []
                keep(full)
    finally:
        if batch:
            keep(batch)


# -- by workers

_PAIRS_EACH = 8
"""The maximum number of pairs in one work item.

The first content of an item is loaded by two workers, so items should not be small.
"""

MakePairs = Callable[
    [ContentReader, str, Sequence[Pair], PairFailures, NeighboursOfPairs],
    AbstractContextManager[Iterator[StoredChanges]],
]
"""``changes_of_pairs``, or a partial of it with ``jobs`` or ``cluster``."""


@contextmanager
def changes_of_pairs(
    reader: ContentReader,
    location: str,
    pairs: Sequence[Pair],
    pair_failures: PairFailures,
    neighbours: NeighboursOfPairs,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> Iterator[Iterator[StoredChanges]]:
    """Yield the stored form of the pairs' changes as it is computed.

    A content that consecutive pairs share, as in ``History.pairs``, is loaded once. Failures are
    added to ``pair_failures``. Pairs in ``neighbours`` have their story with them. ``jobs`` and
    ``cluster`` are those of ``mapping``.
    """
    if len(pairs) < 2 or (cluster is None and jobs in (None, 1)):
        maker = PairMaker(reader.side, pair_failures, neighbours, reader.narrow_sides)
        yield maker.make(pairs)
        return
    each = max(1, min(_PAIRS_EACH, len(pairs) // (jobs or 1)))
    pieces = [pairs[start : start + each] for start in range(0, len(pairs), each)]
    of_pairs = {pair: neighbours[pair] for pair in pairs if pair in neighbours}
    make = partial(_make, reader, of_pairs)
    with mapping(make, location, pieces, jobs=jobs, cluster=cluster) as results:
        yield _gathered(results, pair_failures)


_Made = tuple[list[StoredChanges], PairFailures]


def _gathered(pieces: Iterator[_Made], pair_failures: PairFailures) -> Iterator[StoredChanges]:
    for changes, failures in pieces:
        pair_failures.failures |= failures.failures
        pair_failures.unreadable |= failures.unreadable
        yield from changes


def _make(reader: ContentReader, neighbours: NeighboursOfPairs, pairs: Sequence[Pair]) -> _Made:
    maker = PairMaker(reader.side, neighbours=neighbours)
    return list(maker.make(pairs)), maker.pair_failures
