"""What a revision lacks, and what a change would rebuild: as lines of text and as plain values.

docs/questions.md describes the documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog, require_stack
from server.terminal.printing import styles
from server.terminal.printing.checks import find_last_seen
from server.terminal.printing.layout import TableColumn, number, table, wrapped
from snapshots.changes.holes import Hole, Holes
from snapshots.changes.impact import (
    Impact,
    PackageImpact,
    impact,
    largest_impacts,
    rows_above,
    size_label,
)
from snapshots.errors import InvalidArgument
from snapshots.frames.columns import Mask
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import Commit
from snapshots.refs import title
from snapshots.texts import (
    counted,
    nearest_hint,
    nearest_names,
    quoted,
    shortened,
    size,
    versioned,
)
from snapshots.timelines.spans import LastSeen

FORMAT = 1
"""The version of the documents of ``holes`` and ``impact``."""

_MOST_NAMES = 8
_NOT_TOLD = "its source does not tell what specs depend on"


def _unknown_line(graph: DependencyGraph) -> str | None:
    """Return a remark on specs whose dependencies are not known; None where there are none."""
    num_unknown = int(np.count_nonzero(~graph.known))
    if not num_unknown:
        return None
    return f"not known of {counted(num_unknown, 'spec')}: {_NOT_TOLD}"


# -- holes


class FoundHoles(msgspec.Struct, frozen=True):
    """The holes of a revision; None where its source tells no dependencies.

    ``shown`` are the first of them; ``seen`` says where their hashes were last, None where that is
    unknown.
    """

    revision: RevisionInfo
    graph: DependencyGraph
    holes: Holes | None
    shown: Sequence[Hole]
    seen: Mapping[str, LastSeen] | None

    def gone_in(self, hole: Hole) -> RevisionInfo | None:
        """Return the revision that no longer has a hole, after one that had it; None for none."""
        seen = (self.seen or {}).get(hole.hash)
        return None if seen is None else seen.gone_in


def find_holes(opened: OpenedCatalog, ref: str | None, limit: int | None) -> FoundHoles:
    """Return what the specs of a revision lack to be installed from the cache alone."""
    revision = opened.revision(ref)
    graph = opened.library.dependencies.get(revision.digest)
    if graph.num_rows and not graph.is_known:
        return FoundHoles(revision, graph, None, (), None)
    holes = Holes(graph)
    shown = holes[:limit]
    seen = find_last_seen(opened, {hole.hash: hole.name for hole in shown}, revision)
    return FoundHoles(revision, graph, holes, shown, seen)


def holes_lines(found: FoundHoles, width: int | None) -> Iterator[str]:
    """Yield how many specs are whole, and a line for each hole."""
    yield from wrapped(title(found.revision), width)
    holes = found.holes
    if holes is not None:
        num_whole = found.graph.num_rows - holes.num_affected
        whole = f"{num_whole:,} of {counted(found.graph.num_rows, 'spec')} are whole"
        yield f"{whole}, {counted(len(holes), 'hole')}"
    if remark := _unknown_line(found.graph):
        yield from wrapped(remark, width)
    if found.shown:
        columns = [
            number("affects", 0, attrgetter("num_affected")),
            TableColumn("missing", 0, lambda hole: versioned(hole.name, hole.version), styles.name),
            TableColumn("hash", 1, attrgetter("hash"), styles.digest),
            TableColumn("history", 2, lambda hole: _history_text(found, hole)),
        ]
        yield from table(found.shown, columns, width)


def _history_text(found: FoundHoles, hole: Hole) -> str:
    """Return where a hole went, or which revision of another series has it."""
    if found.seen is None:
        return "unknown"
    if (seen := found.seen.get(hole.hash)) is None:
        return "never seen"
    if seen.gone_in is None:
        return f"in {title(seen.revision)}"
    return f"gone in {title(seen.gone_in)}"


def holes_document(found: FoundHoles) -> dict[str, Any]:
    """Return the same for programs."""
    is_known = found.holes is not None
    return {
        "format": FORMAT,
        "revision": found.revision,
        "num_specs": found.graph.num_rows,
        "num_affected": found.holes.num_affected if found.holes is not None else None,
        "num_unknown": int(np.count_nonzero(~found.graph.known)),
        "num_holes": len(found.holes) if found.holes is not None else None,
        "holes": [
            msgspec.structs.asdict(hole) | {"gone_in": found.gone_in(hole)} for hole in found.shown
        ]
        if is_known
        else None,
    }


# -- impact


class Touched(msgspec.Struct, frozen=True):
    """The commits of a repository of recipes from ``base``, left out, to ``head``."""

    repository: str
    base: str
    head: str
    commits: Sequence[Commit]

    @property
    def packages(self) -> list[str]:
        """The packages that the commits touch, by name."""
        return sorted({name for commit in self.commits for name in commit.packages})


class FoundImpact(msgspec.Struct, frozen=True):
    """What would be built again if packages of a revision changed; None where it is not known.

    ``absent`` are packages that commits touch and the revision does not have.
    """

    revision: RevisionInfo
    graph: DependencyGraph
    stack: str | None
    packages: Sequence[str]
    absent: Sequence[str]
    touched: Touched | None
    counts: Impact | None
    num_specs: int


def find_impact(
    opened: OpenedCatalog,
    ref: str | None,
    stack: str | None,
    packages: Sequence[str],
    touched: Touched | None = None,
) -> FoundImpact:
    """Return what would be built again if packages changed, or those that commits touch.

    Raises InvalidArgument for a package that the revision does not have, unless a commit names it,
    and for a stack that it does not have.
    """
    revision, frame, graph, counted_rows = _looked_in(opened, ref, stack)
    known = {*frame.packages, *graph.outside.packages}
    named = [*dict.fromkeys(packages)] if touched is None else touched.packages
    absent = [name for name in named if name not in known]
    if absent and touched is None:
        hint = nearest_hint(nearest_names(absent[0], known))
        reason = f"the revision does not have {quoted(absent[0])}{hint}"
        raise InvalidArgument("PACKAGE", reason)
    present = [name for name in named if name in known]
    is_told = graph.is_known or not graph.num_rows
    counts = None
    if is_told:
        counts = impact(frame, rows_above(frame, graph, present) & counted_rows)
    num_specs = int(np.count_nonzero(counted_rows))
    return FoundImpact(revision, graph, stack, present, absent, touched, counts, num_specs)


def _looked_in(
    opened: OpenedCatalog, ref: str | None, stack: str | None
) -> tuple[RevisionInfo, Frame, DependencyGraph, Mask]:
    """Return a revision with its frame and graph, and a mask over its rows: those that count."""
    revision = opened.revision(ref)
    frame = opened.frame(revision)
    graph = opened.library.dependencies.get(revision.digest)
    if stack is None:
        return revision, frame, graph, np.ones(len(frame), np.bool_)
    require_stack(stack, [frame])
    return revision, frame, graph, frame.in_stack(stack)


def _where(revision: RevisionInfo, stack: str | None) -> str:
    return title(revision) if stack is None else f"the stack {stack} of {title(revision)}"


def impact_lines(found: FoundImpact, width: int | None) -> Iterator[str]:
    """Yield how many specs would be built again, and how many of each stack and target."""
    yield from wrapped(_where(found.revision, found.stack), width)
    if found.touched is not None:
        commits = counted(len(found.touched.commits), "commit")
        touch = counted(len(found.packages) + len(found.absent), "package")
        text = f"{commits} in {found.touched.base}..{found.touched.head} touch {touch}"
        if found.absent:
            text += f", {len(found.absent):,} of them not in this revision"
        yield from wrapped(text, width)
    if remark := _unknown_line(found.graph):
        yield from wrapped(remark, width)
    counts = found.counts
    if counts is None:
        return
    names = ", ".join(found.packages[:_MOST_NAMES])
    if more := len(found.packages) - _MOST_NAMES:
        names += f" and {more:,} more" if more > 0 else ""
    specs = f"{counts.num_specs:,} of {counted(found.num_specs, 'spec')}"
    of_packages = f"of {counted(counts.num_packages, 'package')}"
    text = f"{specs} would be built again, {of_packages}"
    if found.packages:
        text += f", if {styles.name(names)} changed"
    if counts.size is not None:
        text += f": {size(counts.size)}"
    yield from wrapped(text, width)
    for head, items in (("stack", counts.by_stack), ("target", counts.by_target)):
        if items:
            yield from table(items, _of_each(head), width)


def _of_each(head: str) -> Sequence[TableColumn]:
    return [
        number("specs", 0, lambda item: item[1]),
        TableColumn(head, 0, lambda item: shortened(item[0], 60), styles.name),
    ]


def impact_document(found: FoundImpact) -> dict[str, Any]:
    """Return the same for programs; numbers are null where dependencies are not told."""
    counts, touched = found.counts, found.touched
    document: dict[str, Any] = {
        "format": FORMAT,
        "revision": found.revision,
        "stack": found.stack,
        "packages": found.packages,
        "num_specs": None,
        "num_packages": None,
        "num_unknown": int(np.count_nonzero(~found.graph.known)),
        "size": None,
        "size_label": None,
        "by_stack": None,
        "by_target": None,
        "commits": None,
    }
    if counts is not None:
        document |= {
            "num_specs": counts.num_specs,
            "num_packages": counts.num_packages,
            "size": counts.size,
            "size_label": counts.size_label,
            "by_stack": _by_name("stack", counts.by_stack),
            "by_target": _by_name("target", counts.by_target),
        }
    if touched is not None:
        document["commits"] = {
            "repository": touched.repository,
            "base": touched.base,
            "head": touched.head,
            "num_commits": len(touched.commits),
            "absent": found.absent,
        }
    return document


def _by_name(key: str, items: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{key: name, "num_specs": num_specs} for name, num_specs in items]


# -- the largest


class FoundLargest(msgspec.Struct, frozen=True):
    """The packages whose change would build most specs again; None where it is not known."""

    revision: RevisionInfo
    graph: DependencyGraph
    stack: str | None
    packages: Sequence[PackageImpact] | None
    num_specs: int


def find_largest(
    opened: OpenedCatalog, ref: str | None, stack: str | None, most: int
) -> FoundLargest:
    """Return the packages whose change would build most specs of a revision again."""
    revision, frame, graph, rows = _looked_in(opened, ref, stack)
    is_told = graph.is_known or not graph.num_rows
    largest = largest_impacts(frame, graph, rows, most) if is_told else None
    return FoundLargest(revision, graph, stack, largest, int(np.count_nonzero(rows)))


def largest_lines(found: FoundLargest, width: int | None) -> Iterator[str]:
    """Yield a table of the packages."""
    where = _where(found.revision, found.stack)
    yield from wrapped(f"{where}, {counted(found.num_specs, 'spec')}", width)
    if remark := _unknown_line(found.graph):
        yield from wrapped(remark, width)
    if found.packages:
        columns = [
            number("specs", 0, attrgetter("num_specs")),
            TableColumn("if changed", 0, attrgetter("package"), styles.name),
        ]
        yield from table(found.packages, columns, width)


def largest_document(found: FoundLargest) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "format": FORMAT,
        "revision": found.revision,
        "stack": found.stack,
        "num_specs": found.num_specs,
        "top": None
        if found.packages is None
        else [
            {
                "package": package.package,
                "num_specs": package.num_specs,
                "size_label": size_label(package.num_specs),
            }
            for package in found.packages
        ],
    }
