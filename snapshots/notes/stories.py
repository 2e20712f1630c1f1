"""Which stories feeds tell, and each as a text that is kept, so that it need not be made for them.

What changed between two contents is the same for ever, so its story is, too. Only whether the data
is made up is told by where it was read. Nothing here needs what stories are made with.
"""

import re

import msgspec

from snapshots.history import History, Neighbours, Pair

NUM_TOLD = 5
"""Of how many of the newest revisions a feed tells the story; of the others it has numbers."""

FORMAT = 4
"""The version of stories; it rises where one says something else, or in other words."""

# The elements of stories, which have no attributes: a text with others is not ours.
_HTML = re.compile(r"(?:[^<>]++|</?(?:p|em|h3|ul|li|code)>)*+")


class KeptStory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The story of two contents, as the column ``story`` of the table ``comparisons`` keeps it.

    ``format`` is ``FORMAT`` as it was, and ``synthetic`` tells whether the story says that the data
    is made up; ``html`` is a piece of HTML.
    """

    format: int
    synthetic: bool
    html: str


def told_in(history: History, series: str) -> list[Neighbours]:
    """Return the neighbours whose stories the feed of a series tells, newest first."""
    newest = history.neighbours(series)[::-1][:NUM_TOLD]
    return [
        neighbours
        for neighbours in newest
        if neighbours.base is not None and neighbours.pair.base != neighbours.pair.head
    ]


def told_in_any(history: History) -> dict[Pair, Neighbours]:
    """Return those of the feeds of all series, by their pairs."""
    return {
        neighbours.pair: neighbours
        for name in history.series_names
        for neighbours in told_in(history, name)
    }


def to_text(neighbours: Neighbours, html: str) -> str:
    """Return the story of two neighbours as the text that is kept: KeptStory in JSON."""
    kept = KeptStory(format=FORMAT, synthetic=_is_synthetic(neighbours), html=html)
    return msgspec.json.encode(kept).decode()


def from_text(neighbours: Neighbours, text: bytes | None) -> str | None:
    """Return the story of two neighbours that was kept; None where it has to be made.

    So it is where none was kept, or by another version, or for other sources, and where the text is
    none that ``to_text`` returns. It is in UTF-8, if it is a text at all.
    """
    if text is None:
        return None
    try:
        kept = msgspec.json.decode(text, type=KeptStory)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    is_ours = (kept.format, kept.synthetic) == (FORMAT, _is_synthetic(neighbours))
    return kept.html if is_ours and _HTML.fullmatch(kept.html) else None


def _is_synthetic(neighbours: Neighbours) -> bool:
    return any(revision.source.synthetic for revision in neighbours if revision is not None)
