"""How numbers, names, days and revisions are put into words, wherever people read them."""

import re
from collections.abc import Iterable
from datetime import datetime

from snapshots.digests import short_digest
from snapshots.models import RevisionInfo

_SHORT_HASH = 7
_COMMIT = re.compile(r"(git\.[0-9a-f]{7})[0-9a-f]{33}")
_OTHERWISE = {"facts": "other facts"}
"""The reason of a hash that stays; alone, the word is for all that is known of a spec."""

_UNPROVEN = {
    "converted": "converted from an older format",
    "spliced": "spliced",
    "external": "external",
    "format_unknown": "of a format that is not known",
}

_UNITS = ("KiB", "MiB", "GiB", "TiB")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 spec, 2,000 specs."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(num_bytes: int | None) -> str:
    """Return a size in the largest unit that it has at least one of."""
    if num_bytes is None:
        return "unknown"
    if num_bytes < 1024:
        return f"{num_bytes} B"
    amount = num_bytes / 1024
    for unit in _UNITS[:-1]:
        if round(amount, 1) < 1024:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} {_UNITS[-1]}"


def percent(part: int, whole: int) -> str:
    """Return a share in per cent, rounded down: only all of it is 100 %, as is all of nothing."""
    return f"{(1_000 * part // whole if whole else 1_000) / 10:.1f} %"


def proven(num_proven: int | None, unproven: Iterable[tuple[str, int]]) -> str:
    """Return what a revision's hashes were found to be: 221 proven, 2 spliced.

    ``num_proven`` is None where no import computed them anew; ``unproven`` has the reasons why some
    could not be, by the values of ``UnprovenReason``, with how many specs have each.
    """
    if num_proven is None:
        return "not checked"
    others = [f"{count:,} {_UNPROVEN[reason]}" for reason, count in unproven]
    return ", ".join([f"{num_proven:,} proven", *others])


def day(moment: datetime) -> str:
    """Return the date of a moment: 2025-01-20."""
    return f"{moment:%Y-%m-%d}"


def minute(moment: datetime) -> str:
    """Return the date and time of a moment, to the minute: 2025-01-20 12:30."""
    return f"{moment:%Y-%m-%d %H:%M}"


def single_value(fact: object) -> str:
    """Return the single value of a fact: yes or no for what is so or not."""
    return ("no", "yes")[fact] if isinstance(fact, bool) else str(fact)


def short_pair(base: str, head: str) -> str:
    """Return as much of two digests as people need: BASE..HEAD."""
    return f"{short_digest(base)}..{short_digest(head)}"


def short_hash(whole: str) -> str:
    """Return as much of a hash as people need, as Spack shows it."""
    return whole[:_SHORT_HASH]


def in_words(name: str) -> str:
    """Return the name of a fact, a kind or a reason in words: new package, version gone."""
    return _OTHERWISE.get(name) or name.replace("_", " ")


def short_version(whole: str) -> str:
    """Return a version of which people need to see no whole commit: git.2b4cfcd…=1.14.3."""
    return _COMMIT.sub(r"\1…", whole)


def versioned(name: str, version: str | None) -> str:
    """Return how a build of a package is called: NAME@VERSION, or NAME where that is all."""
    return name if version is None else f"{name}@{version}"


def title(revision: RevisionInfo) -> str:
    """Return how a revision is called in a sentence: TAG of DAY (DIGEST)."""
    return f"{revision.tag} of {day(revision.taken_at)} ({short_digest(revision.digest)})"
