"""Two revisions of a catalog, or one, ready to be judged by rules."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

from snapshots.catalog.asking.library import Library
from snapshots.catalog.publishing import Planned
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.changes.rules.measures import Judged
from snapshots.changes.rules.rules import Rule
from snapshots.changes.rules.verdict import Searched, Verdict, finder, judge
from snapshots.changes.sides import Side
from snapshots.models import RevisionInfo


def judged(library: Library, base: str | None, head: str) -> Judged:
    """Return what rules are judged over: two contents by their digests, or head alone.

    What rules ask for is loaded when they ask for it; raises CatalogError where it cannot be read.
    """
    after = _searched(library, head)
    before = None if base is None else _searched(library, base)
    find = finder(before, after, library.package_names)
    if base is None:
        return Judged(after.frame, find)
    comparison = library.compare(base, head)
    return Judged(after.frame, find, comparison, partial(library.explain, base, head))


def _searched(library: Library, digest: str) -> Searched:
    return Searched(library.frames.get(digest), partial(library.dependencies.get, digest))


class Judgement(NamedTuple):
    """The verdict on a revision, beside the one before it in its series; None where it is first."""

    base: RevisionInfo | None
    head: RevisionInfo
    verdict: Verdict


def judge_planned(
    rules: Sequence[Rule], planned: Planned, names: Callable[[], Collection[str]]
) -> Iterator[Judgement]:
    """Judge each revision that is about to be published by what it changes in its series.

    The first of a series is judged alone, by the rules that need no base. ``names`` is asked for
    the packages that other revisions know. Raises as ``judge`` does.
    """
    kept: dict[str, Side] = {}

    def side(digest: str) -> Side:
        return kept.get(digest) or planned.load(digest)

    for base, head in planned.neighbours():
        sides = [side(it.digest) for it in (base, head) if it is not None]
        kept = {it.frame.digest: it for it in sides}
        own = rules if base is not None else [it for it in rules if not it.needs_base]
        yield Judgement(base, head, judge(own, _judged_sides(sides, names)))


def _judged_sides(sides: Sequence[Side], names: Callable[[], Collection[str]]) -> Judged:
    before, after = sides[:-1], sides[-1]
    find = finder(_of_side(before[0]) if before else None, _of_side(after), names)
    if not before:
        return Judged(after.frame, find)
    comparison = Comparison(before[0].frame, after.frame)
    why = cache(partial(explain, comparison, before[0].graph, after.graph))
    return Judged(after.frame, find, comparison, why)


def _of_side(side: Side) -> Searched:
    return Searched(side.frame, lambda: side.graph)
