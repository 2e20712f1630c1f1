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
    SelectionSetNode,
    VariableNode,
    get_operation_ast,
)

from schema.connections import PAGE_DEFAULT

LISTS = {"stacks": 30, "tags": 120, "facets": 2_000}
"""About how many objects the lists have that are not paged; the largest real ones."""

_PAGED = frozenset({"packages", "specs", "revisions", "dependencies", "dependents"})

Sizes = tuple[tuple[str, int], ...]
"""The variables that can be sizes of pages, with their values."""


def sizes_in(variables: Mapping[str, Any] | None) -> Sizes:
    """Return the variables that can be sizes of pages."""
    return tuple((name, value) for name, value in (variables or {}).items() if type(value) is int)


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
        definition.variable.name.value: int(definition.default_value.value)
        for definition in operation.variable_definitions or ()
        if isinstance(definition.default_value, IntValueNode)
    }
    return _Walk(fragments, defaults | dict(sizes)).below(operation.selection_set)


class _Walk:
    """Adds up a selection; each fragment is walked once, however often it is spread."""

    def __init__(self, fragments: dict[str, FragmentDefinitionNode], sizes: dict[str, int]) -> None:
        self._fragments = fragments
        self._sizes = sizes
        self._spread: dict[str, int] = {}

    def below(self, selected: SelectionSetNode | None) -> int:
        if selected is None:
            return 0
        return sum(self._of(node) for node in selected.selections)

    def _of(self, node: Any) -> int:
        if isinstance(node, FragmentSpreadNode):
            name = node.name.value
            if name not in self._spread:
                self._spread[name] = self.below(self._fragments[name].selection_set)
            return self._spread[name]
        if isinstance(node, FieldNode) and node.selection_set is not None:
            return self._count(node) * (1 + self.below(node.selection_set))
        return self.below(node.selection_set)

    def _count(self, field: FieldNode) -> int:
        name = field.name.value
        if name not in _PAGED:
            return LISTS.get(name, 1)
        given = [
            self._size(argument.value)
            for argument in field.arguments or ()
            if argument.name.value in ("first", "last")
        ]
        return max(0, min(given, default=PAGE_DEFAULT))

    def _size(self, value: Any) -> int:
        if isinstance(value, IntValueNode):
            return int(value.value)
        if isinstance(value, VariableNode):
            return self._sizes.get(value.name.value, PAGE_DEFAULT)
        return PAGE_DEFAULT
