"""Filling the history of a catalog: what changed between neighbours of which it is not kept.

Pairs are independent of each other, but to load a content takes longer than to compare it. So each
process takes chains of neighbours; what they make is written by one, in batches. Who is interrupted
keeps what was made, who is killed loses no more than a batch, and both go on there.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import chain

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pair_making import PairMaker, Unmade, in_chains, keep_all
from snapshots.catalog.past import missing_pairs
from snapshots.catalog.processes import processes
from snapshots.changes.kept_changes import KeptChanges
from snapshots.history import Pair

__all__ = ["Filled", "Progress", "fill", "missing_pairs"]

_PAIRS_EACH = 8
"""So many neighbours are one piece of work: its first content is loaded by two processes."""

_AHEAD = 2

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
    catalog: Catalog, pairs: Sequence[Pair], *, jobs: int = 1, progress: Progress | None = None
) -> Filled:
    """Make and keep what changed in each of the pairs, in so many processes.

    Pairs with a content that cannot be read are left out. Raises CatalogError where the changes
    cannot be kept, or a process was killed.
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

    with _making(catalog, in_chains(pairs), jobs, unmade) as made:
        keep_all(counted(made), catalog.keep)
    return Filled(num_made, unmade.failures, unmade.unreadable)


@contextmanager
def _making(
    catalog: Catalog, chains: Sequence[Sequence[Pair]], jobs: int, unmade: Unmade
) -> Iterator[Iterator[KeptChanges]]:
    """Have what is made of the pairs, here or in so many processes; others are in ``unmade``."""
    if jobs == 1:
        yield PairMaker(catalog.load_side, unmade).make(chain.from_iterable(chains))
        return
    pieces = [
        pairs[start : start + _PAIRS_EACH]
        for pairs in chains
        for start in range(0, len(pairs), _PAIRS_EACH)
    ]
    with processes(min(jobs, len(pieces) or 1), catalog.location, _open) as pool:
        yield _made_by(pool, pieces, jobs * _AHEAD, unmade)


def _made_by(
    pool: ProcessPoolExecutor,
    pieces: Sequence[Sequence[Pair]],
    most_ahead: int,
    unmade: Unmade,
) -> Iterator[KeptChanges]:
    """Yield what the processes make; no more pieces are ahead than memory has room for."""
    waiting = iter(pieces)
    running: set[Future[_Made]] = set()
    while True:
        for piece in waiting:
            running.add(pool.submit(_make, piece))
            if len(running) >= most_ahead:
                break
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            made, left = future.result()
            unmade.add(left)
            yield from made


_Made = tuple[list[KeptChanges], Unmade]

_opened: dict[str, Catalog] = {}


def _open(location: str) -> None:
    """Open the catalog once in a process that makes pairs."""
    catalog = Catalog(location)
    catalog.refresh()
    _opened["catalog"] = catalog


def _make(pairs: Sequence[Pair]) -> _Made:
    maker = PairMaker(_opened["catalog"].load_side)
    return list(maker.make(pairs)), maker.unmade
