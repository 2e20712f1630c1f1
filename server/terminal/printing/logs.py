"""What became of a series, a package or a hash, revision by revision, as ``git log`` has it."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from server.terminal.printing import styles
from server.terminal.printing.differences import SIGNS
from server.terminal.printing.layout import wrapped
from server.terminal.printing.reasons import counted_reasons
from server.terminal.printing.revisions import source_text
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.kept_changes import PackageCounts
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.history import age
from snapshots.models import RevisionInfo
from snapshots.refs import title
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span
from snapshots.wording import counted, in_words, minute, short_digest, versioned

_INDENT = " " * 4
_WIDEST_BAR = 40
_NARROWEST_BAR = 10

MOST_CHANGED = 10
"""So many packages are named in an entry of a series."""

Reasons = Mapping[SpecChangeReason, int]


class SeriesEntry(NamedTuple):
    """What a revision did to its series, from the one before it; None where that was nothing.

    ``reasons`` counts specs, those that came back told apart from new ones. ``most_changed`` are
    the packages with most changed specs, ``num_packages`` how many changed at all.
    """

    base: RevisionInfo | None
    head: RevisionInfo
    num_added: int
    num_removed: int
    num_changed: int
    reasons: Reasons
    most_changed: Sequence[PackageCounts]
    num_packages: int


class HashEvent(NamedTuple):
    """A revision that a hash came in, or that it was gone in."""

    head: RevisionInfo
    series: str
    has_come: bool
    reason: SpecChangeReason


def events_of(spans: Iterable[Span]) -> list[HashEvent]:
    """Return what happened to a hash, newest first."""
    events = []
    for span in spans:
        events.append(HashEvent(span.first, span.series, has_come=True, reason=span.reason_came))
        if span.gone_in is not None and span.reason_gone is not None:
            gone = HashEvent(span.gone_in, span.series, has_come=False, reason=span.reason_gone)
            events.append(gone)
    return sorted(events, key=lambda event: age(event.head), reverse=True)


# -- titles


def series_title(series: str, num_revisions: int) -> str:
    """Return what is told of a series."""
    return f"{styles.name(series)}: {counted(num_revisions, 'revision')}, newest first"


def package_title(timeline: PackageTimeline, num_revisions: int, width: int | None) -> list[str]:
    """Return what is told of a package in a series."""
    touched = f"{len(timeline.entries):,} of {counted(num_revisions, 'revision')} touched it"
    return [
        f"{styles.name(timeline.name)} in {timeline.series}: {touched}",
        *wrapped(f"first seen in {title(timeline.first_seen)}", width),
        *wrapped(f"last seen in {title(timeline.last_seen)}", width),
    ]


def hash_title(known: HashHistory, spans: Sequence[Span], width: int | None) -> list[str]:
    """Return what is told of a hash: its package and version, and when it was there."""
    name = styles.name(versioned(known.name, known.version))
    return [f"{name} {styles.digest(f'/{known.hash}')}", *span_lines(spans, width)]


def span_lines(spans: Iterable[Span], width: int | None) -> Iterator[str]:
    """Yield when a hash was there, why it came, and why it went."""
    for span in spans:
        revisions = title(span.first)
        if span.first != span.last:
            revisions += f" to {title(span.last)}"
        end = "still there"
        if span.gone_in is not None and span.reason_gone is not None:
            end = f"gone in {title(span.gone_in)} ({in_words(span.reason_gone.value)})"
        text = f"{span.series}: {revisions}: {in_words(span.reason_came.value)}; {end}"
        yield from wrapped(text, width)


# -- entries


def series_entry(entry: SeriesEntry, width: int | None) -> list[str]:
    """Return the lines of an entry: totals by reason, and the packages that changed most."""
    counts = entry.num_added, entry.num_removed, entry.num_changed
    lines = [*_head(entry.head, width), "", *_count_lines(counts, entry.reasons, width)]
    if entry.most_changed:
        lines += ["", *_bars(entry.most_changed, width)]
    more = entry.num_packages - len(entry.most_changed)
    if more:
        lines.append(f" and {counted(more, 'more package')}")
    return lines


def package_entry(entry: PackageEntry, width: int | None) -> list[str]:
    """Return the lines of an entry: the kind of change, versions, and counts by reason."""
    counts = entry.num_added, entry.num_removed, entry.num_changed
    return [
        *_head(entry.head, width),
        "",
        *wrapped(f"{_INDENT}{package_text(entry)}", width, _INDENT * 2),
        *_count_lines(counts, entry.reasons, width),
    ]


def hash_entry(event: HashEvent, width: int | None) -> list[str]:
    """Return the lines of an entry: that the hash came or went, and why."""
    return [*_head(event.head, width), "", f"{_INDENT}{event_text(event)}"]


def package_text(entry: PackageEntry | PackageCounts) -> str:
    """Return what became of a package: upgraded, +1.3 -1.2."""
    versions = [f"+{it}" for it in entry.versions_added]
    versions += [f"-{it}" for it in entry.versions_removed]
    kind = in_words(entry.kind.value)
    return f"{kind}, {' '.join(versions)}" if versions else kind


def package_line(entry: PackageEntry) -> str:
    """Return an entry of a package in one line."""
    counts = counts_text(entry.num_added, entry.num_removed, entry.num_changed)
    return f"{package_text(entry)} ({counts})"


def point_text(point: GrowthPoint) -> str:
    """Return an entry of a series in one line."""
    return counts_text(point.num_added, point.num_removed, point.num_changed)


def event_text(event: HashEvent) -> str:
    """Return that a hash came or went, and why."""
    if event.has_come:
        return styles.added(f"+ came: {in_words(event.reason.value)}")
    return styles.removed(f"- went: {in_words(event.reason.value)}")


def oneline(head: RevisionInfo, text: str) -> str:
    """Return an entry that takes one line."""
    return f"{styles.digest(short_digest(head.digest))} {minute(head.taken_at)} {head.tag}: {text}"


def counts_text(added: int, removed: int, changed: int) -> str:
    """Return how many specs came, went and changed: +12 -3 =1."""
    parts = zip(SIGNS.values(), (added, removed, changed), strict=True)
    return (
        " ".join(style(f"{sign}{count:,}") for (sign, style), count in parts if count)
        or "unchanged"
    )


def _head(revision: RevisionInfo, width: int | None) -> Iterator[str]:
    source = revision.source
    read = f"Source: {source_text(source)}"
    if source.version:
        read += f" ({source.version})"
    yield styles.digest(f"revision {short_digest(revision.digest)} ({revision.tag})")
    yield f"Date:   {minute(revision.taken_at)}"
    yield from wrapped(read, width, " " * 8)


def _count_lines(
    counts: tuple[int, int, int], reasons: Reasons, width: int | None
) -> Iterator[str]:
    """Yield a line for each kind of change that there is, with its reasons."""
    if not any(counts):
        yield f"{_INDENT}nothing changed"
    for kind, count in zip(SpecChangeKind, counts, strict=True):
        sign, style = SIGNS[kind]
        if count:
            text = f"{_INDENT}{sign} {count:,} {kind.value}"
            if kind is not SpecChangeKind.CHANGED and (told := counted_reasons(kind, reasons)):
                text += f": {told}"
            yield from map(style, wrapped(text, width, _INDENT * 2))


def _bars(packages: Sequence[PackageCounts], width: int | None) -> Iterator[str]:
    """Yield a line a package, with a bar as long as its changes are many, and what became of it.

    Where that does not fit beside the shortest bars, it is left out.
    """
    totals = [it.specs_added + it.specs_removed + it.specs_changed for it in packages]
    texts = list(map(_headline, packages))
    widest = max(len(it.name) for it in packages)
    digits = max(len(f"{total:,}") for total in totals)
    room = sys.maxsize if width is None else width - widest - digits - len(" " + " | " + " ")
    beside = room - max(len(text) + 1 for text in texts)
    longest = min(_WIDEST_BAR, beside if beside >= _NARROWEST_BAR else room)
    scale = min(1.0, longest / max(1, *totals))
    for change, total, text in zip(packages, totals, texts, strict=True):
        told = f" {text}" if beside >= _NARROWEST_BAR else ""
        name = styles.name(change.name.ljust(widest))
        yield f" {name} | {total:>{digits},} {_bar(change, scale)}{told}"


def _headline(package: PackageCounts) -> str:
    """Return what became of a package; which versions, only where it is there all the time."""
    kind: str = package.kind.value
    is_there_twice = package.kind not in (PackageChangeKind.ADDED, PackageChangeKind.REMOVED)
    return package_text(package) if is_there_twice else kind


def _bar(change: PackageCounts, scale: float) -> str:
    """Return a sign for each change, or for several of them; the smallest part has one, too."""
    counts = change.specs_added, change.specs_removed, change.specs_changed
    parts = zip(SIGNS.values(), counts, strict=True)
    return "".join(
        style(sign * max(1, int(count * scale))) for (sign, style), count in parts if count
    )
