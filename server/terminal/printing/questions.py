"""Questions about one revision: the answers as lines of text and as plain values.

docs/questions.md describes the documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import facts_of, note
from server.terminal.parameters import require_package, require_stack
from server.terminal.printing import styles
from server.terminal.printing.checks import find_last_seen
from server.terminal.printing.layout import TableColumn, number, table, wrapped
from snapshots.changes.cause_names import CauseName
from snapshots.changes.costs import BuildCost
from snapshots.changes.holes import Hole, Holes
from snapshots.changes.impact import (
    Impact,
    PackageImpact,
    impact,
    largest_impacts,
    outcome,
    rows_above,
    size_label,
)
from snapshots.changes.pairings import tells_stacks
from snapshots.changes.sides import Side
from snapshots.changes.twins import TwinGroup, Twins
from snapshots.changes.vocabulary import cause_title, twins_title, without_direction
from snapshots.errors import CatalogError, IncompleteHistory, InvalidArgument
from snapshots.frames.columns import Mask, Rows
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import Commit
from snapshots.refs import series as series_of
from snapshots.refs import title
from snapshots.spack.names import ROOT_STACK
from snapshots.texts import (
    absent_name,
    counted,
    nearest_names,
    short_hash,
    shortened,
    size,
    versioned,
)
from snapshots.timelines.spans import LastSeen

FORMAT = 1
"""The version of the documents of ``holes``, ``twins`` and ``impact``."""

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
        whole = f"{holes.num_whole:,} of {counted(found.graph.num_rows, 'spec')} are whole"
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
    if holes is not None and (more := len(holes) - len(found.shown)):
        yield styles.quiet(f"and {counted(more, 'hole')} more")


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
    holes = found.holes
    return {
        "format": FORMAT,
        "revision": found.revision,
        "num_specs": found.graph.num_rows,
        **facts_of(holes, "num_affected"),
        "num_unknown": int(np.count_nonzero(~found.graph.known)),
        "num_holes": None if holes is None else len(holes),
        "holes": None
        if holes is None
        else [
            msgspec.structs.asdict(hole) | {"gone_in": found.gone_in(hole)} for hole in found.shown
        ],
    }


class TwinsCause(msgspec.Struct, frozen=True):
    """A cause of twins, either way: of how many it is the main one, and in how many involved.

    ``num_stacks`` leaves root out; None where the source tells no stacks.
    """

    name: CauseName
    num_specs: int
    num_involved: int
    num_stacks: int | None

    @property
    def title(self) -> str:
        """The cause in one line."""
        return twins_title(self.name)


class FoundTwins(msgspec.Struct, frozen=True):
    """The twins of a revision among specs of stacks and of a package; all where none are named.

    ``shown`` are the first groups, ``saved`` the rows that would be one with another if the twins
    of each were.
    """

    revision: RevisionInfo
    frame: Frame
    graph: DependencyGraph
    stacks: Sequence[str]
    package: str | None
    num_specs: int
    twins: Twins
    shown: Sequence[TwinGroup]
    saved: Sequence[Rows]
    causes: Sequence[TwinsCause]


def find_twins(
    opened: OpenedCatalog,
    ref: str | None,
    stacks: Sequence[str],
    package: str | None,
    limit: int,
) -> FoundTwins:
    """Return what of a revision is built more than once, and why.

    Raises InvalidArgument for a stack or package that it does not have.
    """
    revision, frame, graph, mask = _looked_in(opened, ref, None)
    for stack in stacks:
        require_stack(stack, frame)
    if stacks:
        mask = np.logical_or.reduce([frame.in_stack(stack) for stack in stacks])
    if package is not None:
        require_package(package, frame)
        mask = mask & frame.package.among([package])[frame.package.codes]
    twins = Twins(Side(frame, graph), mask)
    shown = twins[:limit]
    return FoundTwins(
        revision=revision,
        frame=frame,
        graph=graph,
        stacks=stacks,
        package=package,
        num_specs=int(np.count_nonzero(mask)),
        twins=twins,
        shown=shown,
        saved=twins.saved(shown),
        causes=_causes_either_way(frame, twins),
    )


def _causes_either_way(frame: Frame, twins: Twins) -> list[TwinsCause]:
    """Return the causes of twins, each once for both ways, what explains most first."""
    causes = twins.explanation.causes
    numbers: dict[CauseName, list[int]] = {}
    for cause in range(len(causes)):
        numbers.setdefault(without_direction(causes.name_of(cause)), []).append(cause)
    merged = []
    for name, either_way in numbers.items():
        involved = [causes.rows_of(cause, involved=True) for cause in either_way]
        rows = np.unique(np.concatenate(involved)) if len(either_way) > 1 else involved[0]
        num_specs = sum(map(causes.num_specs, either_way))
        stacks = {stack for stack, _ in frame.stacks.item_counts(rows)} - {ROOT_STACK}
        num_stacks = len(stacks) if tells_stacks(frame) else None
        merged.append(TwinsCause(name, num_specs, len(rows), num_stacks))
    return sorted(
        merged, key=lambda cause: (-cause.num_specs, -cause.num_involved, cause.name.order)
    )


def twins_lines(found: FoundTwins, width: int | None) -> Iterator[str]:
    """Yield how many specs are built again, why, and the first groups."""
    where = title(found.revision)
    if found.stacks:
        where = f"{' and '.join(found.stacks)} of {where}"
    yield from wrapped(where, width)
    twins, frame = found.twins, found.frame
    total = frame.size.total(twins.others)
    again = f"{len(twins.others):,} of {counted(found.num_specs, 'spec')} are built again"
    yield f"{again}{'' if total is None else f': {size(total)}'}"
    if remark := _unknown_line(found.graph):
        yield from wrapped(remark, width)
    if not found.causes:
        return
    columns = [
        number("specs", 0, attrgetter("num_specs")),
        number("reached", 1, attrgetter("num_involved")),
        number("stacks", 2, attrgetter("num_stacks")),
        TableColumn("cause", 0, attrgetter("title"), styles.name),
    ]
    main = [cause for cause in found.causes if cause.num_specs]
    yield from table(main, columns, width)
    if others := len(found.causes) - len(main):
        yield styles.quiet(f"not listed, as no spec's main cause: {counted(others, 'cause')}")
    for group, saved in zip(found.shown, found.saved, strict=True):
        yield from _group_lines(found, group, saved, width)
    if more := len(twins) - len(found.shown):
        yield styles.quiet(f"and {counted(more, 'group')} more")


def _group_lines(
    found: FoundTwins, group: TwinGroup, saved: Rows, width: int | None
) -> Iterator[str]:
    frame = found.frame
    first, *others = group.rows.tolist()
    name = versioned(frame.package.at(first), frame.version.at(first))
    hashes = " / ".join(short_hash(frame.hashes.at(row)) for row in (first, *others[:_MOST_NAMES]))
    if len(others) > _MOST_NAMES:
        hashes += f" and {len(others) - _MOST_NAMES:,} more"
    yield from wrapped(f"{styles.name(name)} {styles.digest(hashes)}", width)
    causes = found.twins.explanation.causes
    names = [without_direction(causes.name_of(number)) for number in found.twins.causes_of(group)]
    titles = [twins_title(cause) for cause in dict.fromkeys(names)]
    text = ", ".join(titles[:_MOST_NAMES])
    if len(titles) > _MOST_NAMES:
        text += f" and {len(titles) - _MOST_NAMES:,} more"
    joined = counted(len(saved), "spec")
    yield from (f"  {line}" for line in wrapped(f"{text}; joined, they save {joined}", width))


def twins_document(found: FoundTwins) -> dict[str, Any]:
    """Return the same for programs."""
    frame, twins = found.frame, found.twins
    return {
        "format": FORMAT,
        **facts_of(found, "revision", "stacks", "package", "num_specs"),
        "num_unknown": int(np.count_nonzero(~found.graph.known)),
        "num_groups": len(twins),
        "saved": _saved_facts(frame, twins.others),
        "causes": [_cause_facts(cause) for cause in found.causes],
        "groups": [
            _group_facts(found, group, rows)
            for group, rows in zip(found.shown, found.saved, strict=True)
        ],
    }


def _saved_facts(frame: Frame, rows: Rows) -> dict[str, Any]:
    return {"num_specs": len(rows), "size": frame.size.total(rows)}


def _cause_facts(cause: TwinsCause) -> dict[str, Any]:
    facts = facts_of(cause, "title", "num_specs", "num_involved", "num_stacks")
    return msgspec.structs.asdict(cause.name) | {"key": cause.name.key} | facts


def _group_facts(found: FoundTwins, group: TwinGroup, saved: Rows) -> dict[str, Any]:
    frame, causes = found.frame, found.twins.explanation.causes
    rows = group.rows.tolist()
    numbers = found.twins.causes_of(group)
    keys = dict.fromkeys(without_direction(causes.name_of(number)).key for number in numbers)
    return {
        "name": frame.package.at(rows[0]),
        "version": frame.version.at(rows[0]),
        "specs": [frame.hashes.at(row) for row in rows],
        "causes": list(keys),
        "saved": _saved_facts(frame, saved),
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


class LaterChange(msgspec.Struct, frozen=True):
    """What a change of packages came to: the first one after a revision, with its causes."""

    base: RevisionInfo
    revision: RevisionInfo
    causes: Sequence[CauseName]
    num_specs: int


class FoundImpact(msgspec.Struct, frozen=True):
    """What would be built again if packages of a revision changed; None where it is not known.

    ``absent`` are packages that commits touch and the revision does not have. ``later`` is what
    their next change came to; None where none of them changed since, or it is not known.
    """

    revision: RevisionInfo
    graph: DependencyGraph
    stack: str | None
    packages: Sequence[str]
    absent: Sequence[str]
    touched: Touched | None
    counts: Impact | None
    num_specs: int
    later: LaterChange | None


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
        nearest = nearest_names(absent[0], known)
        raise InvalidArgument("PACKAGE", absent_name(absent[0], nearest))
    present = [name for name in named if name in known]
    is_told = graph.is_known or not graph.num_rows
    counts = None
    if is_told:
        counts = impact(
            frame,
            rows_above(frame, graph, present) & counted_rows,
            opened.library.costs_of(revision.digest),
        )
    num_specs = int(np.count_nonzero(counted_rows))
    later = _find_later(opened, revision, stack, present) if is_told else None
    return FoundImpact(revision, graph, stack, present, absent, touched, counts, num_specs, later)


def _find_later(
    opened: OpenedCatalog, revision: RevisionInfo, stack: str | None, packages: Sequence[str]
) -> LaterChange | None:
    """Return what the next change of some packages came to, in a stack or in all."""
    series = series_of(revision.tag)
    try:
        opened = opened.complete(series, causes=True)
        causes = opened.library.past.causes(opened.history, series)
    except (CatalogError, IncompleteHistory) as error:
        note(f"It is unknown what a change came to: {error}")
        return None
    pair = causes.next_in({*packages}, revision)
    if pair is None or pair.base is None:
        return None
    explanation = opened.library.explanations.get((pair.base.content, pair.head.content))
    mask = None if stack is None else explanation.head.frame.in_stack(stack)
    came_to = outcome(explanation, packages, mask)
    names = [explanation.causes.name_of(number) for number in came_to.causes]
    return LaterChange(pair.base, pair.head, names, came_to.num_specs)


def _looked_in(
    opened: OpenedCatalog, ref: str | None, stack: str | None
) -> tuple[RevisionInfo, Frame, DependencyGraph, Mask]:
    """Return a revision with its frame and graph, and a mask over its rows: those that count."""
    revision = opened.revision(ref)
    frame = opened.frame(revision)
    graph = opened.library.dependencies.get(revision.digest)
    if stack is None:
        return revision, frame, graph, np.ones(len(frame), np.bool_)
    require_stack(stack, frame)
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
    text = f"{specs}, {of_packages}, would be built again"
    if found.packages:
        text += f" if {styles.name(names)} changed"
    if counts.size is not None:
        text += f": {size(counts.size)}"
    if counts.build_cost is not None:
        text += f"; building them takes {counts.build_cost}"
    yield from wrapped(text, width)
    if found.later is not None:
        yield from wrapped(_later_text(found.later), width)
    for head, items, costs in (
        ("stack", counts.by_stack or [], counts.stack_costs),
        ("target", counts.by_target, counts.target_costs),
    ):
        if items:
            of_each: Sequence[BuildCost | None] = costs or [None] * len(items)
            rows = [
                (num_specs, name, cost)
                for (name, num_specs), cost in zip(items, of_each, strict=True)
            ]
            yield from table(rows, _of_each(head, bool(costs)), width)


def _later_text(later: LaterChange) -> str:
    titles = [cause_title(name) for name in later.causes]
    causes = ", ".join(titles[:_MOST_NAMES])
    if more := len(titles) - _MOST_NAMES:
        causes += f" and {more:,} more" if more > 0 else ""
    were = "was" if later.num_specs == 1 else "were"
    rebuilt = f"{counted(later.num_specs, 'spec')} {were} built again"
    return f"next change, in {title(later.revision)}: {causes and f'{causes}; '}{rebuilt}"


def _of_each(head: str, has_costs: bool) -> Sequence[TableColumn]:
    return [
        number("specs", 0, lambda item: item[0]),
        *([number("build time", 1, lambda item: str(item[2]))] if has_costs else []),
        TableColumn(head, 0, lambda item: shortened(item[1], 60), styles.name),
    ]


def impact_document(found: FoundImpact) -> dict[str, Any]:
    """Return the same for programs; numbers are null where dependencies are not told."""
    counts, touched = found.counts, found.touched
    commits = None
    if touched is not None:
        commits = facts_of(touched, "repository", "base", "head") | {
            "num_commits": len(touched.commits),
            "absent": found.absent,
        }
    return {
        "format": FORMAT,
        **facts_of(found, "revision", "stack", "packages"),
        **facts_of(counts, "num_specs", "num_packages"),
        "num_unknown": int(np.count_nonzero(~found.graph.known)),
        **facts_of(counts, "size", "size_label", "build_cost"),
        "by_stack": (
            counts and counts.by_stack and _by_name("stack", counts.by_stack, counts.stack_costs)
        ),
        "by_target": counts and _by_name("target", counts.by_target, counts.target_costs),
        "commits": commits,
        "later": found.later
        and facts_of(found.later, "base", "revision", "num_specs")
        | {
            "causes": [
                facts_of(name, "kind", "package", "before", "after", "key")
                | {"title": cause_title(name)}
                for name in found.later.causes
            ]
        },
    }


def _by_name(
    key: str, items: Sequence[tuple[str, int]], costs: Sequence[BuildCost]
) -> list[dict[str, Any]]:
    of_each: Sequence[BuildCost | None] = costs or [None] * len(items)
    return [
        {key: name, "num_specs": num_specs, "build_cost": cost}
        for (name, num_specs), cost in zip(items, of_each, strict=True)
    ]


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
    costs = opened.library.costs_of(revision.digest)
    largest = largest_impacts(frame, graph, rows, most, costs) if is_told else None
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
            *(
                [number("build time", 1, lambda package: str(package.build_cost))]
                if found.packages[0].build_cost is not None
                else []
            ),
            TableColumn("if changed", 0, attrgetter("package"), styles.name),
        ]
        yield from table(found.packages, columns, width)


def largest_document(found: FoundLargest) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "format": FORMAT,
        **facts_of(found, "revision", "stack", "num_specs"),
        "top": None
        if found.packages is None
        else [
            facts_of(package, "package", "num_specs", "build_cost")
            | {"size_label": size_label(package.num_specs)}
            for package in found.packages
        ],
    }
