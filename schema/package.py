"""Packages: all specs of one name in a revision."""

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import strawberry

from schema.batches import Batch, Children, batched, json_texts
from schema.connections import (
    After,
    Before,
    Connection,
    First,
    Last,
    Page,
    PageArguments,
    bad_cursor,
    window,
)
from schema.context import LoadedRevision
from schema.node import Node, node_id
from schema.scalars import ByteCount, given, given_texts
from schema.spec_arguments import (
    FilterArgument,
    MatchingArgument,
    OrderArgument,
    OrderDirection,
)
from schema.spec_connection import SpecConnection, SpecPages, spec_connection, spec_page
from snapshots.frames import filters
from snapshots.frames.columns import Column, ListColumn, Rows
from snapshots.frames.frame import Frame, PackageField

if TYPE_CHECKING:
    from schema.revision import Revision

LazyRevision = Annotated["Revision", strawberry.lazy("schema.revision")]


@strawberry.type(description="How many specs a stack has.")
class StackCount:
    """A stack's share of a package."""

    stack: str = strawberry.field(description="The stack's name.")
    num_specs: int = strawberry.field(description="How many of the package's specs it has.")


def of_frame(value: Callable[[Frame, int], Any], description: str) -> Any:
    """Declare a field whose value follows from the frame and the package's code."""

    def resolve(root: Any) -> Any:
        return value(root.loaded.frame, root.code)

    def texts(packages: "PackageRows") -> list[str]:
        frame = packages.loaded.frame
        return json_texts(value(frame, code) for code in packages.codes.tolist())

    return strawberry.field(resolver=resolve, description=description, metadata=batched(texts))


def values_of(name: str, description: str) -> Any:
    """Declare a field that lists the values of a column among the package's specs."""

    def values(frame: Frame, code: int) -> list[str]:
        column: Column[Any] = getattr(frame, name)
        rows = frame.slice_of(code)
        if isinstance(column, ListColumn):
            return [item for item, _ in column.item_counts(rows)]
        return column.present(rows)

    return of_frame(values, description)


def _name(frame: Frame, code: int) -> str:
    return frame.packages[code]


def _num_specs(frame: Frame, code: int) -> int:
    return int(frame.starts[code + 1] - frame.starts[code])


def _total_size(frame: Frame, code: int) -> int | None:
    return frame.size.total(frame.slice_of(code))


def _versions(frame: Frame, code: int) -> list[str]:
    return frame.version.present(frame.slice_of(code))[::-1]


@strawberry.type(description="All specs of one name in a revision.")
class Package(Node):
    """A slice of a revision's frame."""

    loaded: strawberry.Private[LoadedRevision]
    code: strawberry.Private[int]

    name: str = of_frame(_name, "The package's name.")
    versions: list[str] = of_frame(_versions, "Newest first, in Spack's own version order.")
    compilers: list[str] = values_of("compiler", "The compilers of its specs.")
    operating_systems: list[str] = values_of("operating_system", "What its specs run on.")
    platforms: list[str] = values_of("platform", "The platforms of its specs.")
    targets: list[str] = values_of("target", "The microarchitectures of its specs.")
    stacks: list[str] = values_of("stacks", "The stacks that have a spec of it.")
    num_specs: int = of_frame(_num_specs, "How many specs it has.")
    total_size: ByteCount | None = of_frame(
        _total_size, "The sum of its binary packages' sizes, as far as known."
    )

    @strawberry.field(
        description="Opaque and stable.", metadata=batched(lambda packages: packages.ids())
    )
    def id(self) -> strawberry.ID:
        return node_id("Package", self.loaded.info.key, _name(self.loaded.frame, self.code))

    @strawberry.field(description="The revision that it is part of.")
    def revision(self) -> LazyRevision:
        from schema.revision import Revision

        return Revision(info=self.loaded.info)

    @strawberry.field(description="How many of its specs each stack has, by name.")
    def num_specs_by_stack(self) -> list[StackCount]:
        frame = self.loaded.frame
        counts = frame.stacks.item_counts(frame.slice_of(self.code))
        return [StackCount(stack=stack, num_specs=count) for stack, count in counts]

    @strawberry.field(
        description="Its specs.",
        metadata=batched(lambda packages, **arguments: Children(packages.specs(**arguments))),
    )
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
        rows = self.loaded.frame.slice_of(self.code)
        arguments = PageArguments.of(first, after, last, before)
        return spec_connection(self.loaded, rows, matching, filter, order_by, arguments)


