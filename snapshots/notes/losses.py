"""What base has and head does not: packages, versions, and cells of the coverage."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from snapshots.arrays import NO_ROW
from snapshots.changes.coverage import CoverageChangeKind, CoverageChanges
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK

FEW = 10
"""Maximum number of lost packages for the same values of a cell with nearest specs."""


class LostPackage(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package without specs in head; ``with_stacks`` are removed stacks that had all of them."""

    name: str
    versions: tuple[str, ...]
    num_specs: int
    with_stacks: tuple[str, ...]


class LostVersion(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A version that head does not have any more, of a package that it still has.

    ``replaced_by`` has the versions of the specs that replaced some of its specs, newest first.
    """

    package: str
    version: str
    num_specs: int
    replaced_by: list[str]


class NearestSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The spec in head that is nearest to a lost cell."""

    version: str
    target: str
    stacks: list[str]


class LostCell(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package that is no longer available for these ``values`` of the dimensions.

    ``nearest`` is None if more than ``FEW`` packages were lost for the same values.
    """

    package: str
    values: tuple[str, ...]
    nearest: NearestSpec | None


class Losses(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Packages, versions and cells that base has and head does not.

    Cells of packages and stacks that were removed entirely are omitted.
    """

    packages: list[LostPackage]
    versions: list[LostVersion]
    coverage: list[LostCell]

    def __bool__(self) -> bool:
        return bool(self.packages or self.versions_gone or self.coverage)

    @property
    def versions_gone(self) -> list[LostVersion]:
        """The versions that no other version replaced."""
        return [version for version in self.versions if not version.replaced_by]


def losses_of(
    comparison: Comparison,
    packages: Iterable[PackageChange],
    explanation: Explanation,
    cells: CoverageChanges,
) -> Losses:
    """Return the losses of a comparison, which may be narrowed, with its changes of packages."""
    stacks = {stack.name for stack in comparison.stacks if stack.kind is StackChangeKind.REMOVED}
    removed = comparison.specs.select([SpecChangeKind.REMOVED])
    rows, frame = removed.before, comparison.base
    names, versions = frame.package.values_at(rows), frame.version.values_at(rows)
    counterparts = explanation.counterpart_rows(removed).tolist()
    specs: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for *key, row, counterpart in zip(names, versions, rows.tolist(), counterparts, strict=True):
        specs[key[0], key[1]].append((row, counterpart))
    gone, versions_gone = [], []
    for change in packages:
        if change.kind is PackageChangeKind.REMOVED:
            of_package = [
                frame.stacks.at(row)
                for version in change.versions_before
                for row, _ in specs[change.name, version]
            ]
            gone.append(_lost_package(change, of_package, stacks))
        else:
            versions_gone += [
                _lost_version(change.name, version, specs[change.name, version], comparison.head)
                for version in change.versions_removed
            ]
    return Losses(
        packages=gone,
        versions=versions_gone,
        coverage=_lost_cells(cells, {package.name for package in gone}, stacks),
    )


def _lost_package(
    change: PackageChange, of_specs: Sequence[Iterable[str]], removed_stacks: set[str]
) -> LostPackage:
    """Return the entry of a removed package, with the stacks of each of its specs."""
    stacks = {stack for of_spec in of_specs for stack in of_spec} - {ROOT_STACK}
    return LostPackage(
        name=change.name,
        versions=change.versions_before,
        num_specs=len(of_specs),
        with_stacks=tuple(sorted(stacks)) if stacks <= removed_stacks else (),
    )


def _lost_version(
    package: str, version: str, specs: Sequence[tuple[int, int]], head: Frame
) -> LostVersion:
    """Return the entry of a removed version; ``specs`` are its rows, with their counterparts."""
    # The codes of versions are in Spack's version order.
    codes = {int(head.version.codes[row]) for _, row in specs if row != NO_ROW}
    newest_first = (head.version.values[code] for code in sorted(codes, reverse=True))
    others = [other for other in newest_first if other != version]
    return LostVersion(package=package, version=version, num_specs=len(specs), replaced_by=others)


def _lost_cells(
    cells: CoverageChanges, packages_gone: set[str], stacks_gone: set[str]
) -> list[LostCell]:
    """Return the lost cells, with the nearest spec for values that few packages lost."""
    lost = cells.select([CoverageChangeKind.LOST])
    cells_lost = [
        (place, package, values)
        for place in range(len(lost))
        if (package := lost.package(place)) not in packages_gone
        and stacks_gone.isdisjoint(values := lost.values(place))
    ]
    num_lost = Counter(values for _, _, values in cells_lost)
    return [
        LostCell(
            package=package,
            values=values,
            nearest=_nearest(lost, place) if num_lost[values] <= FEW else None,
        )
        for place, package, values in cells_lost
    ]


def _nearest(lost: CoverageChanges, place: int) -> NearestSpec | None:
    head = lost.head
    for row in lost.nearest(place).tolist()[:1]:
        stacks = [stack for stack in head.stacks.at(row) if stack != ROOT_STACK]
        return NearestSpec(version=head.version.at(row), target=head.target.at(row), stacks=stacks)
    return None
