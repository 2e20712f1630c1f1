"""Prints holes, twins and impact in one revision, as lines of text or as a JSON document.

docs/questions.md describes the documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Self

import click
import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import note, print_result, prints_json
from server.terminal.documents import Question, print_answer, side_name
from server.terminal.printing import styles
from server.terminal.printing.checks import find_last_seen
from server.terminal.printing.layout import TableColumn, number, table, wrapped
from server.terminal.printing.listings import place_title
from snapshots.arrays import Mask, Rows
from snapshots.changes import impact
from snapshots.changes.causes import CauseName
from snapshots.changes.holes import Hole, Holes
from snapshots.changes.pairings import states_stacks
from snapshots.changes.sides import Side
from snapshots.changes.twins import TwinGroup, Twins
from snapshots.changes.vocabulary import cause_title, twins_title
from snapshots.errors import CatalogError, IncompleteHistory, InvalidArgument
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.suggestions import require_names
from snapshots.models import RevisionInfo, SideInfo, is_revision
from snapshots.recipes.commits import Commit
from snapshots.refs import series as series_of
from snapshots.refs import title
from snapshots.spack.names import ROOT_STACK
from snapshots.texts import (
    absent_name,
    counted,
    few,
    nearest_hint,
    nearest_names,
    short_hash,
    shortened,
    size,
    versioned,
)
from snapshots.timelines.spans import Span

_MAX_NAMES = 8
_MAX_GROUPS = 20
"""Number of twin groups that are printed by default."""


class Scope(msgspec.Struct, frozen=True):
    """The scope of a query: a revision or another side, or some of its stacks.

    ``mask`` selects the rows of the specs that count.
    """

    revision: SideInfo
    frame: Frame
    graph: DependencyGraph
    stacks: Sequence[str]
    mask: Mask

    @classmethod
    def of(cls, opened: OpenedCatalog, revision: SideInfo, *stacks: str) -> Self:
        """Return the scope of a side and stacks. Raises InvalidArgument for unknown stacks."""
        frame = opened.frame(revision)
        for stack in stacks:
            require_names([frame], stack, sign="--")
        in_any = [frame.in_stack(stack) for stack in stacks] or [np.ones(len(frame), np.bool_)]
        graph = opened.library.graph_of(revision)
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


def print_holes(opened: OpenedCatalog, side: SideInfo, limit: int | None) -> None:
    """Print the dependencies that a revision lacks to install its specs from the cache."""
    scope = Scope.of(opened, side)
    holes = Holes(scope.frame, scope.graph) if scope.has_dependencies else None
    shown = () if holes is None else holes[:limit]
    seen = find_last_seen(opened, {hole.hash: hole.name for hole in shown}, scope.revision)

    def lines() -> Iterator[str]:
        yield from wrapped(scope.title)
        if holes is not None:
            specs = counted(scope.graph.num_rows, "spec")
            num_holes = counted(len(holes), "hole")
            yield f"{holes.num_whole:,} of {specs} are whole, {num_holes}"
        yield from scope.unknown_lines()
        if shown:
            columns = [
                number("affects", 0, attrgetter("num_affected")),
                TableColumn(
                    "missing", 0, lambda hole: versioned(hole.name, hole.version), styles.name
                ),
                TableColumn("hash", 1, attrgetter("hash"), styles.digest),
                TableColumn("history", 2, lambda hole: _history_text(hole, seen)),
            ]
            yield from table(shown, columns)
        if holes is not None and (more := len(holes) - len(shown)):
            yield styles.quiet(f"and {counted(more, 'hole')} more")

    variables = {"ref": side_name(side), "first": limit}
    print_answer(opened, Question("Holes", variables, (side,)), lines())


def _history_text(hole: Hole, last_seen: Mapping[str, Span] | None) -> str:
    """Return where a hole was removed, or which revision of another series has it."""
    if last_seen is None:
        return "unknown"
    if (seen := last_seen.get(hole.hash)) is None:
        return "never seen"
    if seen.gone_in is None:
        return f"in {title(seen.last)}"
    return f"removed in {title(seen.gone_in)}"


# -- twins


class TwinsCause(msgspec.Struct, frozen=True):
    """A cause of twins, with the numbers of specs that it explains.

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


