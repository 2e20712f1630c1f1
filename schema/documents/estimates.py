"""The cost of an operation, summed over its selections, and the refusal of expensive operations.

A fragment counts each time it is spread, each alias counts, and selections that ``@skip`` and
``@include`` omit do not count. Pages count as full, but not longer than the catalog allows. Sizes
are clamped to the range that the field allows, so that no argument results in a negative cost.
"""

from collections.abc import Mapping
from heapq import nlargest
from itertools import chain
from typing import Any

import graphql
import msgspec

from schema.documents.bounds import refuse
from schema.errors import CLIENT_TEXT
from schema.execution.budget import QUERY_TOO_LARGE
from schema.fields import relay
from schema.fields.cost import AS_LONG_AS_THEIR_PAGE, FEW, Cost, Sizes, Work, cost_of, longest
from schema.limits import Limits
from snapshots.texts import shortened

Path = tuple[str, ...]


class Estimate(msgspec.Struct, frozen=True):
    """The cost of an operation, in units.

    - units: The values that it may return, and all work.
    - shared_units: The share of work whose results requests share, which takes no time if they are
      in memory: loading, comparing and explaining revisions.
    - dearest: The most expensive fields, the first most, each with its path in the response.
    - filter_values: The number of values of the longest filter.
    """

    units: int
    shared_units: int = 0
    dearest: tuple[tuple[Path, int], ...] = ()
    filter_values: int = 0


NOTHING = Estimate(0)
"""The cost of an operation that is not executed."""

NUM_DEAREST = 3
_LONGEST_PATH = CLIENT_TEXT // NUM_DEAREST

REQUEST = 50
"""Units of a request without any fields."""

MATCHING = 10_000
"""Units for evaluating a query in Spack's syntax on a revision, and again for each dependency."""


def too_expensive(estimate: Estimate, limits: Limits) -> graphql.GraphQLFormattedError | None:
    """Return the error for an operation that exceeds the allowed cost; None if it does not."""
    if estimate.filter_values > limits.max_filter_values:
        return refuse("Values in a filter", estimate.filter_values, limits.max_filter_values)
    if estimate.units <= limits.max_cost:
        return None
    takes = ", ".join(
        f"{shortened('.'.join(path), _LONGEST_PATH)} ({_rounded(units)})"
        for path, units in estimate.dearest
    )
    message = (
        f"The query costs {_rounded(estimate.units)} units; {limits.max_cost:,} are allowed. Most "
        f"of it: {takes}. Request smaller pages, or nest fewer of them."
    )
    dearest = [{"path": [*path], "cost": units} for path, units in estimate.dearest]
    cost = {"requested": estimate.units, "limit": limits.max_cost, "mostExpensive": dearest}
    return {"message": message, "extensions": {"code": QUERY_TOO_LARGE, "cost": cost}}


def _rounded(number: int) -> str:
    return f"{number:,}" if number < 10**12 else "more than 10^12"


_SCOPES = frozenset({"Revision", "Comparison", "Lookup", "SpecComparison"})
"""The types whose objects load or compare data once for all of their fields."""

_META_FIELDS = {"__schema": graphql.SchemaMetaFieldDef, "__type": graphql.TypeMetaFieldDef}

_MAX_LOADED = Limits.max_revisions
"""Maximum number of revisions whose loading counts: a request may not load more."""


class _Place(msgspec.Struct, frozen=True):
    """The position of a selection in the response.

    It is executed ``times`` times, on pages of ``page`` items. ``scope`` is the number of the
    revision or comparison that it is part of, of which there are ``scopes``.
    """

    path: Path
    times: float
    page: int
    scope: int
    scopes: float


