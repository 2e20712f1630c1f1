"""How the packages of two revisions differ."""

from collections.abc import Sequence
from typing import Annotated, Any

import strawberry

from schema.comparisons.changes import (
    Change,
    ChangeRows,
    LoadedComparison,
    NamedBy,
    change_connection,
    of_change,
    size_delta,
)
from schema.fields.connections import Connection, OrderDirection, PageArguments, direction_field
from schema.fields.cost import texts
from schema.fields.many import WhereKnown, for_many, where_known
from schema.fields.scalars import ByteCount, describe_enum
from schema.revisions.package import Package, PackageRows
from snapshots.changes.package_changes import PackageChangeField, PackageChangeKind

describe_enum(
    PackageChangeKind,
    "How a package changed: the first kind that applies, in this order.",
    {
        PackageChangeKind.ADDED: "Only in head.",
        PackageChangeKind.REMOVED: "Only in base.",
        PackageChangeKind.UPGRADED: "The newest version rose, in Spack's version order.",
        PackageChangeKind.DOWNGRADED: "The newest version fell.",
        PackageChangeKind.VERSIONS_CHANGED: "The newest version stands, the set of versions "
        "differs.",
        PackageChangeKind.REBUILT: "The same versions, other hashes.",
        PackageChangeKind.CHANGED: "The same hashes, other facts about them.",
    },
)

describe_enum(
    PackageChangeField,
    "What changed packages are ordered by; equal ones stand by name.",
    {
        PackageChangeField.NAME: "By name.",
        PackageChangeField.KIND: "By what happened to them, in the order of PackageChangeKind.",
    },
    name="PackageChangeOrderField",
)


@strawberry.input(description="An order of changed packages.")
class PackageChangeOrder:
    """A field and a direction."""

    field: PackageChangeField = strawberry.field(description="What to order by.")
    direction: OrderDirection = direction_field()


PackageChangeOrderArgument = Annotated[
    PackageChangeOrder | None,
    strawberry.argument(description="In which order; by name unless given."),
]


def _packages_before(rows: ChangeRows[Any]) -> WhereKnown:
    places = rows.table.places
    return where_known(
        rows.table.names.in_base[places], lambda it: PackageRows(rows.comparison.base, it)
    )


def _packages_after(rows: ChangeRows[Any]) -> WhereKnown:
    places = rows.table.places
    return where_known(
        rows.table.names.in_head[places], lambda it: PackageRows(rows.comparison.head, it)
    )


@strawberry.type(description="How a package changed.")
class PackageChange(Change):
    """A package change, with the package on both sides."""

    name: str = of_change(lambda change: change.name, "The package's name.")
    kind: PackageChangeKind = of_change(lambda change: change.kind, "How it changed.")

    before: Package | None = for_many(
        _packages_before, "The package in base; null where it was added."
    )
    after: Package | None = for_many(
        _packages_after, "The package in head; null where it was removed."
    )
    versions_added: list[str] = of_change(
        lambda change: change.versions_added, "Versions only in head, newest first.", texts(60)
    )
    versions_removed: list[str] = of_change(
        lambda change: change.versions_removed, "Versions only in base, newest first.", texts(60)
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


def package_change_connection(
    comparison: LoadedComparison,
    kinds: Sequence[PackageChangeKind] | None,
    search: str | None,
    order: PackageChangeOrder | None,
    arguments: PageArguments,
) -> Connection[PackageChange]:
    """Return the changed packages of some kinds, with a text in their name; None for all."""
    table = comparison.changes.select_packages(kinds, search)
    if order is not None:
        table = table.ordered(order.field, descending=order.direction is OrderDirection.DESC)
    return change_connection(PackageChange, comparison, table, NamedBy(table, "name"), arguments)
