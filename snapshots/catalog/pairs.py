"""Comparison of neighbours, in this process or by workers that read the contents themselves.

Pairs are independent of each other, but loading a content takes longer than comparing it. Therefore
each worker takes chains of neighbours, and one process stores the results in batches.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain

import msgspec

from snapshots.catalog.specs_table import ContentReader
from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import StoredChanges, changes_to_store
from snapshots.errors import CachelogError
from snapshots.history import Pair
from snapshots.workers import mapping

ROWS_AT_ONCE = 48_000
"""The minimum number of changes in a batch that is written; eight such runs become one."""

_PAIRS_EACH = 8
"""The maximum number of pairs in one work item.

The first content of an item is loaded by two workers, so items should not be small.
"""

Progress = Callable[[int, int], None]
"""Called with the number of finished pairs, and the number of all pairs."""


class FillResult(msgspec.Struct):
    """The number of pairs that were compared and stored, and why others could not be compared."""

    num_made: int = 0
    failures: dict[Pair, str] = {}


class _Failure(msgspec.Struct, frozen=True):
    """A pair with an unreadable content, and the reason."""

    pair: Pair
    reason: str


_Results = Iterable[StoredChanges | _Failure]


def fill(
    reader: ContentReader,
    location: str,
    pairs: Sequence[Pair],
    keep: Callable[[Sequence[StoredChanges]], None],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> FillResult:
    """Compare pairs, and store their changes by ``keep`` in batches of about ``ROWS_AT_ONCE`` rows.

    A content that consecutive pairs share, as in ``History.pairs``, is loaded once. ``jobs`` and
    ``cluster`` are those of ``mapping``. If this is interrupted, the results up to then are stored.
    Raises the errors of ``keep``, and CatalogError if a worker was killed.
    """
    filled = FillResult()
    batch: list[StoredChanges] = []
    mapped: AbstractContextManager[Iterator[_Results]]
    if len(pairs) < 2 or (cluster is None and jobs in (None, 1)):
        mapped = nullcontext(iter([_compared(reader, pairs)]))
    else:
        each = max(1, min(_PAIRS_EACH, len(pairs) // (jobs or 1)))
        pieces = [pairs[start : start + each] for start in range(0, len(pairs), each)]
        compare = partial(_all_compared, reader)
        mapped = mapping(compare, location, pieces, jobs=jobs, cluster=cluster)
    with mapped as results:
        try:
            for result in chain.from_iterable(results):
                if isinstance(result, _Failure):
                    filled.failures[result.pair] = result.reason
                else:
                    filled.num_made += 1
                    batch.append(result)
                if progress is not None:
                    progress(filled.num_made + len(filled.failures), len(pairs))
                if sum(len(one.rows) for one in batch) >= ROWS_AT_ONCE:
                    full, batch = batch, []
                    keep(full)
        finally:
            if batch:
                keep(batch)
    return filled


def _all_compared(reader: ContentReader, pairs: Sequence[Pair]) -> _Results:
    return list(_compared(reader, pairs))


def _compared(reader: ContentReader, pairs: Iterable[Pair]) -> Iterator[StoredChanges | _Failure]:
    """Yield the stored form of each pair's changes; the contents of the last pair are retained."""
    last: dict[str, Side | str] = {}
    for pair in pairs:
        last = {it: last[it] if it in last else _side(reader, it) for it in pair}
        base, head = last[pair.base], last[pair.head]
        if isinstance(base, str) or isinstance(head, str):
            yield _Failure(pair, base if isinstance(base, str) else str(head))
        else:
            yield changes_to_store(base, head)


def _side(reader: ContentReader, digest: str) -> Side | str:
    """Read a content; return the reason if it cannot be read."""
    try:
        return reader.side(digest)
    except CachelogError as error:
        return str(error)
