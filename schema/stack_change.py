"""What became of the stacks of two revisions."""

import strawberry

from schema.changes import Change, of_change, size_delta
from schema.enums import describe_enum
from schema.scalars import ByteCount
from snapshots.changes.stack_changes import StackChangeKind

describe_enum(
    StackChangeKind,
    "What became of a stack.",
    {
        StackChangeKind.ADDED: "Only in head.",
        StackChangeKind.REMOVED: "Only in base.",
        StackChangeKind.CHANGED: "In both, with other specs.",
    },
)


@strawberry.type(description="What became of a stack.")
class StackChange(Change):
    """A stack change."""

    name: str = of_change(lambda change: change.name, "The stack's name.")
    kind: StackChangeKind = of_change(lambda change: change.kind, "What became of it.")
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
