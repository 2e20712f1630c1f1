"""Relay's connections: arguments, pages of ordered lists, and their edges.

https://relay.dev/graphql/connections.htm
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from itertools import accumulate
from types import MappingProxyType
from typing import Annotated, Any, Generic, TypeVar

import msgspec
import strawberry
from graphql import GraphQLField
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from schema.fields.cost import PAGE_WEIGHT, PLAIN, Cost, resolver
from schema.fields.gql import Omittable, describe_enum, object_type
from schema.fields.many import COLUMN, ColumnTable, ComputedList, Sublists, for_many
from snapshots.errors import CursorExpired, InvalidArgument
from snapshots.texts import quoted, short_digest


@strawberry.enum(description="The direction of an order.")
class OrderDirection(Enum):
    """A direction."""

    ASC = strawberry.enum_value("asc", description="From low to high.")
    DESC = strawberry.enum_value("desc", description="From high to low: the reverse of ASC.")


class Order:
    """The field by which a list is ordered, and the direction: an input object of the API, see
    ``order_by``.
    """

    field: Any
    direction: OrderDirection

    @property
    def is_descending(self) -> bool:
        """Whether the order is from high to low."""
        return self.direction is OrderDirection.DESC


def order_by(
    name: str, items: str, fields: type[Enum], *, ties: str, default: str | None = None
) -> Any:
    """Declare the order of some items as an input object, and return an argument of its type.

    The docstring of ``fields`` describes the fields. Ties are ordered by ``ties``. ``default``
    describes the default order, which is that of ties unless given.
    """
    about = f"The fields by which {items} can be ordered; ties are ordered by {ties}."
    describe_enum(fields, name=f"{name}Field", description=about)
    namespace = {
        "__annotations__": {"field": fields, "direction": OrderDirection},
        "__module__": __name__,
        "field": strawberry.field(description="The field to order by."),
        "direction": strawberry.field(default=OrderDirection.ASC, description="The direction."),
    }
    order = strawberry.input(type(name, (Order,), namespace), description=f"An order of {items}.")
    described = f"The order; by default, by {default or ties}."
    return strawberry.argument(described, graphql_type=order | None)


PAGE_DEFAULT = 50
PAGE_MAX = 1000

_IS_WHOLE: ContextVar[bool] = ContextVar("is_whole", default=False)


@contextmanager
def whole_lists() -> Iterator[None]:
    """Let the lists of documents that are executed in this context have any length.

    They are whole unless a document limits them: for documents of this process alone.
    """
    token = _IS_WHOLE.set(True)
    try:
        yield
    finally:
        _IS_WHOLE.reset(token)


_ARGUMENTS = {
    "first": (
        int | None,
        f"Maximum number of items from the start, up to {PAGE_MAX}; {PAGE_DEFAULT} if neither "
        "`first` nor `last` is given.",
    ),
    "after": (str | None, "Return only items after this cursor."),
    "last": (int | None, f"Maximum number of items from the end, up to {PAGE_MAX}."),
    "before": (str | None, "Return only items before this cursor."),
}
"""The types and descriptions of the four arguments of a connection."""


class PageArguments(msgspec.Struct, frozen=True):
    """The four arguments of a connection; None for those that are not given."""

    first: int | None
    after: str | None
    last: int | None
    before: str | None

    def bounds(self) -> tuple[int | None, int | None]:
        """Return the numbers of items from the start and from the end; None for all."""
        if self.first is None and self.last is None:
            return None if _IS_WHOLE.get() else PAGE_DEFAULT, None
        return self.first, self.last

    def within(self, *digests: str) -> "PageArguments":
        """Return the arguments for a list of a content, or of a comparison of two, with the keys of
        ``cursor_of`` as cursors.

        Raises InvalidArgument for a text that is not such a cursor, and CursorExpired for a cursor
        of another content, which a ref such as a tag named before.
        """
        after, before = _key_within(self.after, digests), _key_within(self.before, digests)
        return msgspec.structs.replace(self, after=after, before=before)


_MARK = ":"
"""The separator between the digest and the key in a cursor of a content."""


def cursor_of(*digests: str, key: str) -> str:
    """Return the cursor of an item of a content, or of a comparison of two: their digests,
    shortened, and the item's key.
    """
    return f"{_content_of(digests)}{_MARK}{key}"


def _content_of(digests: Sequence[str]) -> str:
    return ".".join(map(short_digest, digests))


def _key_within(cursor: str | None, digests: Sequence[str]) -> str | None:
    if cursor is None:
        return None
    content, mark, key = cursor.partition(_MARK)
    if not mark:
        raise bad_cursor(cursor)
    if content != _content_of(digests):
        reason = f"{quoted(cursor)} is a cursor of another content; begin at the first page"
        raise CursorExpired("after/before", reason)
    return key


def check_size(argument: str, size: int, most: int = PAGE_MAX) -> None:
    """Raise InvalidArgument for a negative size, or one of more than ``most`` items."""
    if size < 0 or (size > most and not _IS_WHOLE.get()):
        raise InvalidArgument(argument, f"{size} is not between 0 and {most}")


class Paged(Omittable):
    """An extension that adds the four arguments of a connection to a field.

    The resolver receives them, checked, as a single argument ``page`` of type PageArguments.
    """

    def apply(self, field: StrawberryField) -> None:
        """Replace ``page`` with the four arguments."""
        super().apply(field)
        own = [
            argument
            for argument in field.arguments
            if argument.python_name not in {"page", *_ARGUMENTS}
        ]
        field.arguments = own + [
            StrawberryArgument(name, None, StrawberryAnnotation(kind), description=description)
            for name, (kind, description) in _ARGUMENTS.items()
        ]

    def map_arguments(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with ``page`` in place of the four; raises InvalidArgument."""
        values = {name: kwargs.pop(name, None) for name in _ARGUMENTS}
        for name in ("first", "last"):
            if values[name] is not None:
                check_size(name, values[name])
        return kwargs | {"page": PageArguments(**values)}


