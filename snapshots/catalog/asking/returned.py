"""Which of the hashes that a comparison adds were there before: a question to the history.

A comparison follows from its two contents alone, this answer from all that stood before them. So it
is kept apart from the comparison, by the contents that it was asked of: what is published later
makes it no other, unless that is put in before them.
"""

from collections.abc import Mapping, Set
from itertools import islice, pairwise, starmap
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from snapshots.catalog.catalog import Catalog
from snapshots.changes.explanation import Explanation
from snapshots.changes.spec_changes import SpecChangeKind
from snapshots.errors import CatalogError
from snapshots.frames.columns import Mask, Rows
from snapshots.history import History, Pair
from snapshots.models import NOTHING, RevisionInfo
from snapshots.refs import series

MOST_CONTENTS = 200
"""So many earlier contents are read, the newest ones, where changes are missing.

Each takes a thread that loads revisions some milliseconds, and a series may have thousands.
"""

_BYTES_OF_DIGEST = 130


class EarlierContents(NamedTuple):
    """The contents of base and head, and of all revisions that stood before them, oldest first.

    Where they are more than are read, ``is_kept`` tells whether the changes of all are kept: then
    the answer is about all of them.
    """

    base: str
    head: str
    states: tuple[str, ...]
    is_kept: bool = False

    @property
    def digests(self) -> tuple[str, ...]:
        """What to read where changes are missing: the newest MOST_CONTENTS, newest first."""
        digests = dict.fromkeys(it for it in reversed(self.states) if it != self.base)
        return tuple(islice(digests, MOST_CONTENTS))

    @property
    def pairs(self) -> frozenset[Pair]:
        """The neighbours whose changes tell the same."""
        pairs = starmap(Pair, pairwise((NOTHING, *self.states)))
        return frozenset(pair for pair in pairs if pair.base != pair.head)


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
    revisions = history.earlier(head)
    if series(base.tag) == series(head.tag):
        revisions = min(revisions, history.earlier(base), key=len)
    states = tuple(revision.digest for revision in reversed(revisions))
    return EarlierContents(base.digest, head.digest, states)


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
    packages = {
        frame.hashes.at(row): frame.package.values[code]
        for row, code in zip(rows.tolist(), frame.package.codes[rows].tolist(), strict=True)
    }
    found = _added_before(catalog, packages, asked.pairs) if packages else frozenset()
    if found is None:
        found = catalog.hashes_in(asked.digests, packages)
    there = np.fromiter((text in found for text in packages), np.bool_, len(packages))
    return Returned(rows[there], len(frame), asked)


def _added_before(
    catalog: Catalog, packages: Mapping[str, str], pairs: Set[Pair]
) -> frozenset[str] | None:
    """Return those hashes that any of the pairs added; None where that is not known of all."""
    try:
        if not pairs <= catalog.counts.keys():
            return None
        changes = catalog.changes.changes_of(packages.values(), packages)
    except CatalogError:
        return None  # what the tables of changes tell the contents tell, too
    added = changes.filter(pc.equal(changes["kind"], SpecChangeKind.ADDED.value))
    rows = zip(*(added[it].to_pylist() for it in ("hash", "base", "head")), strict=True)
    return frozenset(text for text, base, head in rows if (base, head) in pairs)
