"""Queries that match nothing: the last revision that had such specs, and the one fact that differs.

    hdf5+mpi for aarch64: never built; x86_64_v3 in e4s has it (1.14.6)
    py-torch+cuda: never built; ~cuda for neoverse_v1 until 2026-06-27

In a query of a person, the name of a family of targets is all of its targets.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

import msgspec

from snapshots.errors import CachelogError
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.queries import NearMiss, near_misses, read, select
from snapshots.history import age
from snapshots.models import RevisionInfo
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.query import SpecConstraint, is_target, with_families
from snapshots.texts import day
from snapshots.timelines.availability import PackageCells
from snapshots.timelines.catalog_packages import CatalogPackage
from snapshots.timelines.packages import PackageTimeline

MAX_SEARCHED = 8
"""Maximum number of contents that are read to find specs that match a query."""

_FEW = 3
_TARGET = re.compile(r"\s*\btarget=(?P<names>[^\s]+)")


class Absence(msgspec.Struct, frozen=True):
    """The result of a query that matches no spec of a revision.

    - title: One sentence: when there were such specs, and which fact of the nearest ones differs.
    - nearest_in: The revision of the near misses.
    - near_misses: The specs that meet all conditions but one.
    """

    title: str
    nearest_in: RevisionInfo
    near_misses: tuple[NearMiss, ...]


class Loader(msgspec.Struct, frozen=True):
    """Returns the specs of contents, and their dependencies, by digest."""

    frame: Callable[[str], Frame]
    graph: Callable[[str], DependencyGraph]

    def has_match(self, digest: str, constraint: SpecConstraint) -> bool:
        """Return whether a content has specs that match; not if that is unknown."""
        with suppress(CachelogError):
            return bool(select(self.frame(digest), constraint, partial(self.graph, digest)).any())
        return False

    def near_misses(self, digest: str, constraint: SpecConstraint) -> list[NearMiss]:
        """Return the specs of a content that meet all conditions but one; none if some meet all."""
        if self.has_match(digest, constraint):
            return []
        return near_misses(self.frame(digest), constraint, partial(self.graph, digest))


def absence(
    query: str,
    searched: RevisionInfo,
    package: CatalogPackage,
    timelines: Iterable[PackageTimeline],
    cells: PackageCells,
    load: Loader,
) -> Absence:
    """Return when specs of a package matched a query, and what the nearest specs have instead.

    ``searched`` is the revision in which nothing matches. If it lacks the package, the nearest
    specs are those of the last revision that has it. ``timelines`` are those of all series.
    """
    constraint = read(query)
    meant = with_families(constraint)
    states = _states(meant, timelines, cells)
    matching = (it for it in states[:MAX_SEARCHED] if load.has_match(it.digest, meant))
    last = next(matching, None)
    nearest_in = searched
    if package.name not in load.frame(searched.digest).package.index:
        nearest_in = package.best.last_seen
    misses = load.near_misses(nearest_in.digest, constraint)
    newest = {searched, *(one.last_seen for one in package.in_series if one.gone_in is None)}
    names = constraint.targets.names if constraint.targets is not None else ()
    if last is None and len(states) > MAX_SEARCHED:
        when = f"not since {day(states[MAX_SEARCHED - 1].taken_at)}"
    elif last is None:
        when = "never built"
    elif any(is_target(value, name) for it in misses for value in it.values for name in names):
        when = "not for exactly this target"
    elif last in newest:
        when = f"in {last.tag}"
    else:
        when = f"in {last.tag} until {day(last.taken_at)}"
    until = "" if nearest_in in newest else f" until {day(nearest_in.taken_at)}"
    told = [_phrase(load.frame(nearest_in.digest), it, until) for it in misses[:_FEW]]
    asked_for = _TARGET.sub(r" for \g<names>", query.strip())
    return Absence(f"{asked_for}: {'; '.join([when, *told])}", nearest_in, tuple(misses))


def _states(
    constraint: SpecConstraint, timelines: Iterable[PackageTimeline], cells: PackageCells
) -> list[RevisionInfo]:
    """Return revisions that together have all specs of a package that could match, newest first.

    They are the last ones that have the package, and those before a revision that removed specs.
    """
    states = []
    for timeline in timelines:
        states.append(timeline.last_seen)
        states += [
            entry.base
            for entry in timeline.entries
            if entry.base is not None and (entry.specs_removed or entry.specs_changed)
        ]

    def is_possible(version: str, target: str | None) -> bool:
        versions, targets = constraint.versions, constraint.targets
        return (versions is None or versions.includes(version)) and (
            targets is None or (target is not None and targets.includes(target))
        )

    digests = cells.contents_with(is_possible)
    distinct = {state.digest: state for state in states if state.digest in digests}
    return sorted(distinct.values(), key=age, reverse=True)


def _phrase(frame: Frame, miss: NearMiss, until: str) -> str:
    """Return what specs have instead of a condition, and where: ``x86_64_v3 in e4s has it``."""
    what = ", ".join(miss.values[:_FEW]) if miss.values else f"without {miss.fact}"
    targets = dict(frame.target.counts(miss.rows))
    stacks = [stack for stack, _ in frame.stacks.item_counts(miss.rows) if stack != ROOT_STACK]
    newest = frame.version.at(int(miss.rows[0]))
    has = " has it" if len(miss.values) == 1 else " have it" if miss.values else ""
    return "".join(
        (
            what,
            f" for {', '.join([*targets][:_FEW])}" if targets and miss.fact != "target" else "",
            f" in {', '.join(stacks[:_FEW])}" if stacks else "",
            until or has,
            f" ({newest})" if miss.fact != "version" and not until else "",
        )
    )
