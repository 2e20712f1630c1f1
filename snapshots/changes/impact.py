"""The impact of package changes: the specs that would be rebuilt.

A changed recipe changes the hash of every spec of the package, and of every spec that reaches one
of these over any edge. Specs outside the cache are followed, but not counted.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec
import numpy as np

from snapshots.arrays import Mask
from snapshots.changes.explanation import Explanation
from snapshots.changes.involvement import Involvement
from snapshots.changes.pairings import states_stacks
from snapshots.errors import InvalidArgument
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.graphs import BottomUpGraph
from snapshots.spack.names import ROOT_STACK
from snapshots.texts import absent_name, nearest_hint, nearest_names

_SIZES = ((0, "0"), (10, "1-10"), (100, "11-100"), (500, "101-500"), (1_000, "501-1000"))
_LARGEST = "1001+"


def size_label(num_specs: int) -> str:
    """Return the size class of a number of builds, with the labels of nixpkgs's pull requests."""
    return next((label for most, label in _SIZES if num_specs <= most), _LARGEST)


class ImpactPart(msgspec.Struct, frozen=True):
    """The specs of a stack, or for a target, that would be rebuilt."""

    name: str
    num_specs: int


class Impact(msgspec.Struct, frozen=True):
    """The specs that would be rebuilt: counts that include specs of the packages themselves.

    ``size`` is the sum of the known sizes of the binary packages, in bytes; None if no size is
    known. ``by_stack`` omits root, and is None if the source does not list stacks; both lists are
    sorted by count, largest first.
    """

    num_specs: int
    num_packages: int
    size: int | None
    by_stack: list[ImpactPart] | None
    by_target: list[ImpactPart]

    @property
    def size_label(self) -> str:
        """The size class of the number of specs."""
        return size_label(self.num_specs)


def known_packages(frame: Frame, graph: DependencyGraph) -> set[str]:
    """Return the packages of the specs of a side, and of those outside the cache below them."""
    return {*frame.packages, *graph.outside.packages}


def require_packages(
    frame: Frame, graph: DependencyGraph, packages: Iterable[str], argument: str
) -> None:
    """Raise InvalidArgument, with the nearest names, for a package that a side does not have."""
    known = known_packages(frame, graph)
    for name in packages:
        if name not in known:
            raise InvalidArgument(
                argument, absent_name(name, nearest_hint(nearest_names(name, known)))
            )


def rows_above(frame: Frame, graph: DependencyGraph, packages: Iterable[str]) -> Mask:
    """Return a mask of the rows that are specs of some packages, or reach one over any edge."""
    names = [*packages]
    is_own = np.concatenate(
        [part.package.among(names)[part.package.codes] for part in (frame, graph.outside)]
    )
    mask = is_own | graph.nodes_above(is_own[graph.targets])
    return mask[: graph.num_rows]


def impact(frame: Frame, mask: Mask) -> Impact:
    """Return the counts of the marked rows of a frame."""
    rows = np.flatnonzero(mask).astype(np.int32)

    def parts(fact: str) -> list[ImpactPart]:
        return [
            ImpactPart(value, count)
            for value, count in frame.facet(fact, rows)
            if (fact, value) != ("stacks", ROOT_STACK)
        ]

    return Impact(
        num_specs=len(rows),
        num_packages=int(np.count_nonzero(frame.packages_having(mask))),
        size=frame.size.total(rows),
        by_stack=parts("stacks") if states_stacks(frame) else None,
        by_target=parts("target"),
    )


class Outcome(msgspec.Struct, frozen=True):
    """The actual effect of package changes: the numbers of the causes and of the reached specs."""

    causes: Sequence[int]
    num_specs: int


def outcome(
    explanation: Explanation, packages: Collection[str], mask: Mask | None = None
) -> Outcome:
    """Return the effect of causes in some packages on the marked rows of head, or on all rows."""
    causes = explanation.causes
    numbers = []
    reached = np.zeros(len(explanation.head.frame), np.bool_)
    for number in range(len(causes)):
        if causes.name_of(number).package in packages:
            rows = causes.rows_of(number, involved=True)
            rows = rows if mask is None else rows[mask[rows]]
            reached[rows] = True
            numbers += [number] if len(rows) else []
    return Outcome(numbers, int(np.count_nonzero(reached)))


class PackageImpact(msgspec.Struct, frozen=True):
    """The number of specs that would be rebuilt if a package changed."""

    package: str
    num_specs: int


def largest_impacts(
    frame: Frame, graph: DependencyGraph, mask: Mask, most: int
) -> list[PackageImpact]:
    """Return the packages whose change would rebuild the most of the marked rows, largest first.

    Packages that no marked row reaches are omitted.
    """
    names = sorted(known_packages(frame, graph))
    place_of = {name: place for place, name in enumerate(names)}
    items = np.concatenate(
        [
            np.array([place_of[name] for name in part.packages], np.int64)[part.package.codes]
            for part in (frame, graph.outside)
        ]
    )
    order = BottomUpGraph(graph.sources, graph.targets, graph.num_nodes)
    nodes = np.arange(graph.num_nodes)
    involvement = Involvement(len(names), nodes, items, order, graph.num_rows)
    counts = involvement.num_involved(np.flatnonzero(mask))
    places = np.argsort(-counts, kind="stable")[: min(most, np.count_nonzero(counts))]
    return [PackageImpact(names[place], int(counts[place])) for place in places.tolist()]
