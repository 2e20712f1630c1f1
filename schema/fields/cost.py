"""The cost of a query, estimated before its execution: units of work, and bytes of its answer.

A unit is some 0.1 to 0.3 microseconds of work: ``python -m tests.benchmarks cost`` measures many
queries. Prices are those of the largest revisions of real caches. Each field states its own where
it is declared: see ``Cost``. ``schema.documents.estimates`` sums them up over an operation.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import strawberry
from graphql import GraphQLField
from strawberry.extensions import FieldExtension

from schema.fields.scalars import described_parts

COST = "cost"
"""The key in a field's metadata of its Cost."""


class ItemsOf(msgspec.Struct, frozen=True):
    """A list that is as long as its page, or as the list in an argument."""

    argument: str | None


class NumberOf(msgspec.Struct, frozen=True):
    """A list whose length is the number in an argument; ``default`` where that is not given.

    Without a default it is as long as the page, and never longer.
    """

    argument: str
    default: int | None = None


ITEMS_OF_PAGE = ItemsOf(None)


class ArgumentCost(msgspec.Struct, frozen=True):
    """The cost of an argument where it is given, on top of its field's, in units.

    ``each`` is for every value in its lists, or every ``%`` and ``^`` in its text. ``once`` is for
    work that is done once in a request: for a text, once for the same text and revision, and each
    ``%`` and ``^`` costs as much again; for other values as that of a field. ``parts`` counts
    otherwise what ``each`` is for.
    """

    weight: float = 0
    each: float = 0
    once: float = 0
    parts: Callable[[Any], float] | None = None


class Cost(msgspec.Struct, frozen=True):
    """The cost of a field, in units.

    ``weight`` is for each execution of the field, and ``once`` for what it does once for all fields
    of the same revision or comparison. ``items`` is the number of values or objects that it
    returns, ``each`` the cost of every one of them whatever is selected of it, and ``each_loaded``
    the cost of loading it, for at most as many as a request may load. ``num_bytes`` is the length
    of the JSON of one value; None for what is usual for its type. ``arguments`` are costs on top
    where they are given. ``page`` is the number of items of pages below a field that is not a
    connection.
    """

    weight: float = 0
    items: float | ItemsOf | NumberOf = 1
    each: float = 0
    once: float = 0
    num_bytes: int | None = None
    arguments: Mapping[str, ArgumentCost] = MappingProxyType({})
    each_loaded: float = 0
    page: ItemsOf | None = None


VALUE = Cost()
"""A value in memory."""


def field(description: str | None = None, cost: Cost = VALUE) -> Any:
    """Declare a field without a resolver; the docstring of its type describes it unless given."""
    return strawberry.field(description=description, metadata={COST: cost})


def resolver(
    cost: Cost = VALUE, *extensions: FieldExtension, description: str | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a method as a field; its docstring describes it unless ``description`` does.

    In a list it describes arguments, which are not annotated with descriptions then.
    """

    def declared(method: Callable[..., Any]) -> Any:
        about, parts = described_parts(method)
        made: Any = strawberry.field(
            method,
            description=description or about,
            metadata={COST: cost},
            extensions=[*extensions],
        )
        arguments = {argument.python_name: argument for argument in made.arguments}
        for name, text in parts.items():
            arguments[name].description = text
        return made

    return declared


def texts(num_bytes: int) -> Cost:
    """Return the cost of a list of texts in memory, ``num_bytes`` long in all."""
    return Cost(num_bytes=num_bytes)


STACKS = 30
"""How many stacks a revision or package may have; the largest real ones have about as many."""

LOADING = 10_000
"""The share of loading a revision that each request pays that asks for its contents."""

COMPARING = 50_000
"""Two revisions are compared."""

EXPLAINING = 100_000
"""Counterparts and causes of two revisions are found."""

COVERING = 60_000
"""The cells of all specs of two revisions are compared."""

TIMELINE = 8_000
"""What a revision after the other did to a package is worked out from its changes."""

SPANS_OF_HASH = 5_000
"""The same of a hash."""

SPANS_OF_EACH = 150
"""The same of a hash, of many at once."""

SPECS_ARGUMENTS = {
    "matching": ArgumentCost(weight=100, once=10_000),
    "filter": ArgumentCost(weight=1_500, each=30),
    "orderBy": ArgumentCost(weight=1_000),
}
"""What the arguments of a connection over all specs of a revision or stack cost."""

PACKAGES_ARGUMENTS = {
    "filter": ArgumentCost(weight=2_500, each=30),
    "orderBy": ArgumentCost(weight=1_000),
}
"""What the arguments of a connection over all packages of a revision or stack cost."""

INTROSPECTED: Mapping[str, Cost] = {
    "types": Cost(items=100),
    "fields": Cost(items=10),
    "directives": Cost(items=6),
    "locations": Cost(num_bytes=100),
    "ofType": Cost(items=0.6),
}
"""The fields of introspection that lead to several or to few, by name: they state no costs."""

FEW_INTROSPECTED = Cost(items=0.6)
"""Any other list of introspection: most fields have no arguments, most types no values."""


def stated_cost(field: GraphQLField) -> Cost | None:
    """Return the cost that a field of the schema states; None where it states none."""
    declared = field.extensions.get("strawberry-definition")
    cost: Cost | None = declared.metadata.get(COST) if declared else None
    return cost


def cost_of(field: GraphQLField, name: str, *, is_list: bool) -> Cost:
    """Return what a field of that name costs, of the schema or of introspection."""
    if (stated := stated_cost(field)) is not None:
        return stated
    if "strawberry-definition" in field.extensions:
        return VALUE
    return INTROSPECTED.get(name, FEW_INTROSPECTED if is_list else VALUE)


def usual_bytes(kind: Any) -> int:
    """Return how long the JSON of a value of a scalar or an enum usually is."""
    return _BYTES.get(kind.name, _BYTES_OF_OTHERS)


_BYTES = {"Boolean": 5, "Int": 6, "ByteCount": 11, "DateTime": 22, "ID": 90, "JSON": 300}
_BYTES_OF_OTHERS = 36
