"""Which part of an ordered list a query asks for, as Relay's connections have it.

https://relay.dev/graphql/connections.htm
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from strawberry.annotation import StrawberryAnnotation
from strawberry.extensions import FieldExtension
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from schema.fields.scalars import none_if_omitted
from snapshots.errors import InvalidArgument
from snapshots.wording import quoted

PAGE_DEFAULT = 50
PAGE_MAX = 1000

_ARGUMENTS = {
    "first": (
        int | None,
        f"Take this many from the start; {PAGE_DEFAULT} unless `first` or `last` is given, at most "
        f"{PAGE_MAX}.",
    ),
    "after": (str | None, "Take only what stands after this cursor."),
    "last": (int | None, f"Take this many from the end; at most {PAGE_MAX}."),
    "before": (str | None, "Take only what stands before this cursor."),
}
"""The types and descriptions of the four arguments of a connection."""


class PageArguments(NamedTuple):
    """The four arguments of a connection; None where one is not given."""

    first: int | None
    after: str | None
    last: int | None
    before: str | None

    def bounds(self) -> tuple[int | None, int | None]:
        """Return how many to take from the start and from the end; None for all."""
        if self.first is None and self.last is None:
            return PAGE_DEFAULT, None
        return self.first, self.last


class Paged(FieldExtension):
    """Gives a field the four arguments of a connection.

    Its resolver gets them checked and in one: as ``page``, of type PageArguments.
    """

    def apply(self, field: StrawberryField) -> None:
        """Put the four arguments in the place of ``page``."""
        own = [it for it in field.arguments if it.python_name not in {"page", *_ARGUMENTS}]
        field.arguments = own + [
            StrawberryArgument(name, None, StrawberryAnnotation(kind), description=description)
            for name, (kind, description) in _ARGUMENTS.items()
        ]

    def map_arguments(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with ``page`` for the four; raises InvalidArgument."""
        given = {name: none_if_omitted(kwargs.pop(name, None)) for name in _ARGUMENTS}
        for name in ("first", "last"):
            size = given[name]
            if size is not None and not 0 <= size <= PAGE_MAX:
                raise InvalidArgument(name, f"{size} is not between 0 and {PAGE_MAX}")
        return kwargs | {"page": PageArguments(**given)}


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


def bad_cursor(cursor: str) -> InvalidArgument:
    """Return the error for a cursor that names nothing in the list."""
    hint = "cursors stay right as long as ref names a digest"
    return InvalidArgument("after/before", f"{quoted(cursor)} is no cursor of this list; {hint}")
