"""Stacks: the build environments that specs are built in."""

from typing import Self

import strawberry

from schema.context import Context, LoadedRevision
from schema.fields.connections import Connection, PageArguments, connection_field
from schema.fields.cost import PACKAGES_ARGUMENTS, SPECS_ARGUMENTS, Cost, field, resolver
from schema.fields.scalars import ByteCount, object_type
from schema.node import Node, id_field, revision_of_key
from schema.revisions.package import (
    LazyRevision,
    Package,
    PackageFilterArgument,
    PackageOrderArgument,
    package_connection,
    revision_object,
)
from schema.revisions.spec import (
    FilterArgument,
    MatchingArgument,
    OrderArgument,
    SpecConnection,
    spec_page,
)
from snapshots.frames.columns import rows_where


@object_type
class Stack(Node):
    """A build environment (e4s, ml-linux-x86_64-cuda ...). root is Spack's union of all of them."""

    loaded: strawberry.Private[LoadedRevision]

    name: str = field("The stack's name.")

    @classmethod
    def of_id(cls, context: Context, key: str, name: str) -> Self | None:
        """Return the stack of a revision's key and a name."""
        loaded = revision_of_key(context, key)
        return None if loaded is None else cls.named(loaded, name)

    @classmethod
    def named(cls, loaded: LoadedRevision, name: str) -> Self | None:
        """Return a stack of a revision; None where it has none of that name."""
        return cls(loaded=loaded, name=name) if name in loaded.frame.stacks.item_index else None

    id = id_field("Stack", "loaded.info.key", "name")

    @resolver()
    def revision(self) -> LazyRevision:
        """The revision that it is part of."""
        return revision_object(self.loaded.info)

    @resolver(Cost(weight=500))
    def num_packages(self) -> int:
        """How many packages have a spec in it."""
        frame = self.loaded.frame
        return int(frame.packages_having(frame.in_stack(self.name)).sum())

    @resolver(Cost(weight=250))
    def num_specs(self) -> int:
        """How many specs it has."""
        return int(self.loaded.frame.in_stack(self.name).sum())

    @resolver(Cost(weight=700))
    def total_size(self) -> ByteCount | None:
        """The sum of its binary packages' sizes, as far as known."""
        frame = self.loaded.frame
        rows = rows_where(frame.in_stack(self.name))
        size = frame.size.total(rows)
        return None if size is None else ByteCount(size)

    @connection_field(Cost(weight=750, each=1, arguments=PACKAGES_ARGUMENTS))
    def packages(
        self,
        filter: PackageFilterArgument = None,
        order_by: PackageOrderArgument = None,
        *,
        page: PageArguments,
    ) -> Connection[Package]:
        """The packages with a spec in it."""
        return package_connection(self.loaded, self.name, filter, order_by, page)

    @connection_field(Cost(weight=900, arguments=SPECS_ARGUMENTS))
    def specs(
        self,
        matching: MatchingArgument = None,
        filter: FilterArgument = None,
        order_by: OrderArgument = None,
        *,
        page: PageArguments,
    ) -> SpecConnection:
        """Its specs."""
        within = self.loaded.frame.in_stack(self.name)
        shown = spec_page(self.loaded, within, matching, filter, order_by, page)
        return SpecConnection(page=shown)


def stacks_of(loaded: LoadedRevision) -> list[Stack]:
    """Return the stacks of a revision by name, root among them."""
    return [Stack(loaded=loaded, name=name) for name in loaded.frame.stacks.items]
