"""Comparison of neighbours, in this process or by workers that read the contents themselves."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import msgspec

from snapshots.catalog.specs_table import ContentReader
from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import StoredChanges, changes_to_store
from snapshots.errors import CachelogError
from snapshots.history import Pair
from snapshots.workers import mapping

ROWS_AT_ONCE = 48_000
"""The minimum number of changes in a batch that is written; eight such runs become one."""


class PairFailures(msgspec.Struct):
    """The failures of a computation: ``failures`` maps pairs to reasons.

    ``unreadable`` maps the digests of unreadable contents to reasons.
    """

    failures: dict[Pair, str] = {}
    unreadable: dict[str, str] = {}


def compared(
    pairs: Iterable[Pair], load: Callable[[str], Side], pair_failures: PairFailures
) -> Iterator[StoredChanges]:
    """Yield the stored form of each pair's changes, except pairs with an unreadable content.

    ``load`` reads a content; those of the last pair are retained. Failures are added to
    ``pair_failures``.
    """
    unreadable = pair_failures.unreadable
    last: dict[str, Side] = {}
    for pair in pairs:
        sides: dict[str, Side] = {}
        for digest in pair:
            if digest not in unreadable:
                try:
                    sides[digest] = last[digest] if digest in last else load(digest)
                except CachelogError as error:
                    unreadable[digest] = str(error)
        last = sides
        if failed := [digest for digest in pair if digest in unreadable]:
            pair_failures.failures[pair] = unreadable[failed[0]]
        else:
            yield changes_to_store(*sides.values())


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
    [ContentReader, str, Sequence[Pair], PairFailures],
    AbstractContextManager[Iterator[StoredChanges]],
]
"""``changes_of_pairs``, or a partial of it with ``jobs`` or ``cluster``."""


@contextmanager
def changes_of_pairs(
    reader: ContentReader,
    location: str,
    pairs: Sequence[Pair],
    pair_failures: PairFailures,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
) -> Iterator[Iterator[StoredChanges]]:
    """Yield the stored form of the pairs' changes as it is computed.

    A content that consecutive pairs share, as in ``History.pairs``, is loaded once. Failures are
    added to ``pair_failures``. ``jobs`` and ``cluster`` are those of ``mapping``.
    """
    if len(pairs) < 2 or (cluster is None and jobs in (None, 1)):
        yield compared(pairs, reader.side, pair_failures)
        return
    each = max(1, min(_PAIRS_EACH, len(pairs) // (jobs or 1)))
    pieces = [pairs[start : start + each] for start in range(0, len(pairs), each)]
    make = partial(_make, reader)
    with mapping(make, location, pieces, jobs=jobs, cluster=cluster) as results:
        yield _gathered(results, pair_failures)


_Made = tuple[list[StoredChanges], PairFailures]


def _gathered(pieces: Iterator[_Made], pair_failures: PairFailures) -> Iterator[StoredChanges]:
    for changes, failures in pieces:
        pair_failures.failures |= failures.failures
        pair_failures.unreadable |= failures.unreadable
        yield from changes


def _make(reader: ContentReader, pairs: Sequence[Pair]) -> _Made:
    pair_failures = PairFailures()
    return list(compared(pairs, reader.side, pair_failures)), pair_failures
