"""What rebuilt most in a series: the causes of its neighbours, summed up.

docs/history.md describes the document.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

import msgspec

from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import facts_of
from server.terminal.printing import styles
from server.terminal.printing.layout import TableColumn, build_times, number, table, wrapped
from snapshots.models import RevisionInfo
from snapshots.texts import counted, day, short_digest
from snapshots.timelines.causes import SeriesCause, SeriesCauseKey

FORMAT = 1
"""The version of the document."""

_BARS = "·▁▂▃▄▅▆▇█"
_MOST_BARS = 32
"""So many bars stand for the revisions; where these are more, each stands for some."""


class SeriesReport(msgspec.Struct, frozen=True):
    """The causes of a series, what explains most first, of some of its revisions.

    ``shown`` are the first of ``num_causes``; ``revisions`` are those that were looked at, oldest
    first.
    """

    series: str
    since: datetime | None
    until: datetime | None
    by: Sequence[SeriesCauseKey]
    revisions: Sequence[RevisionInfo]
    num_causes: int
    shown: Sequence[SeriesCause]


def report_of(
    opened: OpenedCatalog,
    series: str,
    by: Sequence[SeriesCauseKey],
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
) -> SeriesReport:
    """Return what rebuilt most; raises IncompleteHistory where what is missing cannot be kept."""
    opened = opened.complete(series, causes=True)
    costs = opened.catalog.costs.current
    every = opened.library.past.causes(opened.history, series, by_package=costs is not None)
    causes = every.summed(by, since, until, opened.library.recipes.between, costs)
    revisions = every.revisions(since, until)
    return SeriesReport(series, since, until, by, revisions, len(causes), causes[:limit])


def report_lines(report: SeriesReport, width: int | None) -> Iterator[str]:
    """Yield a line for each cause, with bars through time, the oldest revision first."""
    revisions = report.revisions
    days = sorted({day(revision.taken_at) for revision in revisions})
    span = f" from {days[0]} to {days[-1]}" if days else ""
    text = f"{styles.name(report.series)}: {counted(len(revisions), 'revision')}{span}"
    yield from wrapped(text, width)
    if not report.num_causes:
        by_commit = SeriesCauseKey.COMMIT in report.by
        what = "No commit of the recipes" if by_commit else "Nothing"
        yield f"{what} is known to have rebuilt anything."
        return
    head = ", ".join(key.value for key in report.by) or "causes"
    columns = [
        number("rebuilt", 0, attrgetter("num_specs")),
        *build_times(report.shown, 4),
        number("reached", 2, attrgetter("num_involved")),
        number("revisions", 1, attrgetter("num_revisions")),
        TableColumn("through time", 3, lambda cause: bars(cause, revisions)),
        TableColumn(head, 0, lambda cause: _name(cause, report.by), styles.name),
    ]
    if report.shown:
        yield from table(report.shown, columns, width)
    if more := report.num_causes - len(report.shown):
        yield f"and {more:,} more"


def _name(cause: SeriesCause, by: Sequence[SeriesCauseKey]) -> str:
    commit = cause.commit
    parts = {
        SeriesCauseKey.PACKAGE: cause.package or "all packages",
        SeriesCauseKey.KIND: cause.kind.value.replace("_", " ") if cause.kind else "",
        SeriesCauseKey.COMMIT: f"{short_digest(commit.oid)} {commit.subject}" if commit else "",
    }
    return ", ".join(parts[key] for key in by) or "all causes"


def bars(cause: SeriesCause, revisions: Sequence[RevisionInfo]) -> str:
    """Return a bar for each revision, or for a few: what is explained in all of them."""
    step = max(1, -(-len(revisions) // _MOST_BARS))
    places = {revision: place // step for place, revision in enumerate(revisions)}
    heights = [0] * -(-len(revisions) // step)
    for point in cause.points:
        heights[places[point.revision]] += point.num_specs or min(1, point.num_involved)
    most = max(heights, default=0) or 1
    last = len(_BARS) - 1
    return "".join(_BARS[-(-height * last // most)] for height in heights)


def report_document(report: SeriesReport) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "format": FORMAT,
        **facts_of(report, "series", "since", "until", "by"),
        "num_revisions": len(report.revisions),
        "num_causes": report.num_causes,
        "causes": list(map(_cause_facts, report.shown)),
    }


def _cause_facts(cause: SeriesCause) -> dict[str, Any]:
    commit = facts_of(cause.commit, "oid", "committed_at", "subject", "pull_request")
    points = [
        facts_of(point.revision, "tag", "digest", "taken_at")
        | facts_of(point, "num_specs", "num_involved")
        for point in cause.points
    ]
    return {
        **facts_of(cause, "package", "kind"),
        "commit": cause.commit and commit,
        **facts_of(cause, "num_revisions", "num_specs", "num_involved", "size", "build_cost"),
        "points": points,
    }
