"""What became of the stacks of two revisions."""

from enum import Enum

import strawberry

from schema.changes import LoadedComparison, kind_of_change, of_change, size_delta
from schema.scalars import ByteCount
from snapshots.changes import stack_changes


@strawberry.enum(description="What became of a stack.")
class StackChangeKind(Enum):
    """A kind of stack change."""

    ADDED = strawberry.enum_value(stack_changes.StackChangeKind.ADDED, description="Only in head.")
    REMOVED = strawberry.enum_value(
        stack_changes.StackChangeKind.REMOVED, description="Only in base."
    )
    CHANGED = strawberry.enum_value(
        stack_changes.StackChangeKind.CHANGED, description="In both, with other specs."
    )


@strawberry.type(description="What became of a stack.")
class StackChange:
    """A stack change."""

    comparison: strawberry.Private[LoadedComparison]
    change: strawberry.Private[stack_changes.StackChange]

    name: str = of_change(lambda change: change.name, "The stack's name.")
    kind: StackChangeKind = kind_of_change(StackChangeKind, "What became of it.")
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
        lambda change: change.packages_added, "Packages it has a spec of now."
    )
    packages_removed: list[str] = of_change(
        lambda change: change.packages_removed, "Packages it has no spec of any more."
    )
