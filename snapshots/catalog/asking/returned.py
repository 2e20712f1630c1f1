"""Which of the hashes that a comparison adds were there before: a question to the history.

A comparison follows from its two contents alone, this answer from all that stood before them. So it
is kept apart from the comparison, by the contents that it was asked of: what is published later
makes it no other, unless that is put in before them.
"""

from collections.abc import Sequence
from itertools import islice, pairwise, starmap
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from snapshots.catalog.catalog import Catalog
from snapshots.changes.explanation import Explanation
from snapshots.errors import CatalogError
from snapshots.frames.columns import Mask, Rows
from snapshots.history import History, Pair
from snapshots.models import RevisionInfo
from snapshots.refs import series
from snapshots.timelines.growth import were_removed

MOST_CONTENTS = 200
"""So many earlier contents are read, the newest ones, where changes are missing.

Each takes a thread that loads revisions some milliseconds, and a series may have thousands.
"""

_BYTES_OF_DIGEST = 130


class EarlierContents(NamedTuple):
    """The contents of base and head, and of all revisions that stood before them, oldest first.

    ``is_next`` tells whether base is the next one after those. Where they are more than are read,
    ``is_kept`` tells whether the changes of all are kept: then the answer is about all of them.
    """

    base: str
    head: str
    states: tuple[str, ...]
    is_next: bool
    is_kept: bool = False

    @property
    def digests(self) -> tuple[str, ...]:
        """What to read where changes are missing: the newest MOST_CONTENTS, newest first."""
        digests = dict.fromkeys(it for it in reversed(self.states) if it != self.base)
        return tuple(islice(digests, MOST_CONTENTS))

    @property
    def pairs(self) -> frozenset[Pair]:
        """The neighbours whose changes tell what was there and is not in ``last``."""
        pairs = starmap(Pair, pairwise((*self.states, self.base) if self.is_next else self.states))
        return frozenset(pair for pair in pairs if pair.base != pair.head)

    @property
    def last(self) -> tuple[str, ...]:
        """The last content but for base, whose specs are not among those that are asked for."""
        return () if self.is_next else self.states[-1:]


class Returned(NamedTuple):
    """The rows of head that were added, took no spec's place, and were there before."""

    rows: Rows
    num_rows: int
    asked: EarlierContents

    @property
    def mask(self) -> Mask:
        """The same as a mask over all rows of head."""
        mask = np.zeros(self.num_rows, np.bool_)
        mask[self.rows] = True
        return mask

    @property
    def num_bytes(self) -> int:
        """About how much memory it takes, and what it was asked of."""
        return self.rows.nbytes + _BYTES_OF_DIGEST * (10 + len(self.asked.states))


def earlier_contents(history: History, base: RevisionInfo, head: RevisionInfo) -> EarlierContents:
    """Return what to ask for the hashes that returned from base to head.

    Those are the contents of head's series that stood before base, so that what came in between
    and stayed has not returned. Where base is of another series, or behind head, they are those
    that stood before head.
    """
    revisions, before_base = history.earlier(head), history.earlier(base)
    is_next = series(base.tag) == series(head.tag) and len(before_base) < len(revisions)
    if is_next:
        revisions = before_base
    states = tuple(revision.digest for revision in reversed(revisions))
    return EarlierContents(base.digest, head.digest, states, is_next)


def asked_of(
    catalog: Catalog, history: History, base: RevisionInfo, head: RevisionInfo
) -> EarlierContents:
    """Return the same, with whether the changes of a long series are kept."""
    asked = earlier_contents(history, base, head)
    if len(asked.states) <= MOST_CONTENTS:
        return asked
    try:
        return asked._replace(is_kept=asked.pairs <= catalog.counts.keys())
    except CatalogError:
        return asked


def find_returned(catalog: Catalog, explanation: Explanation, asked: EarlierContents) -> Returned:
    """Look for the added specs that took no spec's place in the contents that stood before.

    The changes of the series tell it, where they are kept. Else the newest contents are read, some
    8 ms for each of 60,000 specs, until all are found; raises CatalogError where one cannot be.
    """
    frame, rows = explanation.head.frame, explanation.without_counterpart()
    hashes = [frame.hashes.at(row) for row in rows.tolist()]
    found = _there_before(catalog, hashes, asked) if hashes else np.zeros(0, np.bool_)
    return Returned(rows[found], len(frame), asked)


def _there_before(catalog: Catalog, hashes: Sequence[str], asked: EarlierContents) -> Mask:
    """Return which hashes were there; base has none of them."""
    removed = _removed_before(catalog, hashes, asked)
    digests = asked.digests if removed is None else asked.last
    found = catalog.hashes_in(digests, hashes)
    there = np.fromiter((text in found for text in hashes), np.bool_, len(hashes))
    return there if removed is None else there | removed


def _removed_before(catalog: Catalog, hashes: Sequence[str], asked: EarlierContents) -> Mask | None:
    """Return which hashes any of the pairs removed; None where that is not known of all."""
    try:
        if not asked.pairs <= catalog.counts.keys():
            return None
        removed = catalog.changes.comparisons(asked.pairs, ["removed_specs"])
        return were_removed(removed, pa.chunked_array([hashes], pa.string()))
    except CatalogError:
        return None  # what the tables of changes tell the contents tell, too
