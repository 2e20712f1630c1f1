"""How the stacks of two revisions differ."""

import strawberry

from schema.comparisons.changes import Change, of_change, size_delta
from schema.fields.cost import Cost
from schema.fields.enums import describe_enum
from schema.fields.scalars import ByteCount
from snapshots.changes.stack_changes import StackChangeKind

PACKAGES = Cost(weight=100, num_bytes=10_000)
"""The names of the packages that came to a stack, or left it; of months, thousands."""

describe_enum(
    StackChangeKind,
    "How a stack changed.",
    {
        StackChangeKind.ADDED: "Only in head.",
        StackChangeKind.REMOVED: "Only in base.",
        StackChangeKind.CHANGED: "In both, with other specs.",
    },
)


@strawberry.type(description="How a stack changed.")
class StackChange(Change):
    """A stack change."""

    name: str = of_change(lambda change: change.name, "The stack's name.")
    kind: StackChangeKind = of_change(lambda change: change.kind, "How it changed.")
    num_specs_before: int = of_change(
        lambda change: change.num_specs_before, "How many specs it had in base."
    )
    num_specs_after: int = of_change(
        lambda change: change.num_specs_after, "How many specs it has in head."
    )
    specs_added: int = of_change(lambda change: change.specs_added, "How many hashes it gained.")
    specs_removed: int = of_change(lambda change: change.specs_removed, "How many hashes it lost.")
    size_delta: ByteCount | None = of_change(
        lambda change: size_delta(change.size_before, change.size_after),
        "By how much the sum of its known sizes rose.",
    )
    packages_added: list[str] = of_change(
        lambda change: change.packages_added,
        "Packages that it has a spec of only in head.",
        PACKAGES,
    )
    packages_removed: list[str] = of_change(
        lambda change: change.packages_removed,
        "Packages that it has a spec of only in base.",
        PACKAGES,
    )
