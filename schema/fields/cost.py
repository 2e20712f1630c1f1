"""The cost of a query, estimated before its execution: units of work, and bytes of the response.

A unit is about 0.1 to 0.3 microseconds of work; ``python -m tests.benchmarks cost`` measures many
queries. The costs are those of the largest revisions of real caches. Each field declares its cost:
see ``Cost``. ``schema.documents.estimates`` sums them up over an operation.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import strawberry
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema
from strawberry.extensions import FieldExtension

from snapshots.texts import described_parts

COST = "cost"
"""The key of the Cost in a field's metadata."""


class ListLength(msgspec.Struct, frozen=True):
    """The length of a list that is as long as its page (None), or as the list in an argument."""

    argument: str | None


class NumberArgument(msgspec.Struct, frozen=True):
    """The length of a list that is the number in an argument; ``default`` if it is not given.

    Without a default, the list is as long as the page, and never longer.
    """

    argument: str
    default: int | None = None


ITEMS_OF_PAGE = ListLength(None)


class ArgumentCost(msgspec.Struct, frozen=True):
    """The cost of an argument if it is given, in addition to that of its field, in units.

    ``each`` is the cost of every value in its lists, or of every ``%`` and ``^`` in its text.
    ``once`` is the cost of work that is done once in a request: for a text, once for each text and
    revision, and the same again for each ``%`` and ``^``; for other values, as for a field.
    ``parts``, if given, counts the parts that ``each`` applies to.
    """

    weight: float = 0
    each: float = 0
    once: float = 0
    parts: Callable[[Any], float] | None = None


class Cost(msgspec.Struct, frozen=True):
    """The cost of a field, in units.

    ``weight`` is the cost of each execution of the field, and ``once`` that of work that is done
    once for all fields of the same revision or comparison. ``items`` is the number of values or
    objects that it returns. ``each`` is the cost of each of them, regardless of its selected
    fields, and ``each_loaded`` the cost of loading it, for at most as many as a request may load.
    ``num_bytes`` is the length of the JSON of one value; None for the typical length of its type.
    ``arguments`` are the additional costs of given arguments. ``page`` is the number of items of
    pages below a field that is not a connection. ``of_state`` means that the value depends on the
    state of the catalog, not only on its revisions, so that it is valid in that state alone.
    """

    weight: float = 0
    items: float | ListLength | NumberArgument = 1
    each: float = 0
    once: float = 0
    num_bytes: int | None = None
    arguments: Mapping[str, ArgumentCost] = MappingProxyType({})
    each_loaded: float = 0
    page: ListLength | None = None
    of_state: bool = False


VALUE = Cost()
"""A value in memory."""


def field(description: str | None = None, cost: Cost = VALUE) -> Any:
    """Declare a field without a resolver, described by ``description`` or the docstring of its
    type.
    """
    return strawberry.field(description=description, metadata={COST: cost})


def resolver(
    cost: Cost = VALUE, *extensions: FieldExtension, description: str | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a method as a field, described by ``description`` or its docstring.

    A list in the docstring describes arguments that are not annotated with a description.
    """

    def declared(method: Callable[..., Any]) -> Any:
        about, parts = described_parts(method)
        field: Any = strawberry.field(
            method,
            description=description or about,
            metadata={COST: cost},
            extensions=[*extensions],
        )
        arguments = {argument.python_name: argument for argument in field.arguments}
        for name, text in parts.items():
            arguments[name].description = text
        return field

    return declared


def texts(num_bytes: int) -> Cost:
    """Return the cost of a list of texts in memory, ``num_bytes`` long in total."""
    return Cost(num_bytes=num_bytes)


INTROSPECTED: Mapping[str, Cost] = {
    "types": Cost(items=100),
    "fields": Cost(items=10),
    "directives": Cost(items=6),
    "locations": Cost(num_bytes=100),
    "ofType": Cost(items=0.6),
}
"""The costs of introspection fields, which declare none, by name."""

FEW_INTROSPECTED = Cost(items=0.6)
"""The cost of other lists of introspection: most fields have no arguments, most types no values."""


def stated_cost(field: GraphQLField) -> Cost | None:
    """Return the cost that a field of the schema declares; None if it declares none."""
    declared = field.extensions.get("strawberry-definition")
    cost: Cost | None = declared.metadata.get(COST) if declared else None
    return cost


def fields_of_state(schema: GraphQLSchema) -> frozenset[str]:
    """Return the names of the fields whose values depend on the state of the catalog."""
    types = (kind for kind in schema.type_map.values() if isinstance(kind, GraphQLObjectType))
    fields = (named for kind in types for named in kind.fields.items())
    return frozenset(
        name for name, field in fields if (cost := stated_cost(field)) and cost.of_state
    )


def cost_of(field: GraphQLField, name: str, *, is_list: bool) -> Cost:
    """Return the cost of a field of the schema or of introspection."""
    if (stated := stated_cost(field)) is not None:
        return stated
    if "strawberry-definition" in field.extensions:
        return VALUE
    return INTROSPECTED.get(name, FEW_INTROSPECTED if is_list else VALUE)


def usual_bytes(kind: Any) -> int:
    """Return the typical length of the JSON of a scalar or an enum."""
    return _BYTES.get(kind.name, _BYTES_OF_OTHERS)


_BYTES = {"Boolean": 5, "Int": 6, "ByteCount": 11, "DateTime": 22, "ID": 90, "JSON": 300}
_BYTES_OF_OTHERS = 36
