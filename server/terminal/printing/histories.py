"""The history of a series, a package or a hash, in the style of ``git log``; causes of rebuilds.

docs/json.md describes the JSON documents.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from heapq import nlargest
from itertools import islice
from operator import attrgetter, itemgetter
from typing import TypeAlias, TypeVar

import msgspec

from server.terminal import console
from server.terminal.catalogs import OpenedCatalog
from server.terminal.documents import Question, print_answer
from server.terminal.printing import styles
from server.terminal.printing.commits import package_rows, rebuild_lines
from server.terminal.printing.comparisons import SIGNS
from server.terminal.printing.layout import TableColumn, number, table, wrapped
from server.terminal.printing.listings import source_text
from snapshots.arrays import Rows
from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import PackageCounts, PairCounts
from snapshots.changes.vocabulary import PACKAGE_KINDS, counted_reasons
from snapshots.frames.frame import Frame
from snapshots.history import History, Neighbours, Pair, age
from snapshots.models import RevisionInfo, Spec
from snapshots.refs import title
from snapshots.side_comparisons import SideComparison
from snapshots.spack.query import in_family_of
from snapshots.texts import counted, day, in_words, minute, short_digest, short_hash, versioned
from snapshots.timelines.availability import CellSpan, nearest_in_cell, nearest_place
from snapshots.timelines.causes import SeriesCause, SeriesCauseKey
from snapshots.timelines.growth import GrowthPoint, with_returned
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span

_INDENT = " " * 4
_WIDEST_BAR = 40
_NARROWEST_BAR = 10

MAX_CHANGED = 10
"""Maximum number of packages listed in an entry of a series."""

_AT_FIRST = 24
"""Number of entries that are read first, so that they are printed soon; then all others."""

Item = TypeVar("Item")
AnySpan = TypeVar("AnySpan", Span, CellSpan)
SpecCounts: TypeAlias = PackageCounts | PackageEntry | PairCounts
"""Records with the numbers of specs that were added, removed and changed."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The entries to show: of a tag, since a time, and up to a number; None for all."""

    tag: str | None
    since: datetime | None
    limit: int | None

    def of(self, items: Iterable[Item], revision: Callable[[Item], RevisionInfo]) -> Iterator[Item]:
        """Yield the selected items; ``revision`` returns the revision of an item."""
        selected = (
            item
            for item in items
            if self.tag in (None, revision(item).tag)
            and (self.since is None or revision(item).taken_at >= self.since)
        )
        return islice(selected, self.limit)


class LogEntry(msgspec.Struct, frozen=True):
    """The changes of a revision since ``base``: in one line, and in several."""

    revision: RevisionInfo
    base: RevisionInfo | None
    text: str
    lines: Sequence[str]


class Log(msgspec.Struct, frozen=True):
    """A log of a series, a package or a hash, and the document that asks for it.

    Entries are created as they are read.
    """

    question: Question
    title: Sequence[str]
    entries: Iterator[LogEntry]

    def short_lines(self) -> Iterator[str]:
        """Yield one line per entry."""
        yield from self.title
        for entry in self.entries:
            yield f"{styles.digest(entry.revision.ref)}: {entry.text}"

    def blocks(self) -> Iterator[Sequence[str]]:
        """Yield the lines of each entry."""
        yield self.title
        for entry in self.entries:
            yield [*_head(entry.revision), "", *entry.lines]


def log_of(
    opened: OpenedCatalog,
    subject: str | None,
    series: str | None,
    selection: Selection,
    *,
    oneline: bool,
    commits: bool,
    cell: Mapping[str, str],
) -> Log:
    """Return the log of a series, of a package in it, or of the hash after a slash.

    ``series`` is by default the main one, and for a hash all. With ``oneline``, only the text of
    each entry is used. With ``commits``, each entry contains the causes of its rebuilds and the
    commits that explain them. With a ``cell``, values by dimension, the log shows when specs of the
    package were in that cell.
    """
    if subject is not None and cell:
        return _cell_log(opened, subject, series, cell, selection)
    rows: Callable[[Frame], Rows] | None = None
    if subject is not None and subject.startswith("/"):
        opened = opened.complete()
        past = opened.hash_history(subject)
        log = _hash_log(past, opened, series, selection)
        rows = partial(_hash_rows, hash_=past.hash)
    elif subject is not None:
        timeline = opened.package_timeline(subject, opened.series_or_main(series))
        log = _package_log(timeline, opened.history, selection)
        rows = partial(package_rows, name=timeline.name)
    else:
        series = opened.series_or_main(series)
        log = _series_log(opened.complete(series), series, selection, oneline=oneline)
    return _with_commits(log, opened, rows) if commits else log


