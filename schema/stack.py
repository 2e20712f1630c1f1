"""Stacks: the build environments that specs are built in."""

import strawberry

from schema.connections import After, Before, Connection, First, Last, PageArguments
from schema.context import LoadedRevision
from schema.node import Node, node_id
from schema.package import (
    LazyRevision,
    Package,
    PackageFilterArgument,
    PackageOrderArgument,
    package_connection,
)
from schema.scalars import ByteCount
from schema.spec_arguments import FilterArgument, MatchingArgument, OrderArgument
from schema.spec_connection import SpecConnection, spec_connection
from snapshots.frames.columns import rows_where


@strawberry.type(
    description="A build environment (e4s, ml-linux-x86_64-cuda ...). root is Spack's union of "
    "all of them."
)
class Stack(Node):
    """The specs of a revision that a stack has."""

    loaded: strawberry.Private[LoadedRevision]

    name: str = strawberry.field(description="The stack's name.")

    @strawberry.field(description="Opaque and stable.")
    def id(self) -> strawberry.ID:
        return node_id("Stack", self.loaded.info.key, self.name)

    @strawberry.field(description="The revision that it is part of.")
    def revision(self) -> LazyRevision:
        from schema.revision import Revision

        return Revision(info=self.loaded.info)

    @strawberry.field(description="How many packages have a spec in it.")
    def num_packages(self) -> int:
        frame = self.loaded.frame
        return int(frame.packages_having(frame.in_stack(self.name)).sum())

    @strawberry.field(description="How many specs it has.")
    def num_specs(self) -> int:
        return int(self.loaded.frame.in_stack(self.name).sum())

    @strawberry.field(description="The sum of its binary packages' sizes, as far as known.")
    def total_size(self) -> ByteCount | None:
        frame = self.loaded.frame
        rows = rows_where(frame.in_stack(self.name))
        size = frame.size.total(rows)
        return None if size is None else ByteCount(size)

    @strawberry.field(description="The packages with a spec in it.")
    def packages(
        self,
        filter: PackageFilterArgument = strawberry.UNSET,
        order_by: PackageOrderArgument = strawberry.UNSET,
        first: First = strawberry.UNSET,
        after: After = strawberry.UNSET,
        last: Last = strawberry.UNSET,
        before: Before = strawberry.UNSET,
    ) -> Connection[Package]:
        arguments = PageArguments.of(first, after, last, before)
        return package_connection(self.loaded, self.name, filter, order_by, arguments)

    @strawberry.field(description="Its specs.")
    def specs(
        self,
        matching: MatchingArgument = strawberry.UNSET,
        filter: FilterArgument = strawberry.UNSET,
        order_by: OrderArgument = strawberry.UNSET,
        first: First = strawberry.UNSET,
        after: After = strawberry.UNSET,
        last: Last = strawberry.UNSET,
        before: Before = strawberry.UNSET,
    ) -> SpecConnection:
        within = self.loaded.frame.in_stack(self.name)
        arguments = PageArguments.of(first, after, last, before)
        return spec_connection(self.loaded, within, matching, filter, order_by, arguments)


def stacks_of(loaded: LoadedRevision) -> list[Stack]:
    """Return every stack of a revision, by name."""
    return [Stack(loaded=loaded, name=name) for name in loaded.frame.stacks.items]


def stack_of(loaded: LoadedRevision, name: str) -> Stack | None:
    """Return a stack of a revision; None where it has none of that name."""
    known = name in loaded.frame.stacks.item_index
    return Stack(loaded=loaded, name=name) if known else None