def print_twins(
    opened: OpenedCatalog,
    side: SideInfo,
    stacks: Sequence[str],
    package: str | None,
    limit: int | None,
) -> None:
    """Print the specs of a revision that are built more than once, and the causes.

    Raises InvalidArgument for a stack or package that the revision does not have.
    """
    scope = Scope.of(opened, side, *stacks)
    frame = scope.frame
    if package is not None:
        require_names([frame], package=package, sign="--")
        mask = scope.mask & frame.package.among([package])[frame.package.codes]
        scope = msgspec.structs.replace(scope, mask=mask)
    twins = Twins(Side(frame, scope.graph), scope.mask)
    most = _MAX_GROUPS if limit is None else limit
    causes, groups = _causes_of_all(frame, twins), twins[:most]
    # With the rows that would no longer be built again if the specs of the group were one.
    shown = list(zip(groups, twins.saved(groups), strict=True))

    def lines() -> Iterator[str]:
        of_stacks = f"{' and '.join(stacks)} of " if stacks else ""
        yield from wrapped(f"{of_stacks}{title(scope.revision)}")
        total = frame.size.total(twins.others)
        again = f"{len(twins.others):,} of {counted(scope.num_specs, 'spec')} are duplicate builds"
        yield f"{again}{'' if total is None else f': {size(total)}'}"
        yield from scope.unknown_lines()
        if not causes:
            return
        columns = [
            number("specs", 0, attrgetter("num_specs")),
            number("reached", 1, attrgetter("num_involved")),
            number("stacks", 2, attrgetter("num_stacks")),
            TableColumn("cause", 0, attrgetter("title"), styles.name),
        ]
        main = [cause for cause in causes if cause.num_specs]
        yield from table(main, columns)
        if others := len(causes) - len(main):
            yield styles.quiet(f"not listed, as no spec's main cause: {counted(others, 'cause')}")
        for group, saved in shown:
            yield from _group_lines(frame, twins, group, saved)
        if more := len(twins) - len(shown):
            yield styles.quiet(f"and {counted(more, 'group')} more")

    stack = stacks[0] if stacks else None
    variables = {"ref": side_name(side), "stack": stack, "package": package, "first": limit}
    if len(stacks) > 1 and prints_json():
        raise click.UsageError("--json takes one --stack.")
    print_answer(opened, Question("Twins", variables, (side,)), lines())


def _group_lines(frame: Frame, twins: Twins, group: TwinGroup, saved: Rows) -> Iterator[str]:
    rows = group.rows.tolist()
    name = versioned(frame.package.at(rows[0]), frame.version.at(rows[0]))
    hashes = few([short_hash(frame.hashes.at(row)) for row in rows], _MAX_NAMES + 1, " / ")
    yield from wrapped(f"{styles.name(name)} {styles.digest(hashes)}")
    titles = few(list(map(twins_title, _causes_of(twins, group))), _MAX_NAMES)
    text = f"  {titles}; joined, they save {counted(len(saved), 'spec')}"
    yield from wrapped(text, " " * 6)


def _causes_of(twins: Twins, group: TwinGroup) -> list[CauseName]:
    """Return the causes of a group."""
    return list(map(twins.explanation.causes.name_of, twins.causes_of(group)))


def _causes_of_all(frame: Frame, twins: Twins) -> list[TwinsCause]:
    """Return the causes of twins, the most important first."""
    causes = twins.explanation.causes
    listed = []
    for count in causes.counted():
        rows = causes.rows_of(count.number, involved=True)
        stacks = {stack for stack, _ in frame.stacks.item_counts(rows)} - {ROOT_STACK}
        num_stacks = len(stacks) if states_stacks(frame) else None
        name = causes.name_of(count.number)
        listed.append(TwinsCause(name, count.num_specs, count.num_involved, num_stacks))
    return listed


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
    """The first change of some packages after a revision: its causes and the replacements."""

    base: RevisionInfo
    revision: RevisionInfo
    causes: Sequence[CauseName]
    num_specs: int

    def text(self) -> str:
        """Return the change in words."""
        causes = few(list(map(cause_title, self.causes)), _MAX_NAMES)
        replacements = counted(self.num_specs, "replacement")
        return f"next change, in {title(self.revision)}: {causes and f'{causes}; '}{replacements}"


