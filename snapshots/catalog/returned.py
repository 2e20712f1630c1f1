"""Which of the hashes that a comparison adds were there before: a question to the history.

A comparison follows from its two contents alone, this answer from all that stood before them. So it
is kept apart from the comparison, by the contents that it was asked of: what is published later
makes it no other, unless that is put in before them.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np

from snapshots.catalog.catalog import Catalog
from snapshots.changes.explanation import Explanation
from snapshots.frames.columns import Mask, Rows
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.refs import series

MOST_CONTENTS = 200
"""So many earlier contents are asked, the newest ones: weekly revisions of some four years.

Each takes a thread that loads revisions some milliseconds, and a series may have thousands.
"""

_BYTES_OF_DIGEST = 130


class EarlierContents(NamedTuple):
    """The contents of base and head, and the newest that stood before them, newest first."""

    base: str
    head: str
    digests: tuple[str, ...]


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
        return self.rows.nbytes + _BYTES_OF_DIGEST * (10 + len(self.asked.digests))


def earlier_contents(history: History, base: RevisionInfo, head: RevisionInfo) -> EarlierContents:
    """Return what to ask for the hashes that returned from base to head.

    Those are the contents of head's series that stood before base, so that what came in between
    and stayed has not returned. Where base is of another series, or behind head, they are those
    that stood before head. Of more than MOST_CONTENTS it is the newest ones.
    """
    revisions = history.earlier(head)
    if series(base.tag) == series(head.tag):
        revisions = min(revisions, history.earlier(base), key=len)
    digests = dict.fromkeys(it.digest for it in revisions if it.digest != base.digest)
    return EarlierContents(base.digest, head.digest, tuple(islice(digests, MOST_CONTENTS)))


def find_returned(catalog: Catalog, explanation: Explanation, asked: EarlierContents) -> Returned:
    """Look for the added specs that took no spec's place in the contents that stood before.

    Takes some 8 ms for each content of 60,000 specs, until all are found. Raises CatalogError where
    one cannot be read.
    """
    frame, rows = explanation.head.frame, explanation.without_counterpart()
    texts = [frame.hashes.at(row) for row in rows.tolist()]
    found = catalog.hashes_in(asked.digests, texts)
    there = np.fromiter((text in found for text in texts), np.bool_, len(texts))
    return Returned(rows[there], len(frame), asked)