class PackageRows(Batch[Package]):
    """Packages by their codes; each becomes an object only where somebody asks for it."""

    def __init__(self, loaded: LoadedRevision, codes: Rows) -> None:
        self.loaded = loaded
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: Any) -> Any:
        return Package(loaded=self.loaded, code=int(self.codes[place]))

    def names(self) -> list[str]:
        """Return the packages' names."""
        return [self.loaded.frame.packages[code] for code in self.codes.tolist()]

    def ids(self) -> list[str]:
        """Return the JSON texts of the packages' ids."""
        key = self.loaded.info.key
        return [f'"{node_id("Package", key, name)}"' for name in self.names()]

    def specs(
        self,
        matching: MatchingArgument = strawberry.UNSET,
        filter: FilterArgument = strawberry.UNSET,
        order_by: OrderArgument = strawberry.UNSET,
        first: First = strawberry.UNSET,
        after: After = strawberry.UNSET,
        last: Last = strawberry.UNSET,
        before: Before = strawberry.UNSET,
    ) -> SpecPages:
        """Return a page of each package's specs."""
        arguments = PageArguments.of(first, after, last, before)
        asked = (given(matching), given(filter), given(order_by), arguments.after, arguments.before)
        if all(it is None for it in asked):
            bounds = arguments.bounds()
            return SpecPages.of_packages(self.loaded, self.codes, *bounds)
        slice_of = self.loaded.frame.slice_of
        pages = [
            spec_page(self.loaded, slice_of(code), matching, filter, order_by, arguments)
            for code in self.codes.tolist()
        ]
        return SpecPages.of(self.loaded, pages)


# -- lists of packages


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
        return filters.PackageFilter(
            search=given(self.search),
            names=given_texts(self.names),
            stacks=given_texts(self.stacks),
            compilers=given_texts(self.compilers),
            operating_systems=given_texts(self.operating_systems),
            platforms=given_texts(self.platforms),
            targets=given_texts(self.targets),
        )


@strawberry.enum(description="What packages are ordered by; equal ones stand by name.")
class PackageOrderField(Enum):
    """A field to order packages by."""

    NAME = strawberry.enum_value(PackageField.NAME, description="By name.")
    NUM_SPECS = strawberry.enum_value(
        PackageField.NUM_SPECS, description="By the number of specs in the revision."
    )


@strawberry.input(description="An order of packages.")
class PackageOrder:
    """A field and a direction."""

    field: PackageOrderField = strawberry.field(description="What to order by.")
    direction: OrderDirection = strawberry.field(
        default=OrderDirection.ASC, description="Which way."
    )


PackageFilterArgument = Annotated[
    PackageFilter | None, strawberry.argument(description="Which packages; all unless given.")
]
PackageOrderArgument = Annotated[
    PackageOrder | None,
    strawberry.argument(description="In which order; by name unless given."),
]


def package_connection(
    loaded: LoadedRevision,
    stack: str | None,
    wanted: PackageFilter | None,
    order: PackageOrder | None,
    arguments: PageArguments,
) -> Connection[Package]:
    """Return a connection over the packages of a revision, or of those with a spec in a stack.

    Raises InvalidArgument for a bad cursor.
    """
    frame = loaded.frame
    wanted, order = given(wanted), given(order)
    codes = frame.select_packages(wanted.to_domain() if wanted else filters.PackageFilter())
    if stack is not None:
        codes = codes[frame.packages_having(frame.in_stack(stack))[codes]]
    if order is not None:
        codes = frame.sort_packages(codes, order.field.value)
        if order.direction is OrderDirection.DESC:
            codes = codes[::-1]

    def places(cursor: str) -> tuple[int, int]:
        found = np.flatnonzero(codes == frame.package.index.get(cursor, -1))
        if not len(found):
            raise bad_cursor(cursor)
        return int(found[0]), int(found[0]) + 1

    part = window(arguments, len(codes), places)
    shown = PackageRows(loaded, codes[part.start : part.stop])
    return Connection(page=Page(part, shown, shown.names()))
