"""Holes, twins and impact in one revision, as lines of text and as plain values.

docs/questions.md describes the documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Self

import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import attributes_of, note
from server.terminal.printing import styles
from server.terminal.printing.checks import find_last_seen
from server.terminal.printing.layout import TableColumn, build_times, number, table, wrapped
from server.terminal.printing.listings import place_title
from snapshots.changes import impact
from snapshots.changes.causes import CauseName
from snapshots.changes.holes import Hole, Holes
from snapshots.changes.pairings import states_stacks
from snapshots.changes.sides import Side
from snapshots.changes.twins import TwinGroup, Twins
from snapshots.changes.vocabulary import cause_title, twins_title, without_direction
from snapshots.errors import CatalogError, IncompleteHistory, InvalidArgument
from snapshots.frames.columns import Mask, Rows
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.suggestions import require_names
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import Commit
from snapshots.refs import series as series_of
from snapshots.refs import title
from snapshots.spack.names import ROOT_STACK
from snapshots.texts import (
    absent_name,
    counted,
    few,
    nearest_names,
    short_hash,
    shortened,
    size,
    versioned,
)
from snapshots.timelines.spans import LastSeen

FORMAT = 1
"""The version of the documents of ``holes``, ``twins`` and ``impact``."""

_MAX_NAMES = 8


class Scope(msgspec.Struct, frozen=True):
    """The scope of a query: a revision, or some of its stacks.

    ``mask`` selects the rows of the specs that count.
    """

    revision: RevisionInfo
    frame: Frame
    graph: DependencyGraph
    stacks: Sequence[str]
    mask: Mask

    @classmethod
    def of(cls, opened: OpenedCatalog, ref: str | None, *stacks: str) -> Self:
        """Return the scope that a ref and stacks name. Raises InvalidArgument for unknown ones."""
        revision = opened.revision(ref)
        frame = opened.frame(revision)
        for stack in stacks:
            require_names([frame], stack, sign="--")
        in_any = [frame.in_stack(stack) for stack in stacks] or [np.ones(len(frame), np.bool_)]
        graph = opened.library.dependencies.get(revision.digest)
        return cls(revision, frame, graph, stacks, np.logical_or.reduce(in_any))

    @property
    def stack(self) -> str | None:
        """The first of the stacks; None for the entire revision."""
        return self.stacks[0] if self.stacks else None

    @property
    def title(self) -> str:
        """The title of the revision, or of a stack in it."""
        return place_title(self.revision, self.stack)

    @property
    def num_specs(self) -> int:
        """Number of specs that count."""
        return int(np.count_nonzero(self.mask))

    @property
    def num_unknown(self) -> int:
        """Number of specs of the revision whose dependencies are unknown."""
        return int(np.count_nonzero(~self.graph.known))

    @property
    def has_dependencies(self) -> bool:
        """Whether the dependencies of any spec are known, or there are no specs."""
        return bool(self.graph.is_known or not self.graph.num_rows)

    def unknown_lines(self) -> list[str]:
        """Return a remark on specs with unknown dependencies, if there are any."""
        if not self.num_unknown:
            return []
        specs = counted(self.num_unknown, "spec")
        return wrapped(f"unknown for {specs}: its source does not list dependencies")


# -- holes


class RevisionHoles(msgspec.Struct, frozen=True):
    """The holes of a revision; None if its source does not list dependencies.

    ``shown`` are the first of them. ``seen`` maps hashes to their last occurrence; None if that is
    unknown.
    """

    scope: Scope
    holes: Holes | None
    shown: Sequence[Hole]
    seen: Mapping[str, LastSeen] | None

    def lines(self) -> Iterator[str]:
        """Yield the number of complete specs, and one line per hole."""
        yield from wrapped(self.scope.title)
        holes = self.holes
        if holes is not None:
            specs = counted(self.scope.graph.num_rows, "spec")
            num_holes = counted(len(holes), "hole")
            yield f"{holes.num_whole:,} of {specs} are complete, {num_holes}"
        yield from self.scope.unknown_lines()
        if self.shown:
            columns = [
                number("affects", 0, attrgetter("num_affected")),
                TableColumn(
                    "missing", 0, lambda hole: versioned(hole.name, hole.version), styles.name
                ),
                TableColumn("hash", 1, attrgetter("hash"), styles.digest),
                TableColumn("history", 2, self._history_text),
            ]
            yield from table(self.shown, columns)
        if holes is not None and (more := len(holes) - len(self.shown)):
            yield styles.quiet(f"and {counted(more, 'hole')} more")

    def _history_text(self, hole: Hole) -> str:
        """Return where a hole was removed, or which revision of another series has it."""
        if self.seen is None:
            return "unknown"
        if (seen := self.seen.get(hole.hash)) is None:
            return "never seen"
        if seen.gone_in is None:
            return f"in {title(seen.revision)}"
        return f"removed in {title(seen.gone_in)}"

    def document(self) -> dict[str, Any]:
        """Return the holes in their JSON form."""
        scope, holes, seen = self.scope, self.holes, self.seen or {}
        shown = [
            msgspec.structs.asdict(hole) | attributes_of(seen.get(hole.hash), "gone_in")
            for hole in self.shown
        ]
        return {
            "format": FORMAT,
            "revision": scope.revision,
            "num_specs": scope.graph.num_rows,
            **attributes_of(holes, "num_affected"),
            "num_unknown": scope.num_unknown,
            "num_holes": None if holes is None else len(holes),
            "holes": None if holes is None else shown,
        }


def find_holes(opened: OpenedCatalog, ref: str | None, limit: int | None) -> RevisionHoles:
    """Return the dependencies that a revision lacks to install its specs from the cache."""
    scope = Scope.of(opened, ref)
    if not scope.has_dependencies:
        return RevisionHoles(scope, None, (), None)
    holes = Holes(scope.graph)
    shown = holes[:limit]
    seen = find_last_seen(opened, {hole.hash: hole.name for hole in shown}, scope.revision)
    return RevisionHoles(scope, holes, shown, seen)


# -- twins


class TwinsCause(msgspec.Struct, frozen=True):
    """A cause of twins, in either direction, with the numbers of specs that it explains.

    ``num_specs`` counts specs of which it is the main cause, ``num_involved`` those in which it is
    involved. ``num_stacks`` excludes root; None if the source does not list stacks.
    """

    name: CauseName
    num_specs: int
    num_involved: int
    num_stacks: int | None

    @property
    def title(self) -> str:
        """The cause in one line."""
        return twins_title(self.name)

    def facts(self) -> dict[str, Any]:
        """Return the cause in its JSON form."""
        facts = attributes_of(self, "title", "num_specs", "num_involved", "num_stacks")
        return msgspec.structs.asdict(self.name) | {"key": self.name.key} | facts


class RevisionTwins(msgspec.Struct, frozen=True):
    """The twins of a revision, or of some of its stacks or one package.

    ``shown`` are the first groups. Each comes with the rows that would no longer be built again if
    the specs of the group were one.
    """

    scope: Scope
    package: str | None
    twins: Twins
    shown: Sequence[tuple[TwinGroup, Rows]]
    causes: Sequence[TwinsCause]

    def lines(self) -> Iterator[str]:
        """Yield the number of specs that are built again, the causes, and the first groups."""
        scope, twins = self.scope, self.twins
        of_stacks = f"{' and '.join(scope.stacks)} of " if scope.stacks else ""
        yield from wrapped(f"{of_stacks}{title(scope.revision)}")
        total = scope.frame.size.total(twins.others)
        again = f"{len(twins.others):,} of {counted(scope.num_specs, 'spec')} are additional builds"
        yield f"{again}{'' if total is None else f': {size(total)}'}"
        yield from scope.unknown_lines()
        if not self.causes:
            return
        columns = [
            number("specs", 0, attrgetter("num_specs")),
            number("reached", 1, attrgetter("num_involved")),
            number("stacks", 2, attrgetter("num_stacks")),
            TableColumn("cause", 0, attrgetter("title"), styles.name),
        ]
        main = [cause for cause in self.causes if cause.num_specs]
        yield from table(main, columns)
        if others := len(self.causes) - len(main):
            yield styles.quiet(f"not listed, as no spec's main cause: {counted(others, 'cause')}")
        for group, saved in self.shown:
            yield from self._group_lines(group, saved)
        if more := len(twins) - len(self.shown):
            yield styles.quiet(f"and {counted(more, 'group')} more")

    def _group_lines(self, group: TwinGroup, saved: Rows) -> Iterator[str]:
        frame, rows = self.scope.frame, group.rows.tolist()
        name = versioned(frame.package.at(rows[0]), frame.version.at(rows[0]))
        hashes = few([short_hash(frame.hashes.at(row)) for row in rows], _MAX_NAMES + 1, " / ")
        yield from wrapped(f"{styles.name(name)} {styles.digest(hashes)}")
        titles = few(list(map(twins_title, self._causes_of(group))), _MAX_NAMES)
        text = f"  {titles}; joined, they save {counted(len(saved), 'spec')}"
        yield from wrapped(text, " " * 6)

    def _causes_of(self, group: TwinGroup) -> list[CauseName]:
        """Return the causes of a group, each once for both directions."""
        name_of = self.twins.explanation.causes.name_of
        names = (without_direction(name_of(number)) for number in self.twins.causes_of(group))
        return list(dict.fromkeys(names))

    def document(self) -> dict[str, Any]:
        """Return the twins in their JSON form."""
        scope, frame = self.scope, self.scope.frame
        return {
            "format": FORMAT,
            **attributes_of(scope, "revision", "stacks"),
            "package": self.package,
            **attributes_of(scope, "num_specs", "num_unknown"),
            "num_groups": len(self.twins),
            "saved": _saved_facts(frame, self.twins.others),
            "causes": [cause.facts() for cause in self.causes],
            "groups": [self._group_facts(group, saved) for group, saved in self.shown],
        }

    def _group_facts(self, group: TwinGroup, saved: Rows) -> dict[str, Any]:
        frame, rows = self.scope.frame, group.rows.tolist()
        return {
            "name": frame.package.at(rows[0]),
            "version": frame.version.at(rows[0]),
            "specs": [frame.hashes.at(row) for row in rows],
            "causes": [name.key for name in self._causes_of(group)],
            "saved": _saved_facts(frame, saved),
        }


def _saved_facts(frame: Frame, rows: Rows) -> dict[str, Any]:
    return {"num_specs": len(rows), "size": frame.size.total(rows)}


def find_twins(
    opened: OpenedCatalog, ref: str | None, stacks: Sequence[str], package: str | None, limit: int
) -> RevisionTwins:
    """Return the specs of a revision that are built more than once, and the causes.

    Raises InvalidArgument for a stack or package that the revision does not have.
    """
    scope = Scope.of(opened, ref, *stacks)
    frame = scope.frame
    if package is not None:
        require_names([frame], package=package, sign="--")
        mask = scope.mask & frame.package.among([package])[frame.package.codes]
        scope = msgspec.structs.replace(scope, mask=mask)
    twins = Twins(Side(frame, scope.graph), scope.mask)
    groups = twins[:limit]
    shown = list(zip(groups, twins.saved(groups), strict=True))
    return RevisionTwins(scope, package, twins, shown, _causes_of_both(frame, twins))


def _causes_of_both(frame: Frame, twins: Twins) -> list[TwinsCause]:
    """Return the causes of twins, each once for both directions, the most important first."""
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
        num_stacks = len(stacks) if states_stacks(frame) else None
        merged.append(TwinsCause(name, num_specs, len(rows), num_stacks))
    return sorted(
        merged, key=lambda cause: (-cause.num_specs, -cause.num_involved, cause.name.order)
    )


# -- impact


class CommitRange(msgspec.Struct, frozen=True):
    """The commits of a repository of recipes from ``base`` (exclusive) to ``head``."""

    repository: str
    base: str
    head: str
    commits: Sequence[Commit]

    @property
    def packages(self) -> list[str]:
        """The packages that the commits touch, by name."""
        return sorted({name for commit in self.commits for name in commit.packages})


class LaterChange(msgspec.Struct, frozen=True):
    """The first change of some packages after a revision: its causes and the specs rebuilt."""

    base: RevisionInfo
    revision: RevisionInfo
    causes: Sequence[CauseName]
    num_specs: int

    def text(self) -> str:
        """Return the change in words."""
        causes = few(list(map(cause_title, self.causes)), _MAX_NAMES)
        were = "was" if self.num_specs == 1 else "were"
        rebuilt = f"{counted(self.num_specs, 'spec')} {were} rebuilt"
        return f"next change, in {title(self.revision)}: {causes and f'{causes}; '}{rebuilt}"

    def facts(self) -> dict[str, Any]:
        """Return the change in its JSON form."""
        causes = [
            msgspec.structs.asdict(name) | {"key": name.key, "title": cause_title(name)}
            for name in self.causes
        ]
        return attributes_of(self, "base", "revision", "num_specs") | {"causes": causes}


class PackagesImpact(msgspec.Struct, frozen=True):
    """The specs that would be rebuilt if packages of a revision changed.

    ``counts`` is None if dependencies are unknown. ``absent`` are packages that commits touch and
    the revision does not have. ``later`` is the packages' next change; None if none of them has
    changed since, or it is unknown.
    """

    scope: Scope
    packages: Sequence[str]
    absent: Sequence[str]
    touched: CommitRange | None
    counts: impact.Impact | None
    later: LaterChange | None

    def lines(self) -> Iterator[str]:
        """Yield the number of specs that would be rebuilt, in total and by stack and target."""
        scope, touched, counts = self.scope, self.touched, self.counts
        yield from wrapped(scope.title)
        if touched is not None:
            touch = counted(len(self.packages) + len(self.absent), "package")
            text = f"{counted(len(touched.commits), 'commit')} in {touched.base}..{touched.head}"
            if self.absent:
                touch += f", {len(self.absent):,} of them not in this revision"
            yield from wrapped(f"{text} touch {touch}")
        yield from scope.unknown_lines()
        if counts is None:
            return
        specs = f"{counts.num_specs:,} of {counted(scope.num_specs, 'spec')}"
        of_packages = f"of {counted(counts.num_packages, 'package')}"
        text = f"{specs}, {of_packages}, would be rebuilt"
        if self.packages:
            text += f" if {styles.name(few(self.packages, _MAX_NAMES))} changed"
        if counts.size is not None:
            text += f": {size(counts.size)}"
        if counts.build_cost is not None:
            text += f"; building them takes {counts.build_cost}"
        yield from wrapped(text)
        if self.later is not None:
            yield from wrapped(self.later.text())
        for head, rows in (("stack", counts.by_stack), ("target", counts.by_target)):
            if rows:
                columns = [
                    number("specs", 0, attrgetter("num_specs")),
                    *build_times(rows, 1),
                    TableColumn(head, 0, lambda row: shortened(row.name, 60), styles.name),
                ]
                yield from table(rows, columns)

    def document(self) -> dict[str, Any]:
        """Return the impact in its JSON form; numbers are null if dependencies are unknown."""
        scope, counts, touched = self.scope, self.counts, self.touched
        return {
            "format": FORMAT,
            "revision": scope.revision,
            "stack": scope.stack,
            "packages": self.packages,
            **attributes_of(counts, "num_specs", "num_packages"),
            "num_unknown": scope.num_unknown,
            **attributes_of(counts, "size", "size_label", "build_cost"),
            "by_stack": counts and _part_facts("stack", counts.by_stack),
            "by_target": counts and _part_facts("target", counts.by_target),
            "commits": touched
            and {
                **attributes_of(touched, "repository", "base", "head"),
                "num_commits": len(touched.commits),
                "absent": self.absent,
            },
            "later": self.later and self.later.facts(),
        }


def _part_facts(
    kind: str, parts: Sequence[impact.ImpactPart] | None
) -> list[dict[str, Any]] | None:
    if parts is None:
        return None
    return [{kind: part.name, **attributes_of(part, "num_specs", "build_cost")} for part in parts]


def find_impact(
    opened: OpenedCatalog,
    ref: str | None,
    stack: str | None,
    packages: Sequence[str],
    touched: CommitRange | None = None,
) -> PackagesImpact:
    """Return the impact of a change of packages, or of those that commits touch.

    Raises InvalidArgument for a stack that the revision does not have, and for a package that it
    does not have unless a commit touches it.
    """
    scope = Scope.of(opened, ref, *filter(None, [stack]))
    frame, graph = scope.frame, scope.graph
    known = {*frame.packages, *graph.outside.packages}
    named = [*dict.fromkeys(packages)] if touched is None else touched.packages
    absent = [name for name in named if name not in known]
    if absent and touched is None:
        nearest = nearest_names(absent[0], known)
        raise InvalidArgument("PACKAGE", absent_name(absent[0], nearest))
    present = [name for name in named if name in known]
    counts = later = None
    if scope.has_dependencies:
        rows = impact.rows_above(frame, graph, present) & scope.mask
        counts = impact.impact(frame, rows, opened.library.costs_of(scope.revision))
        later = _find_later(opened, scope, present)
    return PackagesImpact(scope, present, absent, touched, counts, later)


def _find_later(opened: OpenedCatalog, scope: Scope, packages: Sequence[str]) -> LaterChange | None:
    """Return the next change of some packages, in one stack or in all."""
    series = series_of(scope.revision.tag)
    try:
        opened = opened.complete(series, causes=True)
        causes = opened.library.history_queries.causes(opened.history, series)
    except (CatalogError, IncompleteHistory) as error:
        note(f"The effect of a change is unknown: {error}")
        return None
    pair = causes.next_in({*packages}, scope.revision)
    if pair is None or pair.base is None:
        return None
    explanation = opened.library.explanations.get((pair.base.content, pair.head.content))
    mask = None if scope.stack is None else explanation.head.frame.in_stack(scope.stack)
    outcome = impact.outcome(explanation, packages, mask)
    names = [explanation.causes.name_of(number) for number in outcome.causes]
    return LaterChange(pair.base, pair.head, names, outcome.num_specs)


# -- the largest


class LargestImpacts(msgspec.Struct, frozen=True):
    """The packages whose change would rebuild most specs; None if that is unknown."""

    scope: Scope
    packages: Sequence[impact.PackageImpact] | None

    def lines(self) -> Iterator[str]:
        """Yield a table of the packages."""
        scope = self.scope
        yield from wrapped(f"{scope.title}, {counted(scope.num_specs, 'spec')}")
        yield from scope.unknown_lines()
        if self.packages:
            columns = [
                number("specs", 0, attrgetter("num_specs")),
                *build_times(self.packages, 1),
                TableColumn("if changed", 0, attrgetter("package"), styles.name),
            ]
            yield from table(self.packages, columns)

    def document(self) -> dict[str, Any]:
        """Return the packages in their JSON form."""
        top = [
            msgspec.structs.asdict(package) | {"size_label": impact.size_label(package.num_specs)}
            for package in self.packages or ()
        ]
        return {
            "format": FORMAT,
            **attributes_of(self.scope, "revision", "stack", "num_specs"),
            "top": None if self.packages is None else top,
        }


def find_largest(
    opened: OpenedCatalog, ref: str | None, stack: str | None, most: int
) -> LargestImpacts:
    """Return up to ``most`` packages whose change would rebuild most specs of a revision."""
    scope = Scope.of(opened, ref, *filter(None, [stack]))
    if not scope.has_dependencies:
        return LargestImpacts(scope, None)
    costs = opened.library.costs_of(scope.revision)
    return LargestImpacts(
        scope, impact.largest_impacts(scope.frame, scope.graph, scope.mask, most, costs)
    )