def print_impact(
    opened: OpenedCatalog,
    side: SideInfo,
    stack: str | None,
    packages: Sequence[str],
    touched: CommitRange | None = None,
) -> None:
    """Print the specs that would be rebuilt if packages changed, or those that commits touch.

    Raises InvalidArgument for a stack that the revision does not have, and for a package that it
    does not have unless a commit touches it.
    """
    scope = Scope.of(opened, side, *filter(None, [stack]))
    frame, graph = scope.frame, scope.graph
    known = {*frame.packages, *graph.outside.packages}
    named = [*dict.fromkeys(packages)] if touched is None else touched.packages
    absent = [name for name in named if name not in known]
    if absent and touched is None:
        hint = nearest_hint(nearest_names(absent[0], known))
        raise InvalidArgument("PACKAGE", absent_name(absent[0], hint))
    present = [name for name in named if name in known]
    counts = later = None
    if scope.has_dependencies:
        rows = impact.rows_above(frame, graph, present) & scope.mask
        counts = impact.impact(frame, rows)
        later = _find_later(opened, scope, present)

    def lines() -> Iterator[str]:
        yield from wrapped(scope.title)
        if touched is not None:
            touch = counted(len(named), "package")
            text = f"{counted(len(touched.commits), 'commit')} in {touched.base}..{touched.head}"
            if absent:
                touch += f", {len(absent):,} of them not in this revision"
            yield from wrapped(f"{text} touch {touch}")
        yield from scope.unknown_lines()
        if counts is None:
            return
        specs = f"{counts.num_specs:,} of {counted(scope.num_specs, 'spec')}"
        of_packages = f"of {counted(counts.num_packages, 'package')}"
        text = f"{specs}, {of_packages}, would be rebuilt"
        if present:
            text += f" if {styles.name(few(present, _MAX_NAMES))} changed"
        if counts.size is not None:
            text += f": {size(counts.size)}"
        yield from wrapped(text)
        if later is not None:
            yield from wrapped(later.text())
        for head, parts in (("stack", counts.by_stack), ("target", counts.by_target)):
            if parts:
                columns = [
                    number("specs", 0, attrgetter("num_specs")),
                    TableColumn(head, 0, lambda part: shortened(part.name, 60), styles.name),
                ]
                yield from table(parts, columns)

    found = {
        "ref": side_name(side),
        "stack": stack,
        "packages": present,
        "numUnknown": scope.num_unknown,
        "impact": counts,
        "later": later,
    }
    print_result(lambda: found, lines())


def _find_later(opened: OpenedCatalog, scope: Scope, packages: Sequence[str]) -> LaterChange | None:
    """Return the next change of some packages after a revision, in one stack or in all."""
    if not is_revision(scope.revision):
        return None
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


def print_largest(opened: OpenedCatalog, side: SideInfo, stack: str | None, most: int) -> None:
    """Print up to ``most`` packages whose change would rebuild most specs of a revision."""
    scope = Scope.of(opened, side, *filter(None, [stack]))
    packages = None
    if scope.has_dependencies:
        packages = impact.largest_impacts(scope.frame, scope.graph, scope.mask, most)

    def lines() -> Iterator[str]:
        yield from wrapped(f"{scope.title}, {counted(scope.num_specs, 'spec')}")
        yield from scope.unknown_lines()
        if packages:
            columns = [
                number("specs", 0, attrgetter("num_specs")),
                TableColumn("if changed", 0, attrgetter("package"), styles.name),
            ]
            yield from table(packages, columns)

    found = {"ref": side_name(side), "stack": stack, "top": packages}
    print_result(lambda: found, lines())
