"""How many objects a query asks for, told from its text before it runs.

The estimate takes every page to be full. It is too high where lists are short, but no small text
can ask for a large answer unseen: pages within pages multiply.
"""

from collections.abc import Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    IntValueNode,
    ListValueNode,
    SelectionSetNode,
    VariableNode,
    get_operation_ast,
)

from schema.connections import PAGE_DEFAULT

LISTS = {"stacks": 30, "tags": 120, "numSpecsByStack": 30, "fields": 10}
"""About how many objects the lists have that are not paged; the largest real ones."""

LEAVES = {
    "releaseNotes": 50_000,
    # Of packages alone: each is counted from the rows of the frame.
    **dict.fromkeys(("compilers", "operatingSystems", "platforms", "targets"), 1),
}
"""How many objects could be listed in the time that these fields take."""

WALK = 50
"""How many objects could be listed in the time of a walk through the dependency graph."""

FACETS = 2_000
"""About how many counts all facets of a connection have together."""

_PAGED = frozenset({"packages", "specs", "revisions", "dependencies", "dependents"})
_ITEMS = frozenset({"nodes", "edges"})

Sizes = tuple[tuple[str, int | None], ...]
"""The variables: their values or lengths where they can be sizes of pages or lists of ids."""


def sizes_in(variables: Mapping[str, Any] | None) -> Sizes:
    """Return what the variables of a request can say about sizes."""
    return tuple((name, _as_size(value)) for name, value in (variables or {}).items())


def _as_size(value: Any) -> int | None:
    if isinstance(value, list):
        return len(value)
    # GraphQL takes 5.0 for an Int, too.
    whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else None


def estimate(document: DocumentNode, operation_name: str | None, sizes: Sizes) -> int:
    """Return how many objects an operation of a valid document may lead to."""
    operation = get_operation_ast(document, operation_name)
    if operation is None:
        return 0
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    defaults = {
        definition.variable.name.value: _written_size(definition.default_value)
        for definition in operation.variable_definitions or ()
    }
    return _Walk(fragments, defaults | dict(sizes)).below(operation.selection_set)


class _Walk:
    """Adds up a selection; each fragment is walked once for each size of page it is spread on."""

    def __init__(
        self, fragments: Mapping[str, FragmentDefinitionNode], sizes: Mapping[str, int | None]
    ) -> None:
        self._fragments = fragments
        self._sizes = sizes
        self._spread: dict[tuple[str, int], int] = {}

    def below(self, selected: SelectionSetNode | None, page: int = 1) -> int:
        """Return the objects of a selection; ``page`` is the size of the page it is made on."""
        if selected is None:
            return 0
        return sum(self._of(node, page) for node in selected.selections)

    def _of(self, node: Any, page: int) -> int:
        if isinstance(node, FragmentSpreadNode):
            spread = node.name.value, page
            if spread not in self._spread:
                self._spread[spread] = self.below(self._fragments[spread[0]].selection_set, page)
            return self._spread[spread]
        if not isinstance(node, FieldNode):
            return self.below(node.selection_set, page)
        name = node.name.value
        if node.selection_set is None:
            return LEAVES.get(name, 0)
        if name == "facets":
            return FACETS
        if name in _PAGED:
            walk = WALK if any(it.name.value == "transitive" for it in node.arguments or ()) else 1
            return walk + self.below(node.selection_set, self._page(node))
        count = self._items(node, page) if name in _ITEMS else LISTS.get(name, 1)
        return count * (1 + self.below(node.selection_set))

    def _items(self, field: FieldNode, page: int) -> int:
        """Return how many items a page has, or ``nodes(ids:)`` of the query itself."""
        return page if not field.arguments else self._size(field.arguments[0].value) or 1

    def _page(self, field: FieldNode) -> int:
        sizes = (
            self._size(argument.value)
            for argument in field.arguments or ()
            if argument.name.value in ("first", "last")
        )
        return max(0, min((size for size in sizes if size is not None), default=PAGE_DEFAULT))

    def _size(self, value: Any) -> int | None:
        if isinstance(value, VariableNode):
            return self._sizes.get(value.name.value)
        return _written_size(value)


def _written_size(value: Any) -> int | None:
    """Return the size that a document states itself, or the length of a list."""
    if isinstance(value, ListValueNode):
        return len(value.values)
    return int(value.value) if isinstance(value, IntValueNode) else None
