"""How many objects a query asks for, told from its text before it runs.

Each field states its own cost where it is declared: see ``Cost``. The estimate takes every page to
be full. It is too high where lists are short, but no small text can ask for a large answer unseen:
pages within pages multiply.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLSchema,
    IntValueNode,
    ListValueNode,
    OperationDefinitionNode,
    SchemaMetaFieldDef,
    SelectionSetNode,
    TypeMetaFieldDef,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
)

from schema.paging import PAGE_DEFAULT, PAGE_MAX, Paged

COST = "cost"
"""The key in a field's metadata of its Cost."""


class ItemsOf(NamedTuple):
    """A list as long as the page that it stands on, or as the list in an argument."""

    argument: str | None


ITEMS_OF_PAGE = ItemsOf(None)


class Cost(NamedTuple):
    """What a field costs, in objects that could be listed in the same time.

    ``weight`` is for the field itself, ``items`` says how many objects it leads to, each of which
    costs 1 and what is selected of it. ``arguments`` are costs on top where they are given.
    """

    weight: int = 0
    items: int | ItemsOf = 1
    arguments: Mapping[str, int] = MappingProxyType({})

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of a Strawberry field of this cost."""
        return {COST: self}


VALUE = Cost()
"""What is there already: a value, or a short list of values."""

STACKS = Cost(items=30)
"""The stacks of a revision or package; the largest real ones have about as many."""

INTROSPECTED = Cost(items=10)
"""A list of introspection, which states no cost itself."""

Sizes = Mapping[str, int | None]
"""What the variables say about sizes, by their names: a number, or the length of a list."""


def sizes_in(operation: OperationDefinitionNode, variables: Mapping[str, Any] | None) -> Sizes:
    """Return what an operation's variables say about sizes, by default or in a request."""
    given = variables or {}
    return {
        name: _as_size(given[name]) if name in given else _written_size(definition.default_value)
        for definition in operation.variable_definitions or ()
        if (name := definition.variable.name.value)
    }


def _as_size(value: Any) -> int | None:
    if isinstance(value, list):
        return len(value)
    # GraphQL takes 5.0 for an Int, too.
    whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else None


def stated_cost(field: GraphQLField) -> Cost | None:
    """Return the cost that a field of the schema states; None where it states none."""
    declared = field.extensions.get("strawberry-definition")
    cost: Cost | None = declared.metadata.get(COST) if declared else None
    return cost


def is_paged(field: GraphQLField) -> bool:
    """Tell whether a field of the schema is a connection, which decides the size of its pages."""
    declared = field.extensions.get("strawberry-definition")
    return declared is not None and any(isinstance(it, Paged) for it in declared.extensions)


def estimate(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    sizes: Sizes,
) -> int:
    """Return how many objects an operation of a valid document may lead to."""
    root = schema.get_root_type(operation.operation)
    return _Walk(schema, document, sizes).below(root, operation.selection_set)


class _Walk:
    """Adds up a selection; each fragment is walked once for each size of page it is spread on."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, sizes: Sizes) -> None:
        self._schema = schema
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self._sizes = sizes
        self._spread: dict[tuple[str, int], int] = {}

    def below(self, parent: Any, selected: SelectionSetNode | None, page: int = 1) -> int:
        """Return the objects of a selection; ``page`` is the size of the page it is made on."""
        if selected is None:
            return 0
        return sum(self._of(parent, node, page) for node in selected.selections)

    def _of(self, parent: Any, node: Any, page: int) -> int:
        if isinstance(node, FragmentSpreadNode):
            spread = node.name.value, page
            if spread not in self._spread:
                self._spread[spread] = self._of_fragment(parent, self._fragments[spread[0]], page)
            return self._spread[spread]
        if isinstance(node, FieldNode):
            return self._of_field(parent, node, page)
        return self._of_fragment(parent, node, page)

    def _of_fragment(self, parent: Any, fragment: Any, page: int) -> int:
        condition = fragment.type_condition
        kind = self._schema.get_type(condition.name.value) if condition else parent
        return self.below(kind, fragment.selection_set, page)

    def _of_field(self, parent: Any, node: FieldNode, page: int) -> int:
        field = _field_of(parent, node.name.value)
        if field is None:
            return 0  # __typename
        kind = get_named_type(field.type)
        is_list = is_list_type(get_nullable_type(field.type))
        cost = stated_cost(field) or (INTROSPECTED if is_list else VALUE)
        given = {it.name.value: it.value for it in node.arguments or ()}
        own = cost.weight + sum(cost.arguments.get(name, 0) for name in given)
        if is_leaf_type(kind):
            return own
        if is_paged(field):
            return own + 1 + self.below(kind, node.selection_set, self._page(given))
        items = cost.items if isinstance(cost.items, int) else self._items(cost.items, given, page)
        return own + items * (1 + self.below(kind, node.selection_set))

    def _items(self, items: ItemsOf, given: Mapping[str, Any], page: int) -> int:
        if items.argument is None:
            return page
        size = self._size(given.get(items.argument))
        return 1 if size is None else max(1, size)

    def _page(self, given: Mapping[str, Any]) -> int:
        sizes = (self._size(given.get(name)) for name in ("first", "last"))
        size = min((size for size in sizes if size is not None), default=PAGE_DEFAULT)
        return max(0, min(size, PAGE_MAX))

    def _size(self, value: Any) -> int | None:
        if isinstance(value, VariableNode):
            return self._sizes.get(value.name.value)
        return _written_size(value)


def _field_of(parent: Any, name: str) -> GraphQLField | None:
    """Return the definition of a field; None for __typename."""
    introspection = {"__schema": SchemaMetaFieldDef, "__type": TypeMetaFieldDef}
    field: GraphQLField | None = introspection.get(name) or parent.fields.get(name)
    return field


def _written_size(value: Any) -> int | None:
    """Return the size that a document states itself, or the length of a list."""
    if isinstance(value, ListValueNode):
        return len(value.values)
    return int(value.value) if isinstance(value, IntValueNode) else None
