"""How numbers, days and revisions are put into words, wherever people read them."""

from datetime import datetime

from snapshots.models import RevisionInfo

_SHORT_DIGEST = 12


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 spec, 2,000 specs."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def day(moment: datetime) -> str:
    """Return the date of a moment: 2025-01-20."""
    return f"{moment:%Y-%m-%d}"


def minute(moment: datetime) -> str:
    """Return the date and time of a moment, to the minute: 2025-01-20 12:30."""
    return f"{moment:%Y-%m-%d %H:%M}"


def short_digest(digest: str) -> str:
    """Return as much of a digest as people need to tell it from others."""
    return digest[:_SHORT_DIGEST]


def title(revision: RevisionInfo) -> str:
    """Return how a revision is called in a sentence: TAG of DAY (DIGEST)."""
    return f"{revision.tag} of {day(revision.taken_at)} ({short_digest(revision.digest)})"
