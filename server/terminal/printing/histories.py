"""What became of a series, a package or a hash, revision by revision, as ``git log`` has it.

docs/history.md describes the documents for programs.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from itertools import islice
from typing import Any, TypeVar

import msgspec

from server.terminal.catalogs import OpenedCatalog, default_series
from server.terminal.printing import styles
from server.terminal.printing.comparisons import SIGNS
from server.terminal.printing.layout import wrapped
from server.terminal.printing.listings import plain, source_text
from snapshots.catalog.asking.library import Library
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.kept_changes import PackageCounts
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import Neighbours, Pair, age
from snapshots.models import RevisionInfo, revision_facts
from snapshots.refs import title
from snapshots.timelines.growth import Counts, GrowthPoint, with_returned
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span
from snapshots.wording import counted, in_words, minute, short_digest, versioned

Entry = TypeVar("Entry", GrowthPoint, PackageEntry, "HashEvent")

_INDENT = " " * 4
_WIDEST_BAR = 40
_NARROWEST_BAR = 10

MOST_CHANGED = 10
"""So many packages are named in an entry of a series."""

_AT_FIRST, _AT_ONCE = 24, 64
"""Packages are read of so many entries at once; the first are to be seen soon."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries are shown: of a tag, from a moment on, so many; None for all."""

    tag: str | None
    since: datetime | None
    limit: int | None

    def of(
        self, entries: Iterable[Entry], revision: Callable[[Entry], RevisionInfo]
    ) -> Iterator[Entry]:
        """Yield the selected entries; ``revision`` returns the revision of one."""
        selected = (
            entry
            for entry in entries
            if self.tag in (None, revision(entry).tag)
            and (self.since is None or revision(entry).taken_at >= self.since)
        )
        return islice(selected, self.limit)


def log_of(
    opened: OpenedCatalog, subject: str | None, series: str | None, selection: Selection
) -> "SeriesLog | PackageLog | HashLog":
    """Return the log of a series, or in it of a package, or of the hash after a slash.

    ``series`` is by default that of the newest revision; of a hash it is all.
    """
    if subject is not None and subject.startswith("/"):
        past = opened.hash_history(subject)
        spans = [span for span in past.spans if series in (None, span.series)]
        return HashLog(past, spans, selection)
    series = series or default_series(opened.history)
    if subject is None:
        opened = opened.complete(series)
        points = opened.library.growth(opened.history, series)
        return SeriesLog(opened, series, points, selection)
    timeline = opened.package_timeline(subject, series)
    return PackageLog(timeline, len(opened.history.of_series(series)), selection)


# -- a series


class SeriesEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a revision did to its series, from the one before it; None where that was nothing.

    ``reasons`` counts specs, those that returned apart from new ones. ``most_changed`` are
    the packages with most changed specs, ``packages_touched`` how many changed at all.
    """

    revision: RevisionInfo
    base: RevisionInfo | None
    specs_added: int
    specs_removed: int
    specs_changed: int
    reasons: Mapping[SpecChangeReason, int]
    packages_touched: int
    most_changed: Sequence[PackageCounts]

    def lines(self, width: int | None) -> list[str]:
        """Return totals by reason, and the packages that changed most."""
        counts = self.specs_added, self.specs_removed, self.specs_changed
        lines = [*_head(self.revision, width), "", *_count_lines(counts, self.reasons, width)]
        if self.most_changed:
            lines += ["", *_bars(self.most_changed, width)]
        if more := self.packages_touched - len(self.most_changed):
            lines.append(f" and {counted(more, 'more package')}")
        return lines


class SeriesLog(msgspec.Struct, frozen=True):
    """The log of a series."""

    opened: OpenedCatalog
    series: str
    points: Sequence[GrowthPoint]
    selection: Selection

    def _selected(self) -> Iterator[GrowthPoint]:
        return self.selection.of(reversed(self.points), lambda point: point.revision)

    def _entries(self) -> Iterator[SeriesEntry]:
        """Yield the entries as they are asked for, in their order.

        Raises CatalogError where what is kept of them cannot be read.
        """
        library, history = self.opened.library, self.opened.history
        points = self._selected()
        # What returned takes reading all that was removed: once for the first, once for the rest.
        for batch in (list(islice(points, _AT_FIRST)), list(points)):
            returned = library.count_returned(history, self.series, map(_pair, batch))
            for start in range(0, len(batch), _AT_ONCE):
                yield from _entries(library, batch[start : start + _AT_ONCE], returned)

    def _title(self) -> str:
        return f"{styles.name(self.series)}: {counted(len(self.points), 'revision')}, newest first"

    def short_lines(self, _width: int | None) -> Iterator[str]:
        """Yield a line for each entry."""
        yield self._title()
        for point in self._selected():
            yield _short(
                point.revision, counts_text(point.num_added, point.num_removed, point.num_changed)
            )

    def blocks(self, width: int | None) -> Iterator[Sequence[str]]:
        """Yield the lines of each entry, made as they are asked for."""
        yield [self._title()]
        for entry in self._entries():
            yield entry.lines(width)

    def document(self) -> dict[str, Any]:
        """Return the log for programs."""
        entries = list(map(plain, self._entries()))
        return {"series": self.series, "num_revisions": len(self.points), "entries": entries}


def _pair(point: GrowthPoint) -> Pair:
    return Neighbours(point.base, point.revision).pair


def _entries(
    library: Library, points: Sequence[GrowthPoint], returned: Mapping[RevisionInfo, Counts]
) -> Iterator[SeriesEntry]:
    packages = library.package_counts(map(_pair, points))
    for point in points:
        changed = packages.get(_pair(point), ())
        yield SeriesEntry(
            revision=point.revision,
            base=point.base,
            specs_added=point.num_added,
            specs_removed=point.num_removed,
            specs_changed=point.num_changed,
            reasons=with_returned(point.counts, returned.get(point.revision, {})),
            packages_touched=len(changed),
            most_changed=nlargest(MOST_CHANGED, changed, _weight),
        )


def _weight(package: PackageCounts) -> tuple[int, bool]:
    """Return how much a change says: of equal ones a mere rebuild says less."""
    num_changed = package.specs_added + package.specs_removed + package.specs_changed
    return num_changed, package.kind is not PackageChangeKind.REBUILT


# -- a package


class PackageLog(msgspec.Struct, frozen=True):
    """The log of a package in a series, which has so many revisions."""

    timeline: PackageTimeline
    num_revisions: int
    selection: Selection

    def _selected(self) -> Iterator[PackageEntry]:
        return self.selection.of(self.timeline.entries, lambda entry: entry.head)

    def _title(self, width: int | None) -> list[str]:
        timeline = self.timeline
        total = counted(self.num_revisions, "revision")
        touched = f"{len(timeline.entries):,} of {total} touched it"
        return [
            f"{styles.name(timeline.name)} in {timeline.series}: {touched}",
            *wrapped(f"first seen in {title(timeline.first_seen)}", width),
            *wrapped(f"last seen in {title(timeline.last_seen)}", width),
        ]

    def short_lines(self, width: int | None) -> Iterator[str]:
        """Yield a line for each entry."""
        yield from self._title(width)
        for entry in self._selected():
            yield _short(entry.head, package_line(entry))

    def blocks(self, width: int | None) -> Iterator[Sequence[str]]:
        """Yield the lines of each entry: the kind of change, versions, and counts by reason."""
        yield self._title(width)
        for entry in self._selected():
            counts = entry.num_added, entry.num_removed, entry.num_changed
            yield [
                *_head(entry.head, width),
                "",
                *wrapped(f"{_INDENT}{_package_text(entry)}", width, _INDENT * 2),
                *_count_lines(counts, entry.reasons, width),
            ]

    def document(self) -> dict[str, Any]:
        """Return the log for programs."""
        timeline = self.timeline
        return {
            "series": timeline.series,
            "package": timeline.name,
            "first_seen": revision_facts(timeline.first_seen),
            "last_seen": revision_facts(timeline.last_seen),
            "num_entries": len(timeline.entries),
            "entries": list(map(package_entry_facts, self._selected())),
        }


def package_entry_facts(entry: PackageEntry) -> dict[str, Any]:
    """Return an entry of a package for programs."""
    return {
        "revision": revision_facts(entry.head),
        "base": plain(entry.base),
        "kind": entry.kind.value,
        "versions_added": list(entry.versions_added),
        "versions_removed": list(entry.versions_removed),
        "specs_added": entry.num_added,
        "specs_removed": entry.num_removed,
        "specs_changed": entry.num_changed,
        "reasons": {
            reason.value: entry.reasons[reason] for reason in REASONS if entry.reasons.get(reason)
        },
    }


def _package_text(entry: PackageEntry | PackageCounts) -> str:
    """Return what became of a package: upgraded, +1.3 -1.2."""
    versions = [f"+{version}" for version in entry.versions_added]
    versions += [f"-{version}" for version in entry.versions_removed]
    kind = in_words(entry.kind.value)
    return f"{kind}, {' '.join(versions)}" if versions else kind


def package_line(entry: PackageEntry) -> str:
    """Return an entry of a package in one line."""
    counts = counts_text(entry.num_added, entry.num_removed, entry.num_changed)
    return f"{_package_text(entry)} ({counts})"


# -- a hash


class HashEvent(msgspec.Struct, frozen=True):
    """A revision that a hash came in, or went in; ``kind`` is came or went."""

    revision: RevisionInfo
    series: str
    kind: str
    reason: SpecChangeReason

    def text(self) -> str:
        """Return what happened, and why."""
        sign, style = ("+", styles.added) if self.kind == "came" else ("-", styles.removed)
        return style(f"{sign} {self.kind}: {in_words(self.reason.value)}")


class HashLog(msgspec.Struct, frozen=True):
    """The log of a hash, with some of its spans."""

    past: HashHistory
    spans: Sequence[Span]
    selection: Selection

    def _selected(self) -> Iterator[HashEvent]:
        events = []
        for span in self.spans:
            events.append(HashEvent(span.first, span.series, "came", span.reason_came))
            if span.gone_in is not None and span.reason_gone is not None:
                events.append(HashEvent(span.gone_in, span.series, "went", span.reason_gone))
        newest_first = sorted(events, key=lambda event: age(event.revision), reverse=True)
        return self.selection.of(newest_first, lambda event: event.revision)

    def _title(self, width: int | None) -> list[str]:
        name = styles.name(versioned(self.past.name, self.past.version))
        return [f"{name} {styles.digest(f'/{self.past.hash}')}", *span_lines(self.spans, width)]

    def short_lines(self, width: int | None) -> Iterator[str]:
        """Yield a line for each event."""
        yield from self._title(width)
        for event in self._selected():
            yield _short(event.revision, event.text())

    def blocks(self, width: int | None) -> Iterator[Sequence[str]]:
        """Yield the lines of each event."""
        yield self._title(width)
        for event in self._selected():
            yield [*_head(event.revision, width), "", f"{_INDENT}{event.text()}"]

    def document(self) -> dict[str, Any]:
        """Return the log for programs."""
        return hash_facts(self.past, self.spans) | {"entries": list(map(plain, self._selected()))}


def hash_facts(past: HashHistory, spans: Sequence[Span]) -> dict[str, Any]:
    """Return for programs when a hash was there."""
    return {
        "hash": past.hash,
        "name": past.name,
        "version": past.version,
        "newest": revision_facts(past.newest),
        "spans": list(map(_span_facts, spans)),
    }


def _span_facts(span: Span) -> dict[str, Any]:
    return {
        "series": span.series,
        "first": revision_facts(span.first),
        "last": revision_facts(span.last),
        "is_current": span.is_current,
        "reason_came": span.reason_came.value,
        "reason_gone": plain(span.reason_gone),
        "gone_in": plain(span.gone_in),
    }


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


# -- lines of entries


def _short(revision: RevisionInfo, text: str) -> str:
    """Return an entry in one line."""
    digest = styles.digest(short_digest(revision.digest))
    return f"{digest} {minute(revision.taken_at)} {revision.tag}: {text}"


def counts_text(added: int, removed: int, changed: int) -> str:
    """Return how many specs came, went and changed: +12 -3 =1."""
    parts = zip(SIGNS.values(), (added, removed, changed), strict=True)
    return (
        " ".join(style(f"{sign}{count:,}") for (sign, style), count in parts if count)
        or "unchanged"
    )


def _head(revision: RevisionInfo, width: int | None) -> Iterator[str]:
    source = revision.source
    version = f" ({source.version})" if source.version else ""
    yield styles.digest(f"revision {short_digest(revision.digest)} ({revision.tag})")
    yield f"Date:   {minute(revision.taken_at)}"
    yield from wrapped(f"Source: {source_text(source)}{version}", width, " " * 8)


def _count_lines(
    counts: tuple[int, int, int], reasons: Mapping[SpecChangeReason, int], width: int | None
) -> Iterator[str]:
    """Yield a line for each kind of change that there is, with its reasons."""
    if not any(counts):
        yield f"{_INDENT}nothing changed"
    for kind, count in zip(SpecChangeKind, counts, strict=True):
        sign, style = SIGNS[kind]
        if count:
            text = f"{_INDENT}{sign} {count:,} {kind.value}"
            if kind is not SpecChangeKind.CHANGED and (parts := _counted_reasons(kind, reasons)):
                text += f": {parts}"
            yield from map(style, wrapped(text, width, _INDENT * 2))


def _bars(packages: Sequence[PackageCounts], width: int | None) -> Iterator[str]:
    """Yield a line a package, with a bar as long as its changes are many, and what became of it.

    Where that does not fit beside the shortest bars, it is left out.
    """
    totals = [
        package.specs_added + package.specs_removed + package.specs_changed for package in packages
    ]
    texts = list(map(_headline, packages))
    widest = max(len(package.name) for package in packages)
    digits = max(len(f"{total:,}") for total in totals)
    room = sys.maxsize if width is None else width - widest - digits - len(" " + " | " + " ")
    left = room - max(len(text) + 1 for text in texts)
    has_texts = left >= _NARROWEST_BAR
    longest = min(_WIDEST_BAR, left if has_texts else room)
    scale = min(1.0, longest / max(1, *totals))
    for change, total, text in zip(packages, totals, texts, strict=True):
        after = f" {text}" if has_texts else ""
        name = styles.name(change.name.ljust(widest))
        yield f" {name} | {total:>{digits},} {_bar(change, scale)}{after}"


def _headline(package: PackageCounts) -> str:
    """Return what became of a package; which versions, only where it is there all the time."""
    kind: str = package.kind.value
    is_there_twice = package.kind not in (PackageChangeKind.ADDED, PackageChangeKind.REMOVED)
    return _package_text(package) if is_there_twice else kind


def _bar(change: PackageCounts, scale: float) -> str:
    """Return a sign for each change, or for several of them; the smallest part has one, too."""
    counts = change.specs_added, change.specs_removed, change.specs_changed
    parts = zip(SIGNS.values(), counts, strict=True)
    return "".join(
        style(sign * max(1, int(count * scale))) for (sign, style), count in parts if count
    )


_COUNTED: dict[SpecChangeReason, tuple[str, str]] = {
    SpecChangeReason.REBUILT: ("rebuilt", "rebuilt"),
    SpecChangeReason.REPLACES: ("replacing another", "replacing others"),
    SpecChangeReason.RETURNED: ("returned", "returned"),
    SpecChangeReason.NEW_PACKAGE: ("of a new package", "of new packages"),
    SpecChangeReason.NEW_STACK: ("of a new stack", "of new stacks"),
    SpecChangeReason.NEW_VERSION: ("of a new version", "of new versions"),
    SpecChangeReason.NEW_TARGET: ("for a new target", "for new targets"),
    SpecChangeReason.NEW_BUILD: ("more build", "more builds"),
    SpecChangeReason.REPLACED: ("replaced", "replaced"),
    SpecChangeReason.PACKAGE_GONE: ("of a package now gone", "of packages now gone"),
    SpecChangeReason.STACK_GONE: ("of a stack now gone", "of stacks now gone"),
    SpecChangeReason.VERSION_GONE: ("of a version now gone", "of versions now gone"),
    SpecChangeReason.TARGET_GONE: ("for a target now gone", "for targets now gone"),
    SpecChangeReason.BUILD_GONE: ("build less", "builds less"),
    SpecChangeReason.FACTS: ("with other facts", "with other facts"),
}
"""What follows the number of specs that have a reason: of one, and of several."""


def _counted_reasons(kind: SpecChangeKind, reasons: Mapping[SpecChangeReason, int]) -> str:
    """Return the reasons of one kind of change: 605 of new packages, 1 of a new version."""
    return ", ".join(
        f"{reasons[reason]:,} {_COUNTED[reason][reasons[reason] > 1]}"
        for reason in REASONS
        if reasons.get(reason) and _kind_of(reason) is kind
    )


def _kind_of(reason: SpecChangeReason) -> SpecChangeKind:
    if reason is SpecChangeReason.FACTS:
        return SpecChangeKind.CHANGED
    is_gone = reason is SpecChangeReason.REPLACED or reason.value.endswith("_gone")
    return SpecChangeKind.REMOVED if is_gone else SpecChangeKind.ADDED