# -- the commits that rebuilt specs


def _with_commits(log: Log, opened: OpenedCatalog, rows_in: Callable[[Frame], Rows] | None) -> Log:
    """Return a log with the commits that explain the rebuilds of its entries.

    ``rows_in`` returns the rows of a frame that count; None for all.
    """

    def entries() -> Iterator[LogEntry]:
        for entry in log.entries:
            lines = []
            if entry.base is not None:
                comparison = SideComparison(entry.base, entry.revision, opened.library)
                rows = rows_in and rows_in(comparison.whole.head)
                lines = list(rebuild_lines(comparison, rows))
            yield msgspec.structs.replace(
                entry,
                lines=[*entry.lines, *([""] if lines else []), *lines],
            )

    return msgspec.structs.replace(log, entries=entries())


def _hash_rows(frame: Frame, hash_: str) -> Rows:
    """Return the row of a hash; an empty array for a revision that lacks it."""
    return frame.hashes.with_prefix(hash_)


# -- a series


def _series_log(opened: OpenedCatalog, series: str, selection: Selection, *, oneline: bool) -> Log:
    points = opened.library.history_queries.growth(opened.history, series)
    selected = selection.of(reversed(points), lambda point: point.revision)
    entries = _short_entries(selected) if oneline else _entries(opened, series, selected)
    variables = {"series": series, **msgspec.structs.asdict(selection)}
    variables["first"] = variables.pop("limit")
    return Log(
        Question("Log", variables),
        [f"{styles.name(series)}: {counted(len(points), 'revision')}, newest first"],
        entries,
    )


def _short_entries(points: Iterable[GrowthPoint]) -> Iterator[LogEntry]:
    for point in points:
        yield LogEntry(point.revision, point.base, counts_text(point.counts), ())


def _entries(
    opened: OpenedCatalog, series: str, points: Iterator[GrowthPoint]
) -> Iterator[LogEntry]:
    """Yield the entries as they are read. Raises CatalogError if stored data is damaged."""
    past = opened.library.history_queries
    for batch in (list(islice(points, _AT_FIRST)), list(points)):
        pairs = list(map(_pair, batch))
        returned = past.count_returned(opened.history, series, pairs)
        packages = past.package_counts(pairs)
        for pair, point in zip(pairs, batch, strict=True):
            reasons = with_returned(point.counts, returned.get(point.revision, {}))
            yield _series_entry(point, reasons, packages.get(pair, ()))


def _pair(point: GrowthPoint) -> Pair:
    return Neighbours(point.base, point.revision).pair


def _series_entry(
    point: GrowthPoint, reasons: Mapping[SpecChangeReason, int], packages: Sequence[PackageCounts]
) -> LogEntry:
    """Return an entry with totals by reason and the packages with most changes."""
    most_changed = nlargest(MAX_CHANGED, packages, _weight)
    lines = list(_count_lines(point.counts, reasons))
    if most_changed:
        lines += ["", *_bars(most_changed)]
    if more := len(packages) - len(most_changed):
        lines.append(f" and {counted(more, 'more package')}")
    return LogEntry(point.revision, point.base, counts_text(point.counts), lines)


def _weight(package: PackageCounts) -> tuple[int, bool]:
    """Return the sort key of a package: the number of changes; a mere rebuild comes last."""
    return sum(_by_kind(package)), package.kind is not PackageChangeKind.BUILDS_CHANGED


# -- a package


