"""What can be asked of specs: filters and orders, as arguments."""

from typing import Annotated

import strawberry

from schema.fields.enums import describe_enum
from schema.fields.ordering import OrderDirection, direction_field
from schema.fields.scalars import given_values
from snapshots.frames import filters
from snapshots.frames.frame import SpecField
from snapshots.frames.matching import MAX_DEPENDENCIES, MAX_LENGTH


@strawberry.input(description="Every list is any-of; the fields together are all-of.")
class SpecFilter:
    """Conditions on specs."""

    search: str | None = strawberry.field(
        default=strawberry.UNSET, description="Case-insensitive substring of the package's name."
    )
    packages: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="Names of packages."
    )
    versions: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="Versions, exactly."
    )
    compilers: list[str] | None = strawberry.field(
        default=strawberry.UNSET,
        description="gcc matches every gcc; gcc@13.2.0 that one.",
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
    stacks: list[str] | None = strawberry.field(
        default=strawberry.UNSET, description="Stacks that have the spec."
    )
    variants: list[str] | None = strawberry.field(
        default=strawberry.UNSET,
        description="All of these must hold: +cuda, ~mpi, build_type=Release.",
    )
    hash_prefix: str | None = strawberry.field(
        default=strawberry.UNSET, description="How the hash begins."
    )

    def to_domain(self) -> filters.SpecFilter:
        """Return the conditions as the frame takes them."""
        return filters.SpecFilter(**given_values(self))


describe_enum(
    SpecField,
    "What specs are ordered by; equal ones stand by package and hash.",
    {
        SpecField.PACKAGE: "By package, newest version first.",
        SpecField.VERSION: "In Spack's version order.",
        SpecField.HASH: "By hash.",
        SpecField.COMPILER: "By name and version; none stands lowest.",
        SpecField.TARGET: "By name.",
        SpecField.SIZE: "By bytes; unknown stands lowest.",
    },
    name="SpecOrderField",
)


@strawberry.input(description="An order of specs.")
class SpecOrder:
    """A field and a direction."""

    field: SpecField = strawberry.field(description="What to order by.")
    direction: OrderDirection = direction_field()


MatchingArgument = Annotated[
    str | None,
    strawberry.argument(
        description="Only specs that a query in Spack's own language asks for: "
        "`hdf5@1.12: +mpi target=x86_64_v3: %gcc@13 ^zlib@1.3:`. Further arguments narrow it down. "
        "What stands behind `%` or `^` describes that dependency, up to the next of them. `%` asks "
        "for a dependency of the spec itself, of any type; a spec of an older format is asked for "
        "the one compiler that it states. `^` asks for what the spec links or runs with, near or "
        "far, and for what it is itself built with. A virtual package stands for what provides it. "
        f"At most {MAX_LENGTH:,} characters and {MAX_DEPENDENCIES} `%` and `^`. A query that "
        "cannot be read is an error with extensions.code BAD_USER_INPUT and extensions.position, "
        "the number of characters before the one at fault. So is, without a position, `^` where "
        "the revision does not tell dependencies, and the name of a package that no revision "
        "knows: the message says which names are nearest, and extensions.nearest lists them. "
        "Behind `%` or `^` such a name is no error: nothing matches, and `unknownNames` tells why."
    ),
]
FilterArgument = Annotated[
    SpecFilter | None, strawberry.argument(description="Which specs; all unless given.")
]
OrderArgument = Annotated[
    SpecOrder | None,
    strawberry.argument(description="In which order; by package, newest first, unless given."),
]
