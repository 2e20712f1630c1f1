"""Filling the history of a catalog: what changed between neighbours of which it is not kept.

Pairs are independent of each other, but to load a content takes longer than to compare it. So each
worker takes chains of neighbours; what they make is written by one, in batches. Who is interrupted
keeps what was made, who is killed loses no more than a batch, and both go on there.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from snapshots.catalog.asking.past import missing_pairs, untold_pairs
from snapshots.catalog.bulk.pairs import making
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pairs.making import Unmade, keep_all
from snapshots.changes.kept_changes import KeptChanges
from snapshots.history import Pair
from snapshots.notes.atom.kept_stories import told_in_any

__all__ = ["Filled", "Progress", "fill", "missing_pairs", "untold_pairs"]

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

    With it comes the story of those that feeds tell of.

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

    reader, location = catalog.reader(), catalog.location
    told = told_in_any(catalog.history)
    with making(reader, location, pairs, unmade, told, jobs=jobs, cluster=cluster) as made:
        keep_all(counted(made), catalog.keep)
    return Filled(num_made, unmade.failures, unmade.unreadable)
