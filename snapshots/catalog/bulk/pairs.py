"""Comparing neighbours: here, or by workers that read the contents themselves."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import chain

from snapshots.catalog.bulk.mapping import mapping
from snapshots.catalog.contents.reader import ContentReader
from snapshots.catalog.pairs.making import PairMaker, Told, Unmade, in_chains
from snapshots.changes.kept_changes import KeptChanges
from snapshots.history import Pair

_PAIRS_EACH = 8
"""So many neighbours are one piece of work, or fewer where there are few: its first content is
loaded by two workers."""

MakePairs = Callable[
    [ContentReader, str, Sequence[Pair], Unmade, Told],
    AbstractContextManager[Iterator[KeptChanges]],
]
"""``making``, or that with jobs or a cluster."""


@contextmanager
def making(
    reader: ContentReader,
    location: str,
    pairs: Sequence[Pair],
    unmade: Unmade,
    told: Told,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> Iterator[Iterator[KeptChanges]]:
    """Have what is kept of the pairs, as it is made; what could not be made is in ``unmade``.

    Those that are ``told`` have their story with it. ``jobs`` and ``cluster`` are those of
    ``mapping``.
    """
    chains = in_chains(pairs)
    if len(pairs) < 2 or (cluster is None and jobs in (None, 1)):
        yield PairMaker(reader.side, unmade, told).make(chain.from_iterable(chains))
        return
    each = max(1, min(_PAIRS_EACH, len(pairs) // (jobs or 1)))
    pieces = [run[start : start + each] for run in chains for start in range(0, len(run), each)]
    begin = partial(_maker, reader, {pair: told[pair] for pair in pairs if pair in told})
    with mapping(begin, location, pieces, jobs=jobs, cluster=cluster) as made:
        yield _gathered(made, unmade)


_Made = tuple[list[KeptChanges], Unmade]


def _gathered(pieces: Iterator[_Made], unmade: Unmade) -> Iterator[KeptChanges]:
    for made, left in pieces:
        unmade.add(left)
        yield from made


def _maker(reader: ContentReader, told: Told, _location: str) -> Callable[[Sequence[Pair]], _Made]:
    return partial(_make, reader, told)


def _make(reader: ContentReader, told: Told, pairs: Sequence[Pair]) -> _Made:
    maker = PairMaker(reader.side, told=told)
    return list(maker.make(pairs)), maker.unmade
