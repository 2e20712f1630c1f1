"""What can no longer be had: packages, versions and coverage that only base has, with reasons."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from snapshots.changes.coverage import (
    CoverageChangeKind,
    CoverageChanges,
)
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.reasons import REASONS
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.versions import version_key

FEW = 10
"""Of how many packages in one place it is told what is nearest to them."""


Reasons = dict[str, int]
"""How many specs have which SpecChangeReason, by its value."""


class LostPackage(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package that head has nothing of; ``with_stacks`` are removed stacks that had all of it."""

    name: str
    versions: tuple[str, ...]
    num_specs: int
    reasons: Reasons
    with_stacks: list[str]


class LostVersion(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A version that head has no longer, of a package that it still has.

    ``replaced_by`` are the versions of the specs that took the place of some of its specs, newest
    first; ``is_older`` tells whether all of them are older.
    """

    package: str
    version: str
    num_specs: int
    reasons: Reasons
    replaced_by: list[str]
    is_older: bool


class NearestSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A spec that is left in head and nearest to what was lost."""

    hash: str
    version: str
    operating_system: str
    platform: str
    target: str
    stacks: list[str]


class LostCell(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package that is no longer there for these ``values`` of the dimensions.

    ``nearest`` is empty where more than ``FEW`` packages were lost for the same values.
    """

    package: str
    values: tuple[str, ...]
    num_specs: int
    nearest: list[NearestSpec]


class Losses(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What base has and head has not.

    ``by`` are the dimensions of the cells. Cells of packages and of stacks that were removed
    altogether are left out.
    """

    packages: list[LostPackage]
    versions: list[LostVersion]
    by: list[str]
    coverage: list[LostCell]


def tell_losses(
    comparison: Comparison,
    packages: Iterable[PackageChange],
    explanation: Explanation,
    cells: CoverageChanges,
) -> Losses:
    """Return what is lost by a comparison, which may be narrowed, and its changes of packages."""
    specs = _LostSpecs(comparison, explanation)
    stacks = {it.name for it in comparison.stacks if it.kind is StackChangeKind.REMOVED}
    gone, versions = [], []
    for change in packages:
        if change.kind is PackageChangeKind.REMOVED:
            gone.append(specs.package(change, stacks))
        else:
            versions += [specs.version(change.name, it) for it in change.versions_removed]
    return Losses(
        packages=gone,
        versions=versions,
        by=[dimension.value for dimension in cells.dimensions],
        coverage=_lost_cells(cells, {it.name for it in gone}, stacks),
    )


def _lost_cells(
    cells: CoverageChanges, packages_gone: set[str], stacks_gone: set[str]
) -> list[LostCell]:
    """Return the lost cells, with what is nearest to those of which a place lost few."""
    lost = cells.select([CoverageChangeKind.LOST])
    found = [
        (place, package, values)
        for place in range(len(lost))
        if (package := lost.package(place)) not in packages_gone
        and stacks_gone.isdisjoint(values := lost.values(place))
    ]
    num_lost = Counter(values for _, _, values in found)
    return [
        LostCell(
            package=package,
            values=values,
            num_specs=int(lost.cells.num_specs[place]),
            nearest=[_nearest(lost.head, row) for row in lost.nearest(place).tolist()]
            if num_lost[values] <= FEW
            else [],
        )
        for place, package, values in found
    ]


class _LostSpecs:
    """The removed specs by package and version, with their reasons and counterparts."""

    def __init__(self, comparison: Comparison, explanation: Explanation) -> None:
        removed = comparison.specs.select([SpecChangeKind.REMOVED])
        self._base, self._head = comparison.base, comparison.head
        frame, rows = removed.base, removed.before
        self._places: dict[tuple[int, int], list[int]] = {}
        keys = zip(
            frame.package.codes[rows].tolist(), frame.version.codes[rows].tolist(), strict=True
        )
        for place, key in enumerate(keys):
            self._places.setdefault(key, []).append(place)
        self._rows = rows.tolist()
        self._reasons = explanation.reasons(removed).tolist()
        self._counterparts = explanation.counterpart_rows(removed).tolist()

    def package(self, change: PackageChange, removed_stacks: set[str]) -> LostPackage:
        """Return a package of which all specs were removed."""
        places = [it for version in change.versions_before for it in self._of(change.name, version)]
        stacks = {it for place in places for it in self._base.stacks.at(self._rows[place])}
        stacks -= {ROOT_STACK}
        return LostPackage(
            name=change.name,
            versions=change.versions_before,
            num_specs=len(places),
            reasons=self._count(places),
            with_stacks=sorted(stacks) if stacks and stacks <= removed_stacks else [],
        )

    def version(self, package: str, version: str) -> LostVersion:
        """Return a version of which all specs were removed."""
        places = self._of(package, version)
        rows = [row for row in (self._counterparts[place] for place in places) if row >= 0]
        column = self._head.version
        # The codes of versions stand to each other as Spack orders the versions.
        codes = sorted({int(column.codes[row]) for row in rows}, reverse=True)
        newest_first = [it for it in map(column.values.__getitem__, codes) if it != version]
        return LostVersion(
            package=package,
            version=version,
            num_specs=len(places),
            reasons=self._count(places),
            replaced_by=newest_first,
            is_older=bool(newest_first) and version_key(newest_first[0]) < version_key(version),
        )

    def _of(self, package: str, version: str) -> Sequence[int]:
        key = self._base.package.index[package], self._base.version.index[version]
        return self._places.get(key, ())

    def _count(self, places: Iterable[int]) -> Reasons:
        codes = [self._reasons[place] for place in places]
        return {REASONS[code].value: codes.count(code) for code in sorted({*codes})}


def _nearest(head: Frame, row: int) -> NearestSpec:
    return NearestSpec(
        hash=head.hashes.at(row),
        version=head.version.at(row),
        operating_system=head.operating_system.at(row),
        platform=head.platform.at(row),
        target=head.target.at(row),
        stacks=[stack for stack in head.stacks.at(row) if stack != ROOT_STACK],
    )
