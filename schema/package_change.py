"""What became of the packages of two revisions."""

from enum import Enum
from typing import Any

import strawberry

from schema.batches import Children, batched
from schema.changes import (
    ChangeRows,
    LoadedComparison,
    kind_of_change,
    of_change,
    size_delta,
    where_known,
)
from schema.context import LoadedRevision
from schema.package import Package, PackageRows
from schema.scalars import ByteCount
from snapshots.changes import package_changes


@strawberry.enum(description="What became of a package: the first that applies, in this order.")
class PackageChangeKind(Enum):
    """A kind of package change."""

    ADDED = strawberry.enum_value(
        package_changes.PackageChangeKind.ADDED, description="Only in head."
    )
    REMOVED = strawberry.enum_value(
        package_changes.PackageChangeKind.REMOVED, description="Only in base."
    )
    UPGRADED = strawberry.enum_value(
        package_changes.PackageChangeKind.UPGRADED,
        description="The newest version rose, in Spack's version order.",
    )
    DOWNGRADED = strawberry.enum_value(
        package_changes.PackageChangeKind.DOWNGRADED, description="The newest version fell."
    )
    VERSIONS_CHANGED = strawberry.enum_value(
        package_changes.PackageChangeKind.VERSIONS_CHANGED,
        description="The newest version stands, the set of versions differs.",
    )
    REBUILT = strawberry.enum_value(
        package_changes.PackageChangeKind.REBUILT,
        description="The same versions, other hashes.",
    )
    CHANGED = strawberry.enum_value(
        package_changes.PackageChangeKind.CHANGED,
        description="The same hashes, other facts about them.",
    )


def _packages_before(rows: ChangeRows[Any]) -> Children:
    places = rows.table.places
    return where_known(
        rows.table.names.in_base[places], lambda it: PackageRows(rows.comparison.base, it)
    )


def _packages_after(rows: ChangeRows[Any]) -> Children:
    places = rows.table.places
    return where_known(
        rows.table.names.in_head[places], lambda it: PackageRows(rows.comparison.head, it)
    )


@strawberry.type(description="What became of a package.")
class PackageChange:
    """A package change, with the package on both sides."""

    comparison: strawberry.Private[LoadedComparison]
    change: strawberry.Private[package_changes.PackageChange]

    name: str = of_change(lambda change: change.name, "The package's name.")
    kind: PackageChangeKind = kind_of_change(PackageChangeKind, "What became of it.")

    @strawberry.field(
        description="The package in base; null where it was added.",
        metadata=batched(_packages_before),
    )
    def before(self) -> Package | None:
        return _package(self.comparison.base, self.change.name)

    @strawberry.field(
        description="The package in head; null where it was removed.",
        metadata=batched(_packages_after),
    )
    def after(self) -> Package | None:
        return _package(self.comparison.head, self.change.name)

    versions_added: list[str] = of_change(
        lambda change: change.versions_added, "Versions only in head, newest first."
    )
    versions_removed: list[str] = of_change(
        lambda change: change.versions_removed, "Versions only in base, newest first."
    )
    specs_added: int = of_change(
        lambda change: change.specs_added, "How many of its hashes are only in head."
    )
    specs_removed: int = of_change(
        lambda change: change.specs_removed, "How many of its hashes are only in base."
    )
    specs_changed: int = of_change(
        lambda change: change.specs_changed, "How many of its hashes have other facts."
    )
    size_delta: ByteCount | None = of_change(
        lambda change: size_delta(change.size_before, change.size_after),
        "By how much the sum of its known sizes rose.",
    )


def _package(loaded: LoadedRevision, name: str) -> Package | None:
    code = loaded.frame.package.index.get(name)
    return None if code is None else Package(loaded=loaded, code=code)
