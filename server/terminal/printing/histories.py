"""The history of a series, a package or a hash, in the style of ``git log``; and of causes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from itertools import islice
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog
from server.terminal.documents import print_answer
from server.terminal.printing import text
from server.terminal.printing.comparisons import (
    PAIRED,
    CatalogComparison,
    cause_columns,
    commit_lines,
)
from server.terminal.printing.text import SIGNS, TableColumn, number, table
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import PackageCounts, PairCounts
from snapshots.changes.vocabulary import PACKAGE_KINDS, cause_title, counted_reasons
from snapshots.history import Neighbours, age
from snapshots.models import RevisionInfo
from snapshots.refs import title
from snapshots.side_comparisons import SideComparison
from snapshots.texts import counted, day, few, in_words, minute, short_digest, versioned
from snapshots.timelines.causes import SeriesCause, SeriesCauseKey
from snapshots.timelines.growth import GrowthPoint, with_returned
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span

_INDENT = " " * 4

MAX_CHANGED = 10
"""Maximum number of packages listed in an entry of a series."""

_MAX_CHECKSUMS = 5
_AT_FIRST = 24
"""Number of entries that are read first, so that they are printed soon; then all others."""

SpecCounts: TypeAlias = PackageCounts | PackageEntry | PairCounts
"""Records with the numbers of specs that were added, removed and changed."""


class LogEntry(msgspec.Struct, frozen=True):
    """The changes of a revision: in one line, and in several."""

    revision: RevisionInfo
    text: str
    lines: Sequence[str]


class Log(msgspec.Struct, frozen=True):
    """A log of a series, a package or a hash, and the document that asks for it.

    Entries are created as they are read.
    """

    document: str
    variables: Mapping[str, Any]
    title: Sequence[str]
    entries: Iterator[LogEntry]

    def short_lines(self) -> Iterator[str]:
        """Yield one line per entry."""
        yield from self.title
        for entry in self.entries:
            yield f"{text.digest(entry.revision.ref)}: {entry.text}"

    def lines(self) -> Iterator[str]:
        """Yield the lines of each entry, after an empty one."""
        yield from self.title
        for entry in self.entries:
            revision, source = entry.revision, entry.revision.source
            yield from ("", text.digest(f"revision {revision.ref}"))
            facts = [("Date", minute(revision.taken_at)), ("Source", text.source_text(source))]
            yield from (*text.labelled(facts), "", *entry.lines)


def log_of(
    opened: OpenedCatalog,
    subject: str | None,
    series: str | None,
    *,
    tag: str | None,
    since: datetime | None,
    limit: int | None,
) -> Log:
    """Return the log of a series, of a package in it, or of the hash after a slash.

    ``series`` is by default the main one, and for a hash all. The entries are those of a tag, since
    a time, and up to a number; None for all.
    """

    def is_shown(revision: RevisionInfo) -> bool:
        return tag in (None, revision.tag) and (since is None or revision.taken_at >= since)

    if subject is not None and subject.startswith("/"):
        past = opened.hash_history(subject)
        spans = [span for span in past.spans if series in (None, span.series)]
        events = [event for event in _events(spans) if is_shown(event.revision)]
        lines = _hash_title(opened, past, spans)
        return Log("HashLog", {"hash": past.hash}, lines, iter(events[:limit]))
    series = opened.series_or_main(series)
    if subject is None:
        opened = opened.complete(series)
        points = opened.library.history_queries.growth(opened.history, series)
        shown = [point for point in reversed(points) if is_shown(point.revision)]
        variables = {"series": series, "tag": tag, "since": since, "first": limit}
        heading = f"{text.name(series)}: {counted(len(points), 'revision')}, newest first"
        entries = _entries(opened, series, shown[:limit])
        return Log("Log", variables, [heading], entries)
    timeline = opened.package_timeline(subject, series)
    revisions = counted(len(opened.history.of_series(series)), "revision")
    heading = f"{len(timeline.entries):,} of {revisions} changed it"
    changes = [entry for entry in timeline.entries if is_shown(entry.head)]
    return Log(
        "PackageLog",
        {"series": series, "package": subject, "first": limit},
        [
            f"{text.name(subject)} in {series}: {heading}",
            f"first seen in {title(timeline.first_seen)}",
            f"last seen in {title(timeline.last_seen)}",
        ],
        map(_package_entry, changes[:limit]),
    )


# -- a series


def _entries(
    opened: OpenedCatalog, series: str, points: Sequence[GrowthPoint]
) -> Iterator[LogEntry]:
    """Yield the entries as they are read. Raises CatalogError if stored data is damaged."""
    past = opened.library.history_queries
    for batch in (points[:_AT_FIRST], points[_AT_FIRST:]):
        pairs = [Neighbours(point.base, point.revision).pair for point in batch]
        returned = past.count_returned(opened.history, series, pairs)
        packages = past.package_counts(pairs)
        for pair, point in zip(pairs, batch, strict=True):
            reasons = with_returned(point.counts, returned.get(point.revision, {}))
            lines = [*_count_lines(point.counts, reasons), *_package_lines(packages.get(pair, ()))]
            yield LogEntry(point.revision, counts_text(point.counts), lines)


def _package_lines(packages: Sequence[PackageCounts]) -> Iterator[str]:
    """Yield the packages with most changes."""
    if packages:
        columns = [
            TableColumn("    package", 0, lambda it: f"{_INDENT}{it.name}", text.name),
            TableColumn("change", 1, _package_text),
            TableColumn("specs", 0, counts_text),
        ]
        yield ""
        yield from list(
            table(nlargest(MAX_CHANGED, packages, lambda it: sum(_by_kind(it))), columns)
        )[1:]
    if (more := len(packages) - MAX_CHANGED) > 0:
        yield f"{_INDENT}and {counted(more, 'more package')}"


# -- a package


def _package_entry(entry: PackageEntry) -> LogEntry:
    lines = [f"{_INDENT}{_package_text(entry)}", *_count_lines(entry, entry.reasons)]
    return LogEntry(entry.head, package_line(entry), lines)


def _package_text(entry: PackageEntry | PackageCounts) -> str:
    """Return the change of a package, such as 'upgraded, +1.3 -1.2'."""
    versions = [f"+{version}" for version in entry.versions_added]
    versions += [f"-{version}" for version in entry.versions_removed]
    return ", ".join(filter(None, (PACKAGE_KINDS[entry.kind], " ".join(versions))))


def package_line(entry: PackageEntry) -> str:
    """Return an entry of a package in one line."""
    return f"{_package_text(entry)} ({counts_text(entry)})"


# -- a hash


def _hash_title(opened: OpenedCatalog, past: HashHistory, spans: Sequence[Span]) -> list[str]:
    """Return the name of a hash, its spans, and the checksums of its binaries if it had several."""
    checksums = sorted(opened.library.history_queries.checksums(opened.history, past))
    name = text.name(versioned(past.name, past.version))
    lines = [f"{name} {text.digest(f'/{past.hash}')}", *span_lines(spans)]
    if len(checksums) > 1:
        binaries = f"{len(checksums):,} binaries under this hash"
        lines.append(text.changed(f"{binaries}: {few(checksums, _MAX_CHECKSUMS)}"))
    return lines


def _reason_text(reason: SpecChangeReason | None) -> str:
    return "" if reason is None else in_words(reason.value)


def span_lines(spans: Iterable[Span], indent: str = "") -> Iterator[str]:
    """Yield the spans of a hash, with the reasons why it was added and removed."""
    for span in spans:
        revisions = title(span.first)
        if span.first != span.last:
            revisions += f" to {title(span.last)}"
        end = "still available"
        if span.gone_in is not None:
            why = _reason_text(span.reason_gone)
            end = f"removed in {title(span.gone_in)}{why and f' ({why})'}"
        about = _reason_text(span.reason_came)
        yield f"{indent}{span.series}: {revisions}: {about}; {end}"


def _events(spans: Iterable[Span]) -> Iterator[LogEntry]:
    """Yield an entry for each revision in which a span began or ended, newest first."""
    events: list[tuple[RevisionInfo, SpecChangeReason | None, SpecChangeKind]] = []
    for span in spans:
        events.append((span.first, span.reason_came, SpecChangeKind.ADDED))
        if span.gone_in is not None:
            events.append((span.gone_in, span.reason_gone, SpecChangeKind.REMOVED))
    events.sort(key=lambda event: age(event[0]), reverse=True)
    for revision, why, kind in events:
        sign, style = SIGNS[kind]
        reason = _reason_text(why)
        line = style(f"{sign} {kind.value}{reason and f': {reason}'}")
        yield LogEntry(revision, line, [f"{_INDENT}{line}"])


# -- lines of entries


def _by_kind(counts: SpecCounts) -> tuple[int, int, int]:
    """Return the numbers of specs in the order of SpecChangeKind."""
    return counts.specs_added, counts.specs_removed, counts.specs_changed


def counts_text(counts: SpecCounts) -> str:
    """Return the numbers of specs added, removed and changed, such as '+12 -3 ≠1'."""
    parts = zip(SIGNS.values(), _by_kind(counts), strict=True)
    signed = [style(f"{sign}{count:,}") for (sign, style), count in parts if count]
    return " ".join(signed) or "unchanged"


def _count_lines(counts: SpecCounts, reasons: Mapping[SpecChangeReason, int]) -> Iterator[str]:
    """Yield a line for each kind of change that occurred, with its reasons."""
    if not any(_by_kind(counts)):
        yield f"{_INDENT}nothing changed"
    for kind, count in zip(SpecChangeKind, _by_kind(counts), strict=True):
        sign, style = SIGNS[kind]
        if count:
            what = "with other facts" if kind is SpecChangeKind.CHANGED else kind.value
            parts = "" if kind is SpecChangeKind.CHANGED else counted_reasons(kind, reasons)
            line = f"{_INDENT}{sign} {count:,} {what}{parts and f': {parts}'}"
            yield style(line)


# -- what rebuilt most in a series


def print_causes(
    opened: OpenedCatalog,
    series: str | None,
    by: Sequence[SeriesCauseKey],
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
) -> None:
    """Print the causes of most rebuilds in a series, by default the main one.

    Raises what ``series_or_main`` raises, and IncompleteHistory if changes cannot be stored.
    """
    series = opened.series_or_main(series)
    opened = opened.complete(series, causes=True)
    series_causes = opened.library.history_queries.causes(opened.history, series)
    causes = series_causes.summed(by, since, until, opened.library.recipes.between)
    revisions = series_causes.revisions(since, until)  # oldest first
    head = ", ".join(key.value for key in by)
    columns = cause_columns(lambda cause: _cause_label(cause, by), head)
    columns.insert(2, number("revisions", 1, attrgetter("num_revisions")))

    def lines() -> Iterator[str]:
        days = sorted({day(revision.taken_at) for revision in revisions})
        span = f" from {days[0]} to {days[-1]}" if days else ""
        yield f"{text.name(series)}: {counted(len(revisions), 'revision')}{span}"
        if not causes:
            what = "No commit of the recipes" if SeriesCauseKey.COMMIT in by else "Nothing"
            yield f"{what} is known to have caused a replacement."
        shown = causes[:limit]
        yield from table(shown, columns)
        if more := len(causes) - len(shown):
            yield f"and {more:,} more"

    variables = {"series": series, "since": since, "until": until, "by": by, "first": limit}
    print_answer(opened, "Causes", variables, lines())


def _cause_label(cause: SeriesCause, by: Sequence[SeriesCauseKey]) -> str:
    commit = cause.commit
    parts = {
        SeriesCauseKey.PACKAGE: cause.package or "all packages",
        SeriesCauseKey.KIND: cause.kind.value.replace("_", " ") if cause.kind else "",
        SeriesCauseKey.COMMIT: f"{short_digest(commit.oid)} {commit.subject}" if commit else "",
    }
    return ", ".join(parts[key] for key in by)


# -- the commits of a spec or a package, through time


def blame_lines(
    opened: OpenedCatalog, package: str, series: str, limit: int | None
) -> Iterator[str]:
    """Yield the rebuilds of a package with their commits, newest first, or that there are none.

    Raises what ``OpenedCatalog.package_timeline`` raises.
    """
    rebuilds = _rebuilds(opened, opened.package_timeline(package, series))
    is_any = False
    for revision, comparison, cause in islice(rebuilds, limit):
        is_any = True
        name = cause_title(comparison.explanation.causes.name_of(cause))
        yield f"{text.name(title(revision))}: {name}"
        if comparison.recipes.why_unknown is not None:
            yield f"  {text.quiet(comparison.recipes.why_unknown)}"
        yield from commit_lines(comparison.recipes, cause, "  ", is_whole=True)
    if not is_any:
        yield f"no spec of it replaced another in {series}"


def _rebuilds(
    opened: OpenedCatalog, timeline: PackageTimeline
) -> Iterator[tuple[RevisionInfo, CatalogComparison, int]]:
    """Yield each revision that rebuilt a package with each main cause, that of most specs first."""
    for entry in timeline.entries:
        if entry.base is not None and any(reason in entry.reasons for reason in PAIRED):
            comparison = SideComparison(entry.base, entry.head, opened.library)
            own = comparison.whole.head.rows_of(timeline.name) or slice(0, 0)
            rows = np.arange(own.start, own.stop, dtype=np.int32)
            for count in comparison.explanation.causes.counted(rows):
                if count.num_specs:
                    yield entry.head, comparison, count.number