def estimate(
    schema: graphql.GraphQLSchema,
    document: graphql.DocumentNode,
    operation: graphql.OperationDefinitionNode,
    variables: Mapping[str, Any],
    sizes: Sizes,
) -> Estimate:
    """Return the cost of an operation of a valid document, with its coerced variables, in a catalog
    of some sizes.
    """
    root = schema.get_root_type(operation.operation)
    walk = _Walk(schema, document, variables, sizes)
    walk.below(root, operation.selection_set, _Place((), times=1, page=1, scope=0, scopes=1))
    dearest = nlargest(NUM_DEAREST, walk.parts, key=lambda part: part[1])
    return Estimate(
        round(REQUEST + sum(units for _, units in walk.parts)),
        round(walk.shared_units),
        tuple((path, round(units)) for path, units in dearest),
        walk.filter_values,
    )


class _Walk:
    """A walk through the selections of an operation.

    ``parts`` has the path and the units of each selected field, without those below it.
    """

    def __init__(
        self,
        schema: graphql.GraphQLSchema,
        document: graphql.DocumentNode,
        variables: Mapping[str, Any],
        sizes: Sizes,
    ) -> None:
        self._schema = schema
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, graphql.FragmentDefinitionNode)
        }
        self._variables = dict(variables)
        self._sizes = sizes
        self.parts: list[tuple[Path, float]] = []
        self.shared_units = 0.0
        self.filter_values = 0
        self._once: set[tuple[Any, ...]] = set()
        self._scopes: dict[tuple[Any, ...], int] = {}
        # Fragments are walked each time they are spread; their arguments are read once.
        self._values: dict[int, Any] = {}

    def below(self, parent: Any, selected: graphql.SelectionSetNode | None, place: _Place) -> None:
        """Add the cost of a selection, for all of its executions together."""
        for node in selected.selections if selected else ():
            if node.directives and not self._is_included(node):
                continue
            if isinstance(node, graphql.FieldNode):
                self._field(parent, node, place)
                continue
            fragment: Any = node
            if isinstance(node, graphql.FragmentSpreadNode):
                fragment = self._fragments[node.name.value]
            condition = fragment.type_condition
            kind = self._schema.get_type(condition.name.value) if condition else parent
            self.below(kind, fragment.selection_set, place)

    def _is_included(self, node: Any) -> bool:
        for directive in node.directives:
            condition = self._value(_arguments(directive).get("if"))
            if (directive.name.value, condition) in {("skip", True), ("include", False)}:
                return False
        return True

    def _field(self, parent: Any, node: graphql.FieldNode, place: _Place) -> None:
        path = *place.path, (node.alias or node.name).value
        name = node.name.value
        field: Any = _META_FIELDS.get(name) or parent.fields.get(name)
        if field is None:  # __typename
            self.parts.append((path, place.times))
            return
        kind = graphql.get_named_type(field.type)
        cost, given = cost_of(field, name), _arguments(node)
        number = self._number(field, given)
        page = self._page(field, kind.name, given, number, place.page)
        items = 1.0 if cost.items is None else cost.items
        if graphql.is_list_type(graphql.get_nullable_type(field.type)):
            if name in AS_LONG_AS_THEIR_PAGE:
                items = page
            elif cost.items is None:
                most = longest(kind.name, self._sizes)
                items = most if most is not None else FEW if number is None else number
            items = items if number is None else min(items, number)
        times = place.times * items
        units = times + place.times * self._execution(field, cost, given, place)
        if cost.work is not None:
            units += sum(self._shared(place, part) for part in cost.work.parts)
        self.parts.append((path, units))
        if not graphql.is_leaf_type(kind):
            scope, scopes = place.scope, place.scopes
            if kind.name in _SCOPES or not hasattr(kind, "fields") or kind.name == "Node":
                texts = ((argument, _written(given[argument])) for argument in sorted(given))
                key = scope, name, *texts
                scope, scopes = self._scopes.setdefault(key, len(self._scopes) + 1), times
            self.below(kind, node.selection_set, _Place(path, times, page, scope, scopes))

    def _number(
        self, field: graphql.GraphQLField, given: Mapping[str, graphql.ValueNode]
    ) -> int | None:
        """Return the maximum number of items that a field's arguments, or their defaults, set."""
        sizes = []
        for name in ("first", "last"):
            if (argument := field.args.get(name)) is not None:
                size = self._value(given.get(name))
                size = argument.default_value if size is None else size
                sizes += [size] if type(size) is int else []
        return max(0, min(*sizes, relay.PAGE_MAX)) if sizes else None

    def _page(
        self,
        field: graphql.GraphQLField,
        kind: str,
        given: Mapping[str, graphql.ValueNode],
        number: int | None,
        outer: int,
    ) -> int:
        """Return the number of items of the lists below a field that are as long as its page."""
        if relay.is_paged(field):
            page = relay.PAGE_DEFAULT if number is None else number
            most = longest(kind, self._sizes)
            return page if most is None else min(page, most)
        lists = [name for name in given if _is_list(field.args[name])]
        values = [self._value(given[name]) for name in lists]
        # A single value in place of a list is a list of one.
        lengths = [len(value) if isinstance(value, list) else 1 for value in values]
        return max(lengths, default=outer)

    def _execution(
        self,
        field: graphql.GraphQLField,
        cost: Cost,
        given: Mapping[str, graphql.ValueNode],
        place: _Place,
    ) -> float:
        """Return the units of an execution of a field and its arguments, without its values."""
        units = cost.weight
        for name, node in given.items():
            argument = field.args[name]
            is_condition = not graphql.is_non_null_type(argument.type)
            is_text = graphql.is_leaf_type(graphql.get_nullable_type(argument.type))
            if name in _PAGING or (is_text and not (is_condition and cost.weight)):
                continue
            value = self._value(node)
            if value is None or value is False:
                continue
            units += cost.weight if is_condition else 0
            if name == "matching" and isinstance(value, str):
                self._matching(place, node, value)
            elif not is_text:
                number, inner = _num_items(value)
                units += cost.values * number + cost.inner_values * inner
                if isinstance(value, dict):
                    self.filter_values = max(self.filter_values, number)
        return units

    def _matching(self, place: _Place, node: graphql.ValueNode, query: str) -> None:
        """Add the cost of a query, once for all lists of a revision or comparison."""
        key = place.scope, "matching", _written(node)
        if key not in self._once:
            self._once.add(key)
            parts = 1 + query.count("%") + query.count("^")
            self.parts.append(((*place.path, "matching"), place.scopes * MATCHING * parts))

    def _shared(self, place: _Place, work: Work) -> float:
        """Return the units of work that is done once for a revision or comparison; 0 if already
        counted.
        """
        if (place.scope, work) in self._once:
            return 0
        self._once.add((place.scope, work))
        times = min(place.scopes, _MAX_LOADED) if work is Work.LOADING else place.scopes
        self.shared_units += times * work.own_units
        return times * work.own_units

    def _value(self, node: Any) -> Any:
        if id(node) not in self._values:
            value = node and graphql.value_from_ast_untyped(node, self._variables)
            self._values[id(node)] = None if value is graphql.Undefined else value
        return self._values[id(node)]


_PAGING = frozenset({"first", "after", "last", "before"})


def _is_list(argument: graphql.GraphQLArgument) -> bool:
    return graphql.is_list_type(graphql.get_nullable_type(argument.type))


def _num_items(value: Any) -> tuple[int, int]:
    """Return the number of items of the lists in a value, and in these items.

    A single value is a list of one.
    """
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list | dict)]
    else:
        lists = [value if isinstance(value, list) else [value]]
    numbers = [len(part) if isinstance(part, list) else sum(_num_items(part)) for part in lists]
    items = chain.from_iterable(part for part in lists if isinstance(part, list))
    return sum(numbers), sum(
        sum(_num_items(item)) for item in items if isinstance(item, list | dict)
    )


def _arguments(node: graphql.FieldNode | graphql.DirectiveNode) -> dict[str, graphql.ValueNode]:
    return {argument.name.value: argument.value for argument in node.arguments or ()}


def _written(node: graphql.ValueNode) -> str:
    """Return the text of a value in its document."""
    assert node.loc is not None  # noqa: S101 - documents are parsed with locations
    return node.loc.source.body[node.loc.start : node.loc.end]
