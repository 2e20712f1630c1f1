"""What can be asked of packages: filters and orders, as arguments."""

from typing import Annotated

import strawberry

from schema.fields.enums import describe_enum
from schema.fields.ordering import OrderDirection, direction_field
from schema.fields.scalars import given_values
from snapshots.frames import filters
from snapshots.frames.frame import PackageField


@strawberry.input(
    description="Every list is any-of; the fields together are all-of. The conditions on specs "
    "(stacks, compilers, targets ...) must all be met by one spec of the package."
)
class PackageFilter:
    """Conditions on packages."""

    search: str | None = strawberry.field(
        default=strawberry.UNSET, description="Case-insensitive substring of the name."
    )
    names: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="Names, exactly."
    )
    stacks: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="Stacks that have a spec of the package."
    )
    compilers: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="gcc matches every gcc; gcc@13.2.0 that one."
    )
    operating_systems: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="Operating systems."
    )
    platforms: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="Platforms."
    )
    targets: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="Microarchitectures."
    )

    def to_domain(self) -> filters.PackageFilter:
        """Return the conditions as the frame takes them."""
        return filters.PackageFilter(**given_values(self))


describe_enum(
    PackageField,
    "What packages are ordered by; equal ones stand by name.",
    {
        PackageField.NAME: "By name.",
        PackageField.NUM_SPECS: "By the number of specs in the revision.",
        PackageField.SIZE: "By the sum of the known sizes in the revision; unknown stands lowest.",
    },
    name="PackageOrderField",
)


@strawberry.input(description="An order of packages.")
class PackageOrder:
    """A field and a direction."""

    field: PackageField = strawberry.field(description="What to order by.")
    direction: OrderDirection = direction_field()


PackageFilterArgument = Annotated[
    PackageFilter | None, strawberry.argument(description="Which packages; all unless given.")
]
PackageOrderArgument = Annotated[
    PackageOrder | None,
    strawberry.argument(description="In which order; by name unless given."),
]