def _package_log(timeline: PackageTimeline, history: History, selection: Selection) -> Log:
    revisions = counted(len(history.of_series(timeline.series)), "revision")
    changed = f"{len(timeline.entries):,} of {revisions} changed it"
    variables = {"series": timeline.series, "package": timeline.name, "first": selection.limit}
    return Log(
        Question("PackageLog", variables),
        [
            f"{styles.name(timeline.name)} in {timeline.series}: {changed}",
            *wrapped(f"first seen in {title(timeline.first_seen)}"),
            *wrapped(f"last seen in {title(timeline.last_seen)}"),
        ],
        (
            LogEntry(
                entry.head,
                entry.base,
                package_line(entry),
                [
                    *wrapped(f"{_INDENT}{_package_text(entry)}", _INDENT * 2),
                    *_count_lines(entry, entry.reasons),
                ],
            )
            for entry in selection.of(timeline.entries, lambda entry: entry.head)
        ),
    )


def _package_text(entry: PackageEntry | PackageCounts) -> str:
    """Return the change of a package, such as 'upgraded, +1.3 -1.2'."""
    versions = [f"+{version}" for version in entry.versions_added]
    versions += [f"-{version}" for version in entry.versions_removed]
    kind = PACKAGE_KINDS[entry.kind]
    return f"{kind}, {' '.join(versions)}" if versions else kind


def package_line(entry: PackageEntry) -> str:
    """Return an entry of a package in one line."""
    return f"{_package_text(entry)} ({counts_text(entry)})"


# -- a package for a target, in a stack, of a version


def reasons_text(reasons: Mapping[SpecChangeReason, int]) -> str:
    """Return the reasons for removed specs with their numbers; empty if there are none."""
    parts = [counted_reasons(SpecChangeKind.REMOVED, reasons)]
    if others := reasons.get(SpecChangeReason.FACTS):
        parts.append(f"{others} with other facts")
    return ", ".join(filter(None, parts))


def _cell_log(
    opened: OpenedCatalog,
    name: str,
    series: str | None,
    values: Mapping[str, str],
    selection: Selection,
) -> Log:
    opened, package, cells = opened.package_cells(name)
    cell = {CoverageDimension(dimension): value for dimension, value in values.items()}
    spans = {one.series: cells.spans(one.series, cell) for one in package.in_series}
    nearest: list[tuple[RevisionInfo, Spec]] = []
    if (place := nearest_place(package, spans)) is not None:
        base, head = map(opened.frame, place)
        rows = nearest_in_cell(base, head, name, cell)
        nearest = [(place[1], head.spec(row)) for row in rows.tolist()]
    shown = {one: spans[one] for one in spans if series in (None, one)}
    in_series = [span for several in shown.values() for span in several]
    what = ", ".join(f"{dimension} {value}" for dimension, value in values.items())
    relatives = []
    if not in_series:
        relatives = in_family_of(values.get("target", ""), cells.values(CoverageDimension.TARGET))

    def why(span: CellSpan, *, is_start: bool) -> str:
        return "" if is_start else reasons_text(span.reasons)

    return Log(
        Question("Availability", {"package": name, **values}),
        [
            f"{styles.name(name)}: {what}",
            *_cell_lines(shown, "never for exactly this target" if relatives else "never"),
            *(wrapped(f"others of its family: {', '.join(relatives)}") if relatives else ()),
            *(
                line
                for revision, spec in nearest
                for line in wrapped(
                    f"nearest in {title(revision)}: {spec.short} /{short_hash(spec.hash)}"
                )
            ),
        ],
        _span_entries(in_series, why, opened.history, selection),
    )


def _cell_lines(spans: Mapping[str, Sequence[CellSpan]], never: str) -> Iterator[str]:
    """Yield the spans of a cell in each series, with the reasons why they ended."""
    for series, several in spans.items():
        if not several:
            yield f"{series}: {never}"
        for span in several:
            about = counted(span.num_specs, "spec")
            yield from wrapped(_span_text(series, span, about, reasons_text(span.reasons)))


# -- a hash


