"""The cost of a query, computed before its execution: the values that it may return, as GitHub
counts nodes, and the work that its fields share.

A unit is a value of the response, and 0.1 to 3 microseconds of work. Lists count with their largest
possible length, or the numbers of the catalog. ``schema.documents.estimates`` sums costs up over an
operation. They only keep absurd requests out: what a request really takes is bounded while it runs,
by ``schema.execution.budget``.

https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Self
from weakref import WeakKeyDictionary

import msgspec
import strawberry
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema
from strawberry.extensions import FieldExtension

from snapshots.history import History
from snapshots.texts import described_parts

COST = "cost"
"""The key of the Cost in a field's metadata."""

FEW = 10
"""The assumed length of a list that neither arguments nor numbers of the catalog limit."""


class Sizes(msgspec.Struct, frozen=True):
    """The numbers of a catalog; the defaults are those of a large one.

    - tags, series, revisions: all of them.
    - stacks, packages, specs: those of the largest revision.
    """

    tags: int = 120
    series: int = 30
    revisions: int = 1_000
    stacks: int = 30
    packages: int = 4_000
    specs: int = 58_000

    @classmethod
    def of(cls, history: History) -> Self:
        """Return the numbers of a catalog, which are computed once for each history."""
        sizes: Self | None = _SIZES.get(history)
        if sizes is None:
            sizes = _SIZES[history] = cls._counted(history)
        return sizes

    @classmethod
    def _counted(cls, history: History) -> Self:
        revisions = history.revisions
        return cls(
            tags=len(history.tags),
            series=len(history.series_names),
            revisions=len(revisions),
            stacks=max((revision.num_stacks for revision in revisions), default=0),
            packages=max((revision.num_packages for revision in revisions), default=0),
            specs=max((revision.num_specs for revision in revisions), default=0),
        )


_SIZES: WeakKeyDictionary[History, Any] = WeakKeyDictionary()


class Work(Enum):
    """Work that is done once for all fields of a revision or comparison, by its units."""

    LOADING = 10_000
    """The share of each request in loading a revision."""

    COMPARING = 50_000
    """Comparing two revisions, and loading them."""

    EXPLAINING = 150_000
    """Computing the counterparts and causes of two revisions, and comparing them."""

    HISTORIES = 20_000
    """The share of each request in reading the stored changes."""

    @property
    def parts(self) -> tuple["Work", ...]:
        """The work that this work includes, itself among it."""
        return (Work.COMPARING, Work.EXPLAINING) if self is Work.EXPLAINING else (self,)

    @property
    def own_units(self) -> int:
        """The units without those of the other parts."""
        return self.value - sum(part.value for part in self.parts if part is not self)


class Cost(msgspec.Struct, frozen=True):
    """The cost of a field, in units, other than of the values that it returns.

    - weight: The cost of each execution, and again of each condition in its arguments.
    - items: The number of values or objects that it returns, if it differs from that of other
      fields of its type; less than 1 for an object that is often null.
    - work: What is done once for all fields of the same revision or comparison.
    - values: The cost of each value in lists of its arguments.
    - inner_values: The cost of each value in lists of these values: names in rules.
    - of_state: Whether the value depends on the state of the catalog, not only on its revisions, so
      that it is valid in that state alone.
    """

    weight: float = 0
    items: float | None = None
    work: Work | None = None
    values: float = 30
    inner_values: float = 10
    of_state: bool = False


PLAIN = Cost()
"""Values and objects in memory. The default, also of connections, which have PAGE_WEIGHT."""

SMALL, MEDIUM, LARGE = Cost(weight=100), Cost(weight=1_000), Cost(weight=20_000)
"""Some computation for each object: tens of microseconds, a millisecond, several milliseconds."""

LOADED = Cost(work=Work.LOADING)
COMPARED = Cost(work=Work.COMPARING)
EXPLAINED = Cost(work=Work.EXPLAINING)
OF_HISTORY = Cost(work=Work.HISTORIES)

PAGE_WEIGHT = 200
"""The weight of a connection that states none."""


def field(description: str | None = None, cost: Cost = PLAIN) -> Any:
    """Declare a field without a resolver, described by ``description`` or the docstring of its
    type.
    """
    return strawberry.field(description=description, metadata={COST: cost})


def resolver(
    cost: Cost = PLAIN, *extensions: FieldExtension, description: str | None = None
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


INTROSPECTED = Cost(weight=15, items=1)
"""The cost of most fields of introspection, which graphql-core resolves one by one."""

_OTHERS_INTROSPECTED = {
    "types": Cost(weight=15, items=100),
    "fields": Cost(weight=15, items=7),
    "ofType": Cost(weight=15, items=0.5),
}


_LENGTHS = {
    "Tag": "tags",
    "Series": "series",
    "SeriesPackage": "series",
    "Availability": "series",
    "GrowthPoint": "revisions",
    "RevisionConnection": "revisions",
    "Stack": "stacks",
    "StackChange": "stacks",
    "RevisionPackageConnection": "packages",
    "SpecConnection": "specs",
}
"""The lists and connections that are at most as long as a number in ``Sizes``, by their type."""

AS_LONG_AS_THEIR_PAGE = frozenset({"nodes", "edges", "rules"})
"""The lists that are as long as their page, or as a list among the arguments above them."""


def longest(kind: str, sizes: Sizes) -> int | None:
    """Return the number of items of a list or connection of a type in a catalog, if known."""
    name = _LENGTHS.get(kind)
    return None if name is None else getattr(sizes, name)


def cost_of(field: GraphQLField, name: str) -> Cost:
    """Return the cost of a field of the schema or of introspection."""
    declared = field.extensions.get("strawberry-definition")
    if declared is None:
        return _OTHERS_INTROSPECTED.get(name, INTROSPECTED)
    cost: Cost = declared.metadata.get(COST, PLAIN)
    return cost


def fields_of_state(schema: GraphQLSchema) -> frozenset[str]:
    """Return the names of the fields whose values depend on the state of the catalog."""
    types = (kind for kind in schema.type_map.values() if isinstance(kind, GraphQLObjectType))
    fields = (named for kind in types for named in kind.fields.items())
    return frozenset(name for name, field in fields if cost_of(field, name).of_state)
