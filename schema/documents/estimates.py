"""The cost of an operation, summed over its selections, and the refusal of expensive operations.

A fragment counts each time it is spread, each alias counts, and selections that ``@skip`` and
``@include`` omit do not count. Pages count as full. Sizes are clamped to the range that the field
allows, so that no argument results in a negative cost.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import graphql
import msgspec

from schema.documents.bounds import refuse
from schema.errors import bounded
from schema.execution.budget import QUERY_TOO_LARGE
from schema.execution.compiled import nodes_of
from schema.fields import many, relay
from schema.fields.cost import ArgumentCost, ListLength, NumberArgument, cost_of, usual_bytes
from schema.limits import Limits


def page_size(first: Any, last: Any) -> int:
    """Return the maximum number of items of a page."""
    sizes = [size for size in (first, last) if type(size) is int]
    return max(0, min([*sizes, relay.PAGE_MAX])) if sizes else relay.PAGE_DEFAULT


def list_size(number: Any, usual: int | None, page: int) -> int:
    """Return the length of a list that an argument limits; ``usual`` if it is not given.

    If ``usual`` is None, it is the size of the page, which is then also the maximum.
    """
    most, usual = (page, page) if usual is None else (relay.PAGE_MAX, usual)
    return max(0, min(number, most)) if type(number) is int else usual


def num_parts(value: Any) -> int:
    """Return the number of values in the lists of an argument, or of ``%`` and ``^`` in a text."""
    if isinstance(value, str):
        return value.count("%") + value.count("^")
    if isinstance(value, dict):
        return sum(num_parts(item) if isinstance(item, list) else 1 for item in value.values())
    return len(value) if isinstance(value, list) else 0


class Estimate(msgspec.Struct, frozen=True):
    """The cost of an operation: units, and bytes of its response.

    ``path`` is the path of its most expensive part in the response, and ``path_units`` the cost of
    that part with everything below it. ``cached_units`` is the share that takes no time if the
    results are in memory: loading and comparing revisions. ``filter_values`` is the number of
    values of the longest filter.
    """

    units: int
    num_bytes: int
    path: tuple[str, ...]
    path_units: int
    cached_units: int = 0
    filter_values: int = 0


NOTHING = Estimate(0, 0, (), 0)
"""The cost of an operation that is not executed."""


def cost_extension(estimate: Estimate, limits: Limits) -> dict[str, Any]:
    """Return a cost in the form of ``extensions.cost`` of a response or an error."""
    return {
        "cost": estimate.units,
        "allowed": limits.max_cost,
        "bytes": estimate.num_bytes,
        "allowedBytes": limits.max_answer_bytes,
        "mostExpensive": {"path": [*estimate.path], "cost": estimate.path_units},
    }


def too_expensive(estimate: Estimate, limits: Limits) -> graphql.GraphQLFormattedError | None:
    """Return the error for an operation that exceeds the allowed cost; None if it does not."""
    if estimate.filter_values > limits.max_filter_values:
        return refuse("Values in a filter", estimate.filter_values, limits.max_filter_values)
    if estimate.units <= limits.max_cost and estimate.num_bytes <= limits.max_answer_bytes:
        return None
    what, number, allowed = "costs", estimate.units, f"{limits.max_cost:,} units"
    if estimate.units <= limits.max_cost:
        what, number = "may have an answer of", estimate.num_bytes
        allowed = f"{limits.max_answer_bytes:,} bytes"
    message = (
        f"The query {what} {_rounded(number)}; {allowed} are allowed. Most of it is "
        f"{bounded('.'.join(estimate.path))}. "
        "Request smaller pages, or nest fewer of them."
    )
    return {
        "message": message,
        "extensions": {"code": QUERY_TOO_LARGE, "cost": cost_extension(estimate, limits)},
    }


def _rounded(number: int) -> str:
    return f"{number:,}" if number < 10**12 else "more than 10^12"


REQUEST = 120
"""Units of a request without any fields."""

RENDERED_VALUE, RENDERED_OBJECT = 0.3, 0.5
RESOLVED_VALUE, RESOLVED_OBJECT = 10.0, 16.0
"""Units of a value and of an object, in lists that are rendered as a whole, and elsewhere."""

_STRUCTURE = 4

_MAX_LOADED = Limits.max_revisions
"""Maximum number of revisions whose loading counts for fields that return objects of any revision.
"""

_SCOPES = frozenset({"Revision", "Comparison", "Lookup", "SpecComparison"})
"""The types whose objects load or compare data once for all of their fields."""

_META_FIELDS = {"__schema": graphql.SchemaMetaFieldDef, "__type": graphql.TypeMetaFieldDef}


class _Part(msgspec.Struct, frozen=True):
    """The cost of a field or selection, and the path of its most expensive part.

    ``largest`` is the cost of the most expensive field of a selection, in units.
    """

    units: float
    num_bytes: float
    path: tuple[str, ...] = ()
    path_units: float = 0.0
    largest: float = 0.0


class _Place(msgspec.Struct, frozen=True):
    """The position of a selection.

    It is executed ``times`` times, on pages of ``page`` items. ``scope`` is the number of the
    revision or comparison that it is part of, of which there are ``scopes``. ``is_rendered`` is
    True below a list that is rendered as a whole.
    """

    times: float
    page: int
    scope: int
    scopes: float
    is_rendered: bool


def estimate(
    schema: graphql.GraphQLSchema,
    document: graphql.DocumentNode,
    operation: graphql.OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> tuple[Estimate, frozenset[str]]:
    """Return the cost of an operation of a valid document, with its coerced variables.

    The second value has the names of the variables that the cost depends on. Any other values of
    the others cost the same.
    """
    root = schema.get_root_type(operation.operation)
    walk = _Walk(schema, document, variables)
    place = _Place(times=1, page=1, scope=0, scopes=1, is_rendered=False)
    whole = walk.below(root, operation.selection_set, place)
    units = round(REQUEST + whole.units)
    num_bytes, path_units = round(whole.num_bytes) + 2, round(whole.path_units)
    cost = Estimate(
        units, num_bytes, whole.path, path_units, round(walk.cached_units), walk.filter_values
    )
    return cost, frozenset(walk.read)


class _Walk:
    def __init__(
        self,
        schema: graphql.GraphQLSchema,
        document: graphql.DocumentNode,
        variables: Mapping[str, Any],
    ) -> None:
        self._schema = schema
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, graphql.FragmentDefinitionNode)
        }
        self._variables = dict(variables)
        self.read: set[str] = set()
        self.cached_units = 0.0
        self.filter_values = 0
        self._once: set[tuple[Any, ...]] = set()
        self._scopes: dict[tuple[Any, ...], int] = {}
        # Fragments are walked each time they are spread; their arguments are read once.
        self._values: dict[int, Any] = {}
        self._rendered: dict[tuple[str, int], bool] = {}

    def below(self, parent: Any, selected: graphql.SelectionSetNode | None, place: _Place) -> _Part:
        """Return the cost of a selection, for all of its executions together."""
        units = num_bytes = 0.0
        largest = _Part(0, 0)
        for node in selected.selections if selected else ():
            if node.directives and not self._is_included(node):
                continue
            part = self._of(parent, node, place)
            units += part.units
            num_bytes += part.num_bytes
            largest = max(largest, part, key=attrgetter("units"))
        return _Part(units, num_bytes, largest.path, largest.path_units, largest.units)

    def _is_included(self, node: Any) -> bool:
        for directive in node.directives:
            arguments = _arguments(directive)
            condition = self._value(arguments.get("if"))
            if (directive.name.value, condition) in {("skip", True), ("include", False)}:
                return False
        return True

    def _of(self, parent: Any, node: Any, place: _Place) -> _Part:
        if isinstance(node, graphql.FieldNode):
            return self._of_field(parent, node, place)
        if isinstance(node, graphql.FragmentSpreadNode):
            node = self._fragments[node.name.value]
        return self.below(self._narrowed(parent, node), node.selection_set, place)

    def _narrowed(self, parent: Any, fragment: Any) -> Any:
        condition = fragment.type_condition
        return self._schema.get_type(condition.name.value) if condition else parent

    def _of_field(self, parent: Any, node: graphql.FieldNode, place: _Place) -> _Part:
        key = (node.alias or node.name).value
        named = len(key) + _STRUCTURE
        field = _field_of(parent, node.name.value)
        value = RENDERED_VALUE if place.is_rendered else RESOLVED_VALUE
        if field is None:  # __typename
            return _part(key, place.times * value, place.times * (named + 20))
        kind = graphql.get_named_type(field.type)
        is_list = graphql.is_list_type(graphql.get_nullable_type(field.type))
        cost = cost_of(field, node.name.value, is_list=is_list)
        arguments = _arguments(node)
        units = place.times * (value + cost.weight)
        if cost.once:
            units += self._cached_units_for(place, cost.once)
        for name, argument in cost.arguments.items():
            units += self._of_argument(
                name, argument, self._value(arguments.get(name)), arguments, place
            )
        if graphql.is_leaf_type(kind):
            length = cost.num_bytes if cost.num_bytes is not None else usual_bytes(kind)
            return _part(key, units, place.times * (named + length))

        page = self._page(arguments) if relay.is_paged(field) else place.page
        page = round(self._items(cost.page, arguments, page)) if cost.page else page
        items = self._items(cost.items, arguments, place.page) if not relay.is_paged(field) else 1
        if cost.each_loaded:
            loading = cost.each_loaded * min(place.times * items, _MAX_LOADED)
            self.cached_units += loading
            units += loading
        inner = self._inner(kind, node, arguments, place, items, page, is_list=is_list)
        per_object = RENDERED_OBJECT if inner.is_rendered else RESOLVED_OBJECT
        units += inner.times * (per_object + cost.each * (page if relay.is_paged(field) else 1))
        below = self.below(kind, node.selection_set, inner)
        num_bytes = place.times * named + inner.times * 3 + below.num_bytes
        return _part(key, units, num_bytes, below)

    def _inner(
        self,
        kind: Any,
        node: graphql.FieldNode,
        arguments: Mapping[str, Any],
        place: _Place,
        items: float,
        page: int,
        *,
        is_list: bool,
    ) -> _Place:
        """Return the position of the selection below a field."""
        times = place.times * items
        is_rendered = place.is_rendered or (
            is_list and kind.name not in _SCOPES and self._renders(kind, node.selection_set)
        )
        scope, scopes = place.scope, place.scopes
        if kind.name in _SCOPES or not hasattr(kind, "fields") or kind.name == "Node":
            texts = ((name, _written(arguments[name])) for name in sorted(arguments))
            scope = self._scopes.setdefault((scope, node.name.value, *texts), len(self._scopes) + 1)
            scopes = times
        return _Place(times, page, scope, scopes, is_rendered)

    def _once_for(self, place: _Place, key: tuple[Any, ...], units: float) -> float:
        """Return the units of work that is done once for each revision or comparison; 0 if already
        counted.
        """
        if (place.scope, *key) in self._once:
            return 0
        self._once.add((place.scope, *key))
        return units * place.scopes

    def _cached_units_for(self, place: _Place, units: float) -> float:
        """Return the units of work whose result remains in memory; 0 if already counted."""
        cached_units = self._once_for(place, (units,), units)
        self.cached_units += cached_units
        return cached_units

    def _of_argument(
        self, name: str, cost: ArgumentCost, value: Any, arguments: Mapping[str, Any], place: _Place
    ) -> float:
        if value is None or value is False:
            return 0
        parts = num_parts(value)
        if isinstance(value, dict):
            self.filter_values = max(self.filter_values, parts)
        counted = cost.parts(value) if cost.parts else parts
        units = place.times * (cost.weight + cost.each * counted)
        if cost.once and isinstance(value, str):
            key = name, _written(arguments[name])
            units += self._once_for(place, key, cost.once * (1 + parts))
        elif cost.once:
            units += self._cached_units_for(place, cost.once)
        return units

    def _items(
        self, items: float | ListLength | NumberArgument, arguments: Mapping[str, Any], page: int
    ) -> float:
        if isinstance(items, NumberArgument):
            return list_size(self._value(arguments.get(items.argument)), items.default, page)
        if not isinstance(items, ListLength):
            return items
        if items.argument is None:
            return page
        value = self._value(arguments.get(items.argument))
        return max(1, len(value)) if isinstance(value, list) else 1

    def _page(self, arguments: Mapping[str, Any]) -> int:
        return page_size(self._value(arguments.get("first")), self._value(arguments.get("last")))

    def _value(self, node: Any) -> Any:
        if id(node) not in self._values:
            for part in nodes_of([node]) if node else ():
                if isinstance(part, graphql.VariableNode):
                    self.read.add(part.name.value)
            value = node and graphql.value_from_ast_untyped(node, self._variables)
            self._values[id(node)] = None if value is graphql.Undefined else value
        return self._values[id(node)]

    def _renders(self, kind: Any, selected: graphql.SelectionSetNode | None) -> bool:
        """Return whether all selected fields can resolve many objects of a list at once."""
        if selected is None:
            return True
        key = kind.name, id(selected)
        if key not in self._rendered:
            self._rendered[key] = all(
                self._renders_one(kind, inner) for inner in selected.selections
            )
        return self._rendered[key]

    def _renders_one(self, kind: Any, node: Any) -> bool:
        if isinstance(node, graphql.FieldNode):
            field = _field_of(kind, node.name.value)
            if field is None:
                return True
            inner = graphql.get_named_type(field.type)
            return many.is_for_many(field) and self._renders(inner, node.selection_set)
        if isinstance(node, graphql.FragmentSpreadNode):
            node = self._fragments[node.name.value]
        return self._renders(self._narrowed(kind, node), node.selection_set)


def _arguments(node: graphql.FieldNode | graphql.DirectiveNode) -> dict[str, graphql.ValueNode]:
    return {argument.name.value: argument.value for argument in node.arguments or ()}


def _written(node: graphql.ValueNode) -> str:
    """Return the text of a value in its document."""
    assert node.loc is not None  # noqa: S101 - documents are parsed with locations
    return node.loc.source.body[node.loc.start : node.loc.end]


def _part(key: str, units: float, num_bytes: float, below: _Part = _Part(0, 0)) -> _Part:  # noqa: B008
    """Return the cost of a field with everything below it, and the path of its most expensive
    part.
    """
    units += below.units
    if below.largest > units / 2:
        return _Part(units, num_bytes, (key, *below.path), below.path_units, units)
    return _Part(units, num_bytes, (key,), units, units)


def _field_of(parent: Any, name: str) -> graphql.GraphQLField | None:
    """Return the definition of a field; None for __typename."""
    field: graphql.GraphQLField | None = _META_FIELDS.get(name) or parent.fields.get(name)
    return field