FirstArgument = Annotated[int, strawberry.argument(f"Maximum number of items, up to {PAGE_MAX}.")]
"""The maximum number of items of a list; see ``check_size``."""


class Window(msgspec.Struct, frozen=True):
    """A part of an ordered list of ``total`` items: from ``start`` to ``stop``, exclusive."""

    start: int
    stop: int
    total: int


def window(
    arguments: PageArguments, total: int, places: Callable[[str], tuple[int, int]]
) -> Window:
    """Return the part of a list of ``total`` items that the arguments select.

    ``places`` returns, for a cursor, the number of items before it, and the number of items before
    or at it. The two are equal if the item of the cursor is not in the list. It raises
    InvalidArgument for a text that is not a cursor of the list.
    """
    first, last = arguments.bounds()
    start = places(arguments.after)[1] if arguments.after is not None else 0
    stop = places(arguments.before)[0] if arguments.before is not None else total
    stop = max(start, stop)
    if first is not None:
        stop = min(stop, start + first)
    if last is not None:
        start = max(start, stop - last)
    return Window(start, stop, total)


def window_at(arguments: PageArguments, total: int, find: Callable[[str], int | None]) -> Window:
    """Return the part of a list that the arguments select, if each cursor names an item of the
    list.

    ``find`` returns the index of a cursor's item, None for any other text. Raises InvalidArgument.
    """

    def places(cursor: str) -> tuple[int, int]:
        place = find(cursor)
        if place is None:
            raise bad_cursor(cursor)
        return place, place + 1

    return window(arguments, total, places)


def bad_cursor(cursor: str) -> InvalidArgument:
    """Return the error for a cursor that names no item of the list."""
    hint = "cursors remain valid only if ref is the `ref` of a revision"
    return InvalidArgument("after/before", f"{quoted(cursor)} is not a cursor of this list; {hint}")


Item = TypeVar("Item")


