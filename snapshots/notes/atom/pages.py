"""Feeds in several documents: each has the entries after a revision of the one before.

Source: RFC 5005, 3. A document is named by a revision, not by a number, so that a revision that is
published later moves no entry from one document to another.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from snapshots.errors import RevisionNotFound
from snapshots.models import RevisionInfo

PAGE = 50
"""How many entries a document has."""

Item = TypeVar("Item")


class Page(NamedTuple):
    """A part of all items, and the key that the next part begins after, if there is one."""

    start: int
    stop: int
    following: str | None


def page_after(
    items: Sequence[Item], head_of: Callable[[Item], RevisionInfo], after: str | None
) -> Page:
    """Return the part of the items, newest first, after the one of a revision with a key.

    ``head_of`` tells the revision of an item. Without a key it is the first part. Raises
    RevisionNotFound for a key that none of them has, or behind which none stands.
    """
    start = 0
    if after is not None:
        keys = [head_of(item).key for item in items]
        if after not in keys:
            raise RevisionNotFound(after, "no entry of this feed is that of such a revision")
        start = keys.index(after) + 1
        if start == len(items):
            raise RevisionNotFound(
                after, "no entry of this feed stands behind that of this revision"
            )
    stop = min(start + PAGE, len(items))
    return Page(start, stop, head_of(items[stop - 1]).key if stop < len(items) else None)
