"""The stories of feed entries, in the form in which the catalog stores them.

A story describes the changes between two contents, so it never changes. It also states whether the
data is synthetic, which depends on the source. This module does not import the modules that create
stories.
"""

import re

import msgspec

from snapshots.history import History, Neighbours, Pair

NUM_STORIES = 5
"""Number of newest revisions whose entries have a story; the other entries have numbers."""

FORMAT = 5
"""Version of stories; incremented when their statements or wording change."""

# The elements of stories, which have no attributes. A text with other elements is rejected.
_HTML = re.compile(r"(?:[^<>]++|</?(?:p|em|h3|ul|li|code)>)*+")


class StoredStory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The story of two contents, as stored in the column ``story`` of the table ``comparisons``.

    ``format`` is the value of ``FORMAT`` when the story was stored. ``synthetic`` states whether
    the story describes the data as synthetic. ``html`` is an HTML fragment.
    """

    format: int
    synthetic: bool
    html: str


def neighbours_in_feed(history: History, series: str) -> list[Neighbours]:
    """Return the neighbours whose stories the feed of a series includes, newest first."""
    newest = history.neighbours(series)[::-1][:NUM_STORIES]
    return [
        neighbours
        for neighbours in newest
        if neighbours.base is not None and neighbours.pair.base != neighbours.pair.head
    ]


def neighbours_in_feeds(history: History) -> dict[Pair, Neighbours]:
    """Return the neighbours with stories in the feeds of all series, by pair."""
    return {
        neighbours.pair: neighbours
        for name in history.series_names
        for neighbours in neighbours_in_feed(history, name)
    }


def to_text(neighbours: Neighbours, html: str) -> str:
    """Return the story of two neighbours in the stored form: StoredStory in JSON."""
    stored = StoredStory(format=FORMAT, synthetic=_is_synthetic(neighbours), html=html)
    return msgspec.json.encode(stored).decode()


def from_text(neighbours: Neighbours, text: bytes | None) -> str | None:
    """Return a stored story of two neighbours; None if it has to be created.

    This is the case if none is stored, if another version stored it, if the sources differ in
    whether they are synthetic, or if the text is not valid output of ``to_text``. The text is in
    UTF-8, if it is valid at all.
    """
    if text is None:
        return None
    try:
        stored = msgspec.json.decode(text, type=StoredStory)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    is_ours = (stored.format, stored.synthetic) == (FORMAT, _is_synthetic(neighbours))
    return stored.html if is_ours and _HTML.fullmatch(stored.html) else None


def _is_synthetic(neighbours: Neighbours) -> bool:
    return any(revision.source.synthetic for revision in neighbours if revision is not None)
