"""All there is to say of a package in a revision, for people and for programs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from server.terminal.printing import styles
from server.terminal.printing.facets import (
    Counts,
    counts_facts,
    facet_facts,
    facet_labels,
    facets_of,
    with_counts,
)
from server.terminal.printing.labels import labelled
from server.terminal.printing.log_documents import package_entry
from server.terminal.printing.logs import package_line
from snapshots.frames.frame import Frame
from snapshots.models import RevisionInfo, revision_facts
from snapshots.timelines.packages import PackageTimeline
from snapshots.wording import counted, size, title


class ShownPackage(NamedTuple):
    """A package in a revision, and its timeline in the revision's series.

    Values stand with how many of its specs have each: versions newest first, the others as often
    as they are had.
    """

    name: str
    revision: RevisionInfo
    num_specs: int
    total_size: int | None
    versions: Counts
    stacks: Counts
    facets: dict[str, Counts]
    timeline: PackageTimeline


def shown_package(revision: RevisionInfo, frame: Frame, timeline: PackageTimeline) -> ShownPackage:
    """Return what is shown of the package of a timeline, which the revision need not have."""
    rows = frame.rows_of(timeline.name) or slice(0, 0)
    return ShownPackage(
        name=timeline.name,
        revision=revision,
        num_specs=rows.stop - rows.start,
        total_size=frame.size.total(rows),
        versions=frame.version.counts(rows)[::-1],
        stacks=frame.facet("stacks", rows),
        facets=facets_of(frame, rows),
        timeline=timeline,
    )


def package_lines(shown: ShownPackage, width: int | None) -> Iterator[str]:
    """Yield the lines for people."""
    timeline, newest = shown.timeline, shown.timeline.entries[0]
    yield styles.name(f"{shown.name} in {title(shown.revision)}")
    holds = counted(shown.num_specs, "spec")
    if shown.total_size is not None:
        holds += f", {size(shown.total_size)}"
    yield from labelled(
        [
            ("Holds", holds),
            ("Versions", with_counts(shown.versions)),
            ("Stacks", with_counts(shown.stacks)),
            *facet_labels(shown.facets),
            ("Series", timeline.series),
            ("First seen", title(timeline.first_seen)),
            ("Last seen", title(timeline.last_seen)),
            ("Last change", f"{title(newest.head)}: {package_line(newest)}"),
            ("Changes", f"{counted(len(timeline.entries), 'revision')} touched it"),
        ],
        width,
    )


def package_document(shown: ShownPackage) -> dict[str, Any]:
    """Return the same for programs."""
    timeline = shown.timeline
    return {
        "revision": revision_facts(shown.revision),
        "package": shown.name,
        "num_specs": shown.num_specs,
        "total_size": shown.total_size,
        "versions": counts_facts(shown.versions),
        "stacks": counts_facts(shown.stacks) if shown.stacks or not shown.num_specs else None,
        **facet_facts(shown.facets),
        "series": timeline.series,
        "first_seen": revision_facts(timeline.first_seen),
        "last_seen": revision_facts(timeline.last_seen),
        "num_entries": len(timeline.entries),
        "last_change": package_entry(timeline.entries[0]),
    }
