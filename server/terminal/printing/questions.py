"""Holes, twins and impact in one revision or another side."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import print_result
from server.terminal.documents import print_answer, side_name
from server.terminal.printing import text
from server.terminal.printing.comparisons import cause_columns
from server.terminal.printing.revisions import place_title, what_became
from server.terminal.printing.text import TableColumn, number, table
from snapshots.arrays import Mask
from snapshots.changes import impact
from snapshots.changes.holes import Holes
from snapshots.changes.sides import Side
from snapshots.changes.twins import TwinGroup, Twins
from snapshots.changes.vocabulary import twins_title
from snapshots.frames.suggestions import require_names
from snapshots.models import SideInfo
from snapshots.recipes.commits import Commit
from snapshots.refs import title
from snapshots.texts import (
    counted,
    few,
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
    """Return the specs of a side, and a mask of those in any of some stacks, or of all.

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
    return [what] if num_unknown else []


# -- holes


def print_holes(opened: OpenedCatalog, side: SideInfo, limit: int | None) -> None:
    """Print the dependencies that a revision lacks to install its specs from the cache."""
    specs, _ = _side(opened, side, ())

    def lines() -> Iterator[str]:
        yield title(side)
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
        yield from table(shown, columns)
        if more := len(holes) - len(shown):
            yield text.quiet(f"and {counted(more, 'hole')} more")

    variables = {"ref": side_name(side), "first": limit}
    print_answer(opened, "Holes", variables, lines())


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
        yield f"{' and '.join(stacks)} of {title(side)}" if stacks else title(side)
        total = frame.size.total(twins.others)
        again = f"{len(twins.others):,} of {counted(int(mask.sum()), 'spec')}"
        yield f"{again} are duplicate builds{'' if total is None else f': {size(total)}'}"
        yield from _unknown_lines(specs)
        causes = twins.explanation.causes
        counts = causes.counted()
        main = [count for count in counts if count.num_specs]
        yield from table(main, cause_columns(lambda it: twins_title(causes.name_of(it.number))))
        if others := len(counts) - len(main):
            yield text.quiet(f"not listed, as no spec's main cause: {counted(others, 'cause')}")
        groups = twins[: _MAX_GROUPS if limit is None else limit]
        for group, saved in zip(groups, twins.saved(groups), strict=True):
            yield from _group_lines(twins, group, len(saved))
        if more := len(twins) - len(groups):
            yield text.quiet(f"and {counted(more, 'group')} more")

    stack = stacks[0] if stacks else None
    variables = {"ref": side_name(side), "stack": stack, "package": package, "first": limit}
    print_answer(opened, "Twins", variables, lines())


def _group_lines(twins: Twins, group: TwinGroup, num_saved: int) -> Iterator[str]:
    frame, rows = twins.explanation.head.frame, group.rows.tolist()
    name = text.name(versioned(frame.package.at(rows[0]), frame.version.at(rows[0])))
    hashes = few([short_hash(frame.hashes.at(row)) for row in rows], _MAX_NAMES, " / ")
    names = map(twins.explanation.causes.name_of, twins.causes_of(group))
    causes = few(list(map(twins_title, names)), _MAX_NAMES)
    saved = f"joined, they save {counted(num_saved, 'spec')}"
    yield f"{name} {text.digest(hashes)}: {causes}; {saved}"


# -- impact


class CommitRange(msgspec.Struct, frozen=True):
    """The commits of a range ``A..B`` of a repository of recipes."""

    text: str
    commits: Sequence[Commit]

    @property
    def packages(self) -> list[str]:
        """The packages that the commits touch, by name."""
        return sorted({name for commit in self.commits for name in commit.packages})


def print_impact(
    opened: OpenedCatalog,
    side: SideInfo,
    stack: str | None,
    packages: Sequence[str],
    touched: CommitRange | None,
) -> None:
    """Print the specs that would be rebuilt if packages changed, or those that commits touch.

    Raises InvalidArgument for a stack that the revision does not have, and for a package that it
    does not have unless a commit touches it.
    """
    specs, mask = _side(opened, side, [stack] if stack else [])
    frame, graph = specs.frame, specs.graph
    if touched is None:
        packages = [*dict.fromkeys(packages)]
        impact.require_packages(frame, graph, packages, "PACKAGE")
    else:
        known = impact.known_packages(frame, graph)
        packages = [name for name in touched.packages if name in known]

    def lines() -> Iterator[str]:
        yield place_title(side, stack)
        if touched is not None:
            what = f"{counted(len(touched.commits), 'commit')} in {touched.text}"
            what += f" touch {counted(len(touched.packages), 'package')}"
            num_absent = len(touched.packages) - len(packages)
            yield what + (f", {num_absent:,} of them not in this revision" if num_absent else "")
        yield from _unknown_lines(specs)
        if not _is_answerable(specs):
            return
        counts = impact.impact(frame, impact.rows_above(frame, graph, packages) & mask)
        what = f"{counts.num_specs:,} of {counted(int(mask.sum()), 'spec')}, "
        what += f"of {counted(counts.num_packages, 'package')}, would be rebuilt"
        what += f" if {text.name(few(packages, _MAX_NAMES))} changed" if packages else ""
        yield what + ("" if counts.size is None else f": {size(counts.size)}")
        for head, parts in (("stack", counts.by_stack), ("target", counts.by_target)):
            columns = [
                number("specs", 0, attrgetter("num_specs")),
                TableColumn(head, 0, lambda part: shortened(part.name, 60), text.name),
            ]
            yield from table(parts or (), columns)

    variables = {"ref": side_name(side), "packages": packages, "stack": stack}
    print_answer(opened, "Impact", variables, lines())


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
    heading = [f"{place_title(side, stack)}, {counted(int(mask.sum()), 'spec')}"]
    lines = [*heading, *_unknown_lines(specs), *table(packages or (), columns)]
    print_result({"ref": side_name(side), "stack": stack, "top": packages}, lines)
