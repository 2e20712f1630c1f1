"""Which revision holds most of what somebody wants."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from snapshots.catalog.asking.library import Library
from snapshots.changes.lookup import Wanted
from snapshots.history import History
from snapshots.models import RevisionInfo


class Covered(NamedTuple):
    """A revision, with how many of the wanted specs and of the roots it has."""

    revision: RevisionInfo
    num_found: int
    num_roots_found: int


def candidates(
    history: History, series: str | None = None, most: int | None = None
) -> Sequence[RevisionInfo]:
    """Return what is searched, newest first: the newest revision of each tag, or all of a series.

    With ``most`` it is those with so many of the newest contents. There are none where no tag is in
    the series.
    """
    if series is None:
        newest = {history.of_tag(tag)[0] for tag in history.tags}
        revisions = [revision for revision in history.revisions if revision in newest]
    else:
        revisions = [*history.select(series=series)]
    digests = {*islice(dict.fromkeys(it.digest for it in revisions), most)}
    return [revision for revision in revisions if revision.digest in digests]


def best_covering(
    library: Library, revisions: Sequence[RevisionInfo], wanted: Wanted
) -> list[Covered]:
    """Return how much of what is wanted each revision holds, best first.

    That is the one with most specs, of equal ones that with most roots, then the newer. Revisions
    come newest first. Takes some 10 ms for each content that nothing was asked of before, no frame
    is loaded. Raises CatalogError where a content cannot be read.
    """
    found: dict[str, tuple[int, int]] = {}
    for digest in dict.fromkeys(revision.digest for revision in revisions):
        held = library.hash_sets.get(digest).having(wanted.hashes)
        roots = held[: wanted.num_roots]
        found[digest] = int(np.count_nonzero(held)), int(np.count_nonzero(roots))
    covered = [Covered(revision, *found[revision.digest]) for revision in revisions]
    return sorted(covered, key=lambda it: (-it.num_found, -it.num_roots_found))
