"""Holes, twins and impact in one revision or another side."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

import click
import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import note, print_result, prints_json
from server.terminal.documents import Question, print_answer, side_name
from server.terminal.printing import text
from server.terminal.printing.revisions import place_title, what_became
from server.terminal.printing.text import TableColumn, number, table, wrapped
from snapshots.arrays import Mask
from snapshots.changes import impact
from snapshots.changes.causes import CauseCount, CauseName
from snapshots.changes.holes import Holes
from snapshots.changes.sides import Side
from snapshots.changes.twins import TwinGroup, Twins
from snapshots.changes.vocabulary import cause_title, twins_title
from snapshots.errors import CatalogError, IncompleteHistory, InvalidArgument
from snapshots.frames.suggestions import require_names
from snapshots.models import RevisionInfo, SideInfo, is_revision
from snapshots.recipes.commits import Commit
from snapshots.refs import series as series_of
from snapshots.refs import title
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

_MAX_NAMES = 8
_MAX_GROUPS = 20
"""Number of twin groups that are printed by default."""

_INDENT = " " * 6


def _side(opened: OpenedCatalog, side: SideInfo, stacks: Sequence[str]) -> tuple[Side, Mask]:
    """Return the specs of a side, and a mask of those in some stacks.

    Raises InvalidArgument for a stack that the side does not have.
    """
    frame = opened.frame(side)
    for stack in stacks:
        require_names([frame], stack, sign="--")
    in_any = [frame.in_stack(stack) for stack in stacks] or [np.ones(len(frame), np.bool_)]
    return Side(frame, opened.library.graph_of(side)), np.logical_or.reduce(in_any)


def _is_answerable(side: Side) -> bool:
    """Return whether the dependencies of any spec are known, or there are no specs."""
    return bool(side.graph.is_known or not side.graph.num_rows)


def _unknown_lines(side: Side) -> list[str]:
    """Return a remark on specs with unknown dependencies, if there are any."""
    num_unknown = int(np.count_nonzero(~side.graph.known))
    what = f"unknown for {counted(num_unknown, 'spec')}: its source does not list dependencies"
    return wrapped(what) if num_unknown else []


# -- holes


def print_holes(opened: OpenedCatalog, side: SideInfo, limit: int | None) -> None:
    """Print the dependencies that a revision lacks to install its specs from the cache."""
    specs, _ = _side(opened, side, ())

    def lines() -> Iterator[str]:
        yield from wrapped(title(side))
        if not _is_answerable(specs):
            yield from _unknown_lines(specs)
            return
        holes = Holes(specs.frame, specs.graph)
        whole = f"{holes.num_whole:,} of {counted(len(specs.frame), 'spec')} are whole"
        yield f"{whole}, {counted(len(holes), 'hole')}"
        yield from _unknown_lines(specs)
        shown = holes[:limit]
        fates = what_became(opened, {hole.hash: hole.name for hole in shown}, side)
        columns = [
            number("affects", 0, attrgetter("num_affected")),
            TableColumn("missing", 0, lambda it: versioned(it.name, it.version), text.name),
            TableColumn("hash", 1, lambda it: short_hash(it.hash), text.digest),
            TableColumn("history", 2, lambda it: fates.get(it.hash, "never seen")),
        ]
        if shown:
            yield from table(shown, columns)
        if more := len(holes) - len(shown):
            yield text.quiet(f"and {counted(more, 'hole')} more")

    variables = {"ref": side_name(side), "first": limit}
    print_answer(opened, Question("Holes", variables, (side,)), lines())


# -- twins


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
    specs, mask = _side(opened, side, stacks)
    frame = specs.frame
    if package is not None:
        require_names([frame], package=package, sign="--")
        mask = mask & frame.package.among([package])[frame.package.codes]

    def lines() -> Iterator[str]:
        twins = Twins(specs, mask)
        of_stacks = f"{' and '.join(stacks)} of " if stacks else ""
        yield from wrapped(f"{of_stacks}{title(side)}")
        total = frame.size.total(twins.others)
        again = f"{len(twins.others):,} of {counted(int(mask.sum()), 'spec')}"
        yield f"{again} are duplicate builds{'' if total is None else f': {size(total)}'}"
        yield from _unknown_lines(specs)
        counts = twins.explanation.causes.counted()
        yield from _twin_cause_lines(twins, counts)
        groups = twins[: _MAX_GROUPS if limit is None else limit]
        for group, saved in zip(groups, twins.saved(groups), strict=True):
            yield from _group_lines(twins, group, len(saved))
        if more := len(twins) - len(groups):
            yield text.quiet(f"and {counted(more, 'group')} more")

    variables = {"ref": side_name(side), "stack": stacks[0] if stacks else None}
    if len(stacks) > 1 and prints_json():
        raise click.UsageError("--json takes one --stack.")
    question = Question("Twins", variables | {"package": package, "first": limit}, (side,))
    print_answer(opened, question, lines())


def _twin_cause_lines(twins: Twins, counts: Sequence[CauseCount]) -> Iterator[str]:
    name_of = twins.explanation.causes.name_of
    main = [count for count in counts if count.num_specs]
    columns = [
        number("specs", 0, attrgetter("num_specs")),
        number("reached", 1, attrgetter("num_involved")),
        TableColumn("cause", 0, lambda it: twins_title(name_of(it.number)), text.name),
    ]
    if main:
        yield from table(main, columns)
    if others := len(counts) - len(main):
        yield text.quiet(f"not listed, as no spec's main cause: {counted(others, 'cause')}")


def _group_lines(twins: Twins, group: TwinGroup, num_saved: int) -> Iterator[str]:
    frame, rows = twins.explanation.head.frame, group.rows.tolist()
    name = text.name(versioned(frame.package.at(rows[0]), frame.version.at(rows[0])))
    hashes = few([short_hash(frame.hashes.at(row)) for row in rows], _MAX_NAMES, " / ")
    names = map(twins.explanation.causes.name_of, twins.causes_of(group))
    causes = few(list(map(twins_title, names)), _MAX_NAMES)
    saved = f"joined, they save {counted(num_saved, 'spec')}"
    yield from wrapped(f"{name} {text.digest(hashes)}: {causes}; {saved}", _INDENT)


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
    specs, mask = _side(opened, side, [stack] if stack else [])
    known = {*specs.frame.packages, *specs.graph.outside.packages}
    named = [*dict.fromkeys(packages)] if touched is None else touched.packages
    absent = [name for name in named if name not in known]
    if absent and touched is None:
        hint = nearest_hint(nearest_names(absent[0], known))
        raise InvalidArgument("PACKAGE", absent_name(absent[0], hint))
    present = [name for name in named if name in known]
    counts = later = None
    if _is_answerable(specs):
        rows = impact.rows_above(specs.frame, specs.graph, present) & mask
        counts = impact.impact(specs.frame, rows)
        later = _find_later(opened, side, stack, present)

    def lines() -> Iterator[str]:
        yield from wrapped(place_title(side, stack))
        if touched is not None:
            what = f"{counted(len(touched.commits), 'commit')} in {touched.base}..{touched.head}"
            what += f" touch {counted(len(named), 'package')}"
            missing = f", {len(absent):,} of them not in this revision" if absent else ""
            yield from wrapped(what + missing)
        yield from _unknown_lines(specs)
        if counts is None:
            return
        what = f"{counts.num_specs:,} of {counted(int(mask.sum()), 'spec')}, "
        what += f"of {counted(counts.num_packages, 'package')}, would be rebuilt"
        if present:
            what += f" if {text.name(few(present, _MAX_NAMES))} changed"
        yield from wrapped(what + ("" if counts.size is None else f": {size(counts.size)}"))
        if later is not None:
            causes = "".join(f"{cause_title(cause)}; " for cause in later.causes[:_MAX_NAMES])
            end = f"{causes}{counted(later.num_specs, 'replacement')}"
            yield from wrapped(f"next change, in {title(later.revision)}: {end}")
        for head, parts in (("stack", counts.by_stack), ("target", counts.by_target)):
            columns = [
                number("specs", 0, attrgetter("num_specs")),
                TableColumn(head, 0, lambda part: shortened(part.name, 60), text.name),
            ]
            if parts:
                yield from table(parts, columns)

    found = {"ref": side_name(side), "stack": stack, "packages": present}
    print_result(lambda: found | {"impact": counts, "later": later}, lines())


def _find_later(
    opened: OpenedCatalog, side: SideInfo, stack: str | None, packages: Sequence[str]
) -> LaterChange | None:
    """Return the next change of some packages after a revision, in one stack or in all."""
    if not is_revision(side):
        return None
    series = series_of(side.tag)
    try:
        opened = opened.complete(series, causes=True)
        causes = opened.library.history_queries.causes(opened.history, series)
    except (CatalogError, IncompleteHistory) as error:
        note(f"The effect of a change is unknown: {error}")
        return None
    pair = causes.next_in({*packages}, side)
    if pair is None or pair.base is None:
        return None
    explanation = opened.library.explain(pair.base, pair.head)
    mask = None if stack is None else explanation.head.frame.in_stack(stack)
    outcome = impact.outcome(explanation, packages, mask)
    names = [explanation.causes.name_of(cause) for cause in outcome.causes]
    return LaterChange(pair.base, pair.head, names, outcome.num_specs)


def print_largest(opened: OpenedCatalog, side: SideInfo, stack: str | None, most: int) -> None:
    """Print up to ``most`` packages whose change would rebuild most specs of a revision."""
    specs, mask = _side(opened, side, [stack] if stack else [])
    packages = None
    if _is_answerable(specs):
        packages = impact.largest_impacts(specs.frame, specs.graph, mask, most)
    columns = [
        number("specs", 0, attrgetter("num_specs")),
        TableColumn("if changed", 0, attrgetter("package"), text.name),
    ]
    num_specs = counted(int(mask.sum()), "spec")
    heading = [*wrapped(f"{place_title(side, stack)}, {num_specs}"), *_unknown_lines(specs)]
    found = {"ref": side_name(side), "stack": stack, "top": packages}
    print_result(lambda: found, [*heading, *(table(packages, columns) if packages else ())])