def _hash_log(
    past: HashHistory, opened: OpenedCatalog, series: str | None, selection: Selection
) -> Log:
    checksums = sorted(opened.library.history_queries.checksums(opened.history, past))
    spans = [span for span in past.spans if series in (None, span.series)]

    def why(span: Span, *, is_start: bool) -> str:
        return _reason_text(span.reason_came if is_start else span.reason_gone)

    name = styles.name(versioned(past.name, past.version))
    lines = [f"{name} {styles.digest(f'/{past.hash}')}", *span_lines(spans)]
    if len(checksums) > 1:
        lines.append(styles.changed(f"{len(checksums):,} binaries under this hash"))
    return Log(
        Question("HashLog", {"hash": past.hash}),
        lines,
        _span_entries(spans, why, opened.history, selection),
    )


def _reason_text(reason: SpecChangeReason | None) -> str:
    return "" if reason is None else in_words(reason.value)


def span_lines(spans: Iterable[Span], indent: str = "") -> Iterator[str]:
    """Yield the spans of a hash, with the reasons why it was added and removed."""
    for span in spans:
        added, removed = _reason_text(span.reason_came), _reason_text(span.reason_gone)
        yield from wrapped(indent + _span_text(span.series, span, added, removed), indent + _INDENT)


# -- spans of a cell or a hash


def _span_text(series: str, span: Span | CellSpan, about: str, why_gone: str) -> str:
    """Return a span in words: its revisions, ``about``, and the revision and reason of its end."""
    revisions = title(span.first)
    if span.first != span.last:
        revisions += f" to {title(span.last)}"
    end = "still available"
    if span.gone_in is not None:
        end = f"removed in {title(span.gone_in)}{why_gone and f' ({why_gone})'}"
    return f"{series}: {revisions}: {about}; {end}"


def _span_entries(
    spans: Iterable[AnySpan],
    why: Callable[..., str],
    history: History,
    selection: Selection,
) -> Iterator[LogEntry]:
    """Yield an entry for each revision in which a span began or ended, newest first.

    ``why`` returns the reason, if it is known.
    """
    events = [
        (revision, kind, span)
        for span in spans
        for revision, kind in ((span.first, "came"), (span.gone_in, "went"))
        if revision is not None
    ]
    events.sort(key=lambda event: age(event[0]), reverse=True)
    for revision, kind, span in selection.of(events, itemgetter(0)):
        is_new = kind == "came"
        change = SpecChangeKind.ADDED if is_new else SpecChangeKind.REMOVED
        sign, style = SIGNS[change]
        reason = why(span, is_start=is_new)
        text = style(f"{sign} {change.value}{reason and f': {reason}'}")
        yield LogEntry(revision, history.previous(revision), text, [f"{_INDENT}{text}"])


# -- lines of entries


def _by_kind(counts: SpecCounts) -> tuple[int, int, int]:
    """Return the numbers of specs in the order of SpecChangeKind."""
    return counts.specs_added, counts.specs_removed, counts.specs_changed


def counts_text(counts: SpecCounts) -> str:
    """Return the numbers of specs added, removed and changed, such as '+12 -3 ≠1'."""
    parts = zip(SIGNS.values(), _by_kind(counts), strict=True)
    return (
        " ".join(style(f"{sign}{count:,}") for (sign, style), count in parts if count)
        or "unchanged"
    )


def _head(revision: RevisionInfo) -> Iterator[str]:
    source = revision.source
    version = f" ({source.version})" if source.version else ""
    yield styles.digest(f"revision {revision.ref}")
    yield f"Date:   {minute(revision.taken_at)}"
    yield from wrapped(f"Source: {source_text(source)}{version}", " " * 8)


def _count_lines(counts: SpecCounts, reasons: Mapping[SpecChangeReason, int]) -> Iterator[str]:
    """Yield a line for each kind of change that occurred, with its reasons."""
    if not any(_by_kind(counts)):
        yield f"{_INDENT}nothing changed"
    for kind, count in zip(SpecChangeKind, _by_kind(counts), strict=True):
        sign, style = SIGNS[kind]
        if count:
            what = "with other facts" if kind is SpecChangeKind.CHANGED else kind.value
            text = f"{_INDENT}{sign} {count:,} {what}"
            if kind is not SpecChangeKind.CHANGED and (parts := counted_reasons(kind, reasons)):
                text += f": {parts}"
            yield from map(style, wrapped(text, _INDENT * 2))


