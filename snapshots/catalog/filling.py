"""Filling the history of a catalog: what changed between neighbours of which it is not kept.

Pairs are independent of each other, but to load a content takes longer than to compare it. So each
worker takes chains of neighbours; what they make is written by one, in batches. Who is interrupted
keeps what was made, who is killed loses no more than a batch, and both go on there.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain

import msgspec

from snapshots.catalog.bulk.mapping import mapping
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pair_making import PairMaker, Unmade, in_chains, keep_all
from snapshots.catalog.past import missing_pairs
from snapshots.changes.kept_changes import KeptChanges
from snapshots.history import Pair

__all__ = ["Filled", "Progress", "fill", "missing_pairs"]

_PAIRS_EACH = 8
"""So many neighbours are one piece of work: its first content is loaded by two workers."""

Progress = Callable[[int, int], None]
"""Called with how many pairs are done, and how many there are."""


class Filled(msgspec.Struct, frozen=True):
    """How many pairs were made and kept, and why others could not be made.

    ``unreadable`` has the reason by content, ``failures`` by pair.
    """

    num_made: int
    failures: dict[Pair, str]
    unreadable: dict[str, str]


def fill(
    catalog: Catalog,
    pairs: Sequence[Pair],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Filled:
    """Make and keep what changed in each of the pairs, in so many processes or on a cluster.

    ``jobs`` and ``cluster`` are those of ``mapping``. Pairs with a content that cannot be read are
    left out. Raises CatalogError where the changes cannot be kept, or a worker was killed.
    """
    unmade = Unmade()
    num_made = 0

    def counted(made: Iterator[KeptChanges]) -> Iterator[KeptChanges]:
        nonlocal num_made
        for it in made:
            num_made += 1
            if progress is not None:
                progress(num_made + len(unmade.failures), len(pairs))
            yield it

    with _making(catalog, in_chains(pairs), unmade, jobs, cluster) as made:
        keep_all(counted(made), catalog.keep)
    return Filled(num_made, unmade.failures, unmade.unreadable)


@contextmanager
def _making(
    catalog: Catalog,
    chains: Sequence[Sequence[Pair]],
    unmade: Unmade,
    jobs: int | None,
    cluster: str | None,
) -> Iterator[Iterator[KeptChanges]]:
    """Have what is made of the pairs, here or by so many workers; others are in ``unmade``."""
    if cluster is None and jobs in (None, 1):
        yield PairMaker(catalog.load_side, unmade).make(chain.from_iterable(chains))
        return
    pieces = [
        pairs[start : start + _PAIRS_EACH]
        for pairs in chains
        for start in range(0, len(pairs), _PAIRS_EACH)
    ]
    with mapping(_maker, catalog.location, pieces, jobs=jobs, cluster=cluster) as made:
        yield _gathered(made, unmade)


_Made = tuple[list[KeptChanges], Unmade]


def _gathered(pieces: Iterator[_Made], unmade: Unmade) -> Iterator[KeptChanges]:
    for made, left in pieces:
        unmade.add(left)
        yield from made


def _maker(location: str) -> Callable[[Sequence[Pair]], _Made]:
    """Open the catalog once in a process that makes pairs."""
    catalog = Catalog(location)
    catalog.refresh()
    return partial(_make, catalog)


def _make(catalog: Catalog, pairs: Sequence[Pair]) -> _Made:
    maker = PairMaker(catalog.load_side)
    return list(maker.make(pairs)), maker.unmade