@object_type
class PageInfo:
    """The position of a page in its list."""

    has_next_page: bool = strawberry.field(description="Whether there are items after this page.")
    has_previous_page: bool = strawberry.field(
        description="Whether there are items before this page."
    )
    start_cursor: str | None = strawberry.field(description="The cursor of the first edge.")
    end_cursor: str | None = strawberry.field(description="The cursor of the last edge.")
    start_index: int = strawberry.field(description="Number of items before this page.")

    @classmethod
    def of(cls, part: Window, cursors: Sequence[str], offset: int) -> "PageInfo":
        """Return the position of a part, whose cursors begin at an offset."""
        size = part.stop - part.start
        return cls(
            has_next_page=part.stop < part.total,
            has_previous_page=part.start > 0,
            start_cursor=cursors[offset] if size else None,
            end_cursor=cursors[offset + size - 1] if size else None,
            start_index=part.start,
        )


@object_type
class Edge(Generic[Item]):
    """An item of a list, with its cursor."""

    cursor: str = strawberry.field(description="An opaque cursor, for `after` and `before`.")
    node: Item = strawberry.field(description="The item.", metadata={COLUMN: True})


class ListPage(Generic[Item]):
    """The items of a part of a list, each with its cursor; or of parts of several lists, one after
    another, from which several connections are rendered.

    ``of_edges`` has the values of the additional fields of edges, other than the cursor and the
    item.
    """

    def __init__(
        self,
        parts: Sequence[Window],
        items: Sequence[Item],
        cursors: Sequence[str],
        edge_type: type[Any] = Edge,
        of_edges: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    ) -> None:
        self.parts = parts
        self.items = items
        self.cursors = cursors
        self.edge_type = edge_type
        self.edge_columns = {"cursor": cursors, "node": items, **of_edges}

    @property
    def counts(self) -> list[int]:
        """The number of items of each part."""
        return [part.stop - part.start for part in self.parts]


def _edges(page: ListPage[Any]) -> Sublists:
    return Sublists(ColumnTable(page.edge_type, page.edge_columns), page.counts)


def _nodes(page: ListPage[Any]) -> Sublists:
    """The items of the page."""
    return Sublists(page.items, page.counts)


def _infos(page: ListPage[Any]) -> list[PageInfo]:
    """The position of the page in the list."""
    offsets = accumulate(page.counts, initial=0)
    return [
        PageInfo.of(part, page.cursors, offset)
        for part, offset in zip(page.parts, offsets, strict=False)
    ]


def _totals(page: ListPage[Any]) -> list[int]:
    """Number of items in the entire list."""
    return [part.total for part in page.parts]


def connection_field(
    cost: Cost = PLAIN, description: str | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a method as a connection; it receives the four arguments of Relay as ``page``."""
    cost = cost if cost.weight else msgspec.structs.replace(cost, weight=PAGE_WEIGHT)
    return resolver(cost, Paged(), description=description)


def edges_field() -> Any:
    """Declare the edges of a connection."""
    description = "The items of the page, each with its cursor."
    return for_many(_edges, description, is_fixed=True)


@object_type
class Connection(Generic[Item]):
    """A page of a list."""

    page: strawberry.Private[ListPage[Item]]

    edges: list[Edge[Item]] = edges_field()
    nodes: list[Item] = for_many(_nodes, is_fixed=True)
    page_info: PageInfo = for_many(_infos, is_fixed=True)
    total_count: int = for_many(_totals, is_fixed=True)

    def alone(self) -> ListPage[Item]:
        """Return the page of only this connection."""
        return self.page


def is_paged(field: GraphQLField) -> bool:
    """Return whether a field of the schema is a connection, whose arguments determine the page
    size.
    """
    declared = field.extensions.get("strawberry-definition")
    return declared is not None and any(
        isinstance(extension, Paged) for extension in declared.extensions
    )


def connection_of(
    arguments: PageArguments,
    keys: Sequence[str],
    make: Callable[[int], Item],
) -> Connection[Item]:
    """Return a page of a list whose items have ``keys`` as cursors; ``make`` returns the item at an
    index.
    """

    def find(cursor: str) -> int | None:
        try:
            return keys.index(cursor)
        except ValueError:
            return None

    part = window_at(arguments, len(keys), find)
    items = ComputedList(part.stop - part.start, lambda place: make(part.start + place))
    return Connection(page=ListPage([part], items, keys[part.start : part.stop]))
