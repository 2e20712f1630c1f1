"""Which revisions a site is about."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from snapshots.history import History, Pair
from snapshots.models import RevisionInfo


class Subject(NamedTuple):
    """What a page or an answer is about; all but the series can be left open.

    ``base`` and ``head`` are digests; with a head alone it is about one revision.
    """

    series: str
    head: str = ""
    base: str = ""


class Chosen:
    """The revisions of a site, the newest first, by the names of their series."""

    def __init__(self, history: History, revisions: Mapping[str, Sequence[RevisionInfo]]) -> None:
        self.history = history
        self.revisions = revisions

    @property
    def series(self) -> list[Subject]:
        """Each series."""
        return [Subject(name) for name in self.revisions]

    @property
    def contents(self) -> list[Subject]:
        """Each content, once, though several tags share it."""
        every = [Subject(name, it.digest) for name in self.revisions for it in self.revisions[name]]
        return list({it.head: it for it in reversed(every)}.values())[::-1]

    @property
    def comparisons(self) -> list[Subject]:
        """Each revision beside the one before it in its series, where their contents differ."""
        found: dict[Pair, Subject] = {}
        for name, revisions in self.revisions.items():
            for head in revisions:
                base = self.history.previous(head)
                if base is not None and base.digest != head.digest:
                    pair = Pair(base.digest, head.digest)
                    found.setdefault(pair, Subject(name, pair.head, pair.base))
        return list(found.values())


def choose(
    history: History,
    series: Sequence[str] = (),
    *,
    since: datetime | None = None,
    last: int | None = None,
) -> Chosen:
    """Return the newest revisions of some series, or of all; series without any are left out."""
    found = {}
    for name in dict.fromkeys(series or history.series_names):
        revisions = [it for it in history.of_series(name) if since is None or it.taken_at >= since]
        if revisions[:last]:
            found[name] = revisions[:last]
    return Chosen(history, found)