def _bars(packages: Sequence[PackageCounts]) -> Iterator[str]:
    """Yield one line per package: a bar proportional to its changes, and its change in words.

    The words are omitted if they do not fit beside the shortest bars.
    """
    totals = [sum(_by_kind(package)) for package in packages]
    texts = list(map(_headline, packages))
    widest = max(len(package.name) for package in packages)
    digits = max(len(f"{total:,}") for total in totals)
    width = console.width() or sys.maxsize
    room = width - widest - digits - len(" " + " | " + " ")
    remaining = room - max(len(text) + 1 for text in texts)
    has_texts = remaining >= _NARROWEST_BAR
    longest = min(_WIDEST_BAR, remaining if has_texts else room)
    scale = min(1.0, longest / max(1, *totals))
    for package, total, text in zip(packages, totals, texts, strict=True):
        after = f" {text}" if has_texts else ""
        name = styles.name(package.name.ljust(widest))
        yield f" {name} | {total:>{digits},} {_bar(package, scale)}{after}"


def _headline(package: PackageCounts) -> str:
    """Return the change of a package, with versions only if it was neither added nor removed."""
    if package.kind in (PackageChangeKind.ADDED, PackageChangeKind.REMOVED):
        return PACKAGE_KINDS[package.kind]
    return _package_text(package)


def _bar(package: PackageCounts, scale: float) -> str:
    """Return one sign per change or per several; each kind that occurs has at least one."""
    parts = zip(SIGNS.values(), _by_kind(package), strict=True)
    return "".join(
        style(sign * max(1, int(count * scale))) for (sign, style), count in parts if count
    )


# -- what rebuilt most in a series


_BLOCKS = "·▁▂▃▄▅▆▇█"
_MAX_BLOCKS = 32
"""Maximum number of bars; if there are more revisions, each bar represents several."""


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
    shown, revisions = causes[:limit], series_causes.revisions(since, until)  # oldest first

    def lines() -> Iterator[str]:
        days = sorted({day(revision.taken_at) for revision in revisions})
        span = f" from {days[0]} to {days[-1]}" if days else ""
        yield from wrapped(f"{styles.name(series)}: {counted(len(revisions), 'revision')}{span}")
        if not causes:
            what = "No commit of the recipes" if SeriesCauseKey.COMMIT in by else "Nothing"
            yield f"{what} is known to have caused a replacement."
            return
        head = ", ".join(key.value for key in by) or "causes"
        columns = [
            number("specs", 0, attrgetter("num_specs")),
            number("reached", 2, attrgetter("num_involved")),
            number("revisions", 1, attrgetter("num_revisions")),
            TableColumn("through time", 3, lambda cause: _through_time(cause, revisions)),
            TableColumn(head, 0, lambda cause: _cause_label(cause, by), styles.name),
        ]
        if shown:
            yield from table(shown, columns)
        if more := len(causes) - len(shown):
            yield f"and {more:,} more"

    variables = {"series": series, "since": since, "until": until, "by": by, "first": limit}
    print_answer(opened, Question("Causes", variables), lines())


def _cause_label(cause: SeriesCause, by: Sequence[SeriesCauseKey]) -> str:
    commit = cause.commit
    parts = {
        SeriesCauseKey.PACKAGE: cause.package or "all packages",
        SeriesCauseKey.KIND: cause.kind.value.replace("_", " ") if cause.kind else "",
        SeriesCauseKey.COMMIT: f"{short_digest(commit.oid)} {commit.subject}" if commit else "",
    }
    return ", ".join(parts[key] for key in by) or "all causes"


def _through_time(cause: SeriesCause, revisions: Sequence[RevisionInfo]) -> str:
    """Return one bar per revision, or per several: the number of specs explained in them."""
    step = max(1, -(-len(revisions) // _MAX_BLOCKS))
    places = {revision: place // step for place, revision in enumerate(revisions)}
    heights = [0] * -(-len(revisions) // step)
    for point in cause.points:
        heights[places[point.revision]] += point.num_specs or min(1, point.num_involved)
    most = max(heights, default=0) or 1
    last = len(_BLOCKS) - 1
    return "".join(_BLOCKS[-(-height * last // most)] for height in heights)
