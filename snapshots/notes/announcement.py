"""What programs are told of a revision that was published: the beginning of its notes, in short."""

from collections.abc import Sequence

import msgspec

from snapshots import refs
from snapshots.history import Neighbours
from snapshots.models import RevisionInfo
from snapshots.notes.atom.phrases import series_summary
from snapshots.notes.document import Changelog
from snapshots.notes.rebuilds import CauseEntry
from snapshots.notes.sentences import Sentence, plain
from snapshots.notes.summary import ExplainedSummary

NUM_CAUSES = 10
"""How many causes are told, those that explain most."""


class AnnouncedCause(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of rebuilds; the fields are those of CauseEntry."""

    kind: str
    package: str
    before: str | None
    after: str | None
    title: str
    num_specs: int
    num_involved: int


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """A revision, what changed from the one before it in its series, and why.

    ``base`` and ``summary`` are None for the first of a series. ``summary`` is also None where a
    content cannot be read. ``num_causes`` says how many there are, ``causes`` has the first ones.
    """

    series: str
    revision: RevisionInfo
    base: RevisionInfo | None
    highlights: str
    summary: ExplainedSummary | None
    causes: Sequence[AnnouncedCause]
    num_causes: int


def announcement(neighbours: Neighbours, log: Changelog | None) -> Announcement:
    """Return what is told of the second of two neighbours.

    ``log`` tells what changed; None where there is nothing to compare with, or no way to.
    """
    base, head = neighbours
    causes = [] if log is None else log.causes
    return Announcement(
        series=refs.series(head.tag),
        revision=head,
        base=base,
        highlights=_text(series_summary(neighbours, None) if log is None else log.highlights),
        summary=None if log is None else log.summary,
        causes=[_announced(cause) for cause in causes[:NUM_CAUSES]],
        num_causes=len(causes),
    )


def _announced(cause: CauseEntry) -> AnnouncedCause:
    return AnnouncedCause(
        **{name: getattr(cause, name) for name in AnnouncedCause.__struct_fields__}
    )


def _text(sentences: Sequence[Sentence]) -> str:
    return " ".join(map(plain, sentences))
