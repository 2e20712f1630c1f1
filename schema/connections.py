"""Relay's connections: which part of an ordered list a query asks for, and how it is shown.

https://relay.dev/graphql/connections.htm
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import strawberry

from schema.batches import Batch, Children, batched, json_texts
from schema.scalars import given
from snapshots.errors import InvalidArgument

PAGE_DEFAULT = 50
PAGE_MAX = 1000

First = Annotated[
    int | None,
    strawberry.argument(
        description=f"Take this many from the start; {PAGE_DEFAULT} unless `first` or `last` is "
        f"given, at most {PAGE_MAX}."
    ),
]
After = Annotated[
    str | None, strawberry.argument(description="Take only what stands after this cursor.")
]
Last = Annotated[
    int | None,
    strawberry.argument(description=f"Take this many from the end; at most {PAGE_MAX}."),
]
Before = Annotated[
    str | None, strawberry.argument(description="Take only what stands before this cursor.")
]


class PageArguments(NamedTuple):
    """The four arguments of a connection; None where one is not given."""

    first: int | None
    after: str | None
    last: int | None
    before: str | None

    @classmethod
    def of(cls, first: First, after: After, last: Last, before: Before) -> "PageArguments":
        """Check the arguments as a resolver gets them; raises InvalidArgument."""
        return cls(_size("first", first), given(after), _size("last", last), given(before))

    def bounds(self) -> tuple[int | None, int | None]:
        """Return how many to take from the start and from the end; None for all."""
        if self.first is None and self.last is None:
            return PAGE_DEFAULT, None
        return self.first, self.last


def _size(name: str, value: int | None) -> int | None:
    number = given(value)
    if number is None:
        return None
    if not 0 <= number <= PAGE_MAX:
        raise InvalidArgument(name, f"{number} is not between 0 and {PAGE_MAX}")
    size: int = number
    return size


class Window(NamedTuple):
    """A part of an ordered list: from ``start`` up to and without ``stop``, of ``total``."""

    start: int
    stop: int
    total: int


def window(
    arguments: PageArguments, total: int, places: Callable[[str], tuple[int, int]]
) -> Window:
    """Return which part of a list of ``total`` a query asks for.

    ``places`` returns for a cursor how many items stand before it and how many up to and with it;
    the two are equal where the item is not in the list. It raises InvalidArgument for a text that
    is no cursor of the list.
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


Item = TypeVar("Item")


class Page(Generic[Item]):
    """The items of a window, each with its cursor."""

    def __init__(self, part: Window, items: Sequence[Item], cursors: Sequence[str]) -> None:
        self.part = part
        self.items = items
        self._cursors = cursors

    @property
    def cursors(self) -> Sequence[str]:
        """The cursor of each item."""
        return self._cursors

    def cursor_texts(self) -> list[str]:
        """Return the JSON text of each cursor."""
        return json_texts(self.cursors)

    def info(self) -> "PageInfo":
        """Return where the page stands."""
        return page_info(self.part, self.cursors)


def page_of(
    arguments: PageArguments, keys: Sequence[str], make: Callable[[int], Item]
) -> Page[Item]:
    """Return a page of a list that is named by keys, which are the cursors; ``make`` its items."""

    def places(cursor: str) -> tuple[int, int]:
        try:
            place = keys.index(cursor)
        except ValueError:
            raise bad_cursor(cursor) from None
        return place, place + 1

    part = window(arguments, len(keys), places)
    numbers = range(part.start, part.stop)
    return Page(part, [make(number) for number in numbers], keys[part.start : part.stop])


def bad_cursor(cursor: str) -> InvalidArgument:
    """Return the error for a cursor that names nothing in the list."""
    return InvalidArgument(
        "after/before",
        f"{cursor!r} is no cursor of this list; cursors stay right as long as ref names a digest",
    )


def _of_infos(name: str, description: str) -> Any:
    """Declare a field of PageInfo, with a batch form over a list of them."""

    def texts(infos: Sequence[Any]) -> list[str]:
        return json_texts(getattr(info, name) for info in infos)

    return strawberry.field(description=description, metadata=batched(texts))


@strawberry.type(description="Where a page stands in its list.")
class PageInfo:
    """Relay's PageInfo."""

    has_next_page: bool = _of_infos("has_next_page", "Whether more follows.")
    has_previous_page: bool = _of_infos("has_previous_page", "Whether more stands before.")
    start_cursor: str | None = _of_infos("start_cursor", "The cursor of the first edge.")
    end_cursor: str | None = _of_infos("end_cursor", "The cursor of the last edge.")


def page_info(part: Window, cursors: Sequence[str]) -> PageInfo:
    """Return where a page stands; of its cursors only the first and the last count."""
    return PageInfo(
        has_next_page=part.stop < part.total,
        has_previous_page=part.start > 0,
        start_cursor=cursors[0] if cursors else None,
        end_cursor=cursors[-1] if cursors else None,
    )


@strawberry.type(description="An item of a list, with the cursor to go on from.")
class Edge(Generic[Item]):
    """Relay's edge."""

    cursor: str = strawberry.field(
        description="Opaque; for `after` and `before`.",
        metadata=batched(lambda edges: edges.page.cursor_texts()),
    )
    node: Item = strawberry.field(
        description="The item.", metadata=batched(lambda edges: Children(edges.page.items))
    )


class Edges(Batch[Edge[Item]]):
    """The edges of a page."""

    def __init__(self, page: Page[Item]) -> None:
        self.page = page

    def __len__(self) -> int:
        return len(self.page.items)

    def __getitem__(self, place: Any) -> Any:
        return Edge(cursor=self.page.cursors[place], node=self.page.items[place])


@strawberry.type(description="A page of a list.")
class Connection(Generic[Item]):
    """Relay's connection, over a page.

    The batch forms are for many connections of one type: see ``schema.spec_connection.SpecPages``.
    """

    page: strawberry.Private[Page[Item]]

    @strawberry.field(
        description="The items of the page, each with its cursor.",
        metadata=batched(lambda pages: Children(Edges(pages.merged()), pages.counts)),
    )
    def edges(self) -> list[Edge[Item]]:
        return Edges(self.page)  # type: ignore[return-value]  # any sequence is a GraphQL list

    @strawberry.field(
        description="The items of the page.",
        metadata=batched(lambda pages: Children(pages.merged().items, pages.counts)),
    )
    def nodes(self) -> list[Item]:
        return self.page.items  # type: ignore[return-value]

    @strawberry.field(
        description="Where the page stands in the list.",
        metadata=batched(lambda pages: Children(pages.infos())),
    )
    def page_info(self) -> PageInfo:
        return self.page.info()

    @strawberry.field(
        description="How many items the whole list has.",
        metadata=batched(lambda pages: list(map(str, pages.totals))),
    )
    def total_count(self) -> int:
        return self.page.part.total
