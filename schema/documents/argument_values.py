"""Arguments as an operation writes them: their values, and how much they ask for."""

from collections.abc import Mapping
from typing import Any

from graphql import (
    BooleanValueNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    VariableNode,
)

from schema.fields.paging import PAGE_DEFAULT, PAGE_MAX


def value_of(node: Any, variables: Mapping[str, Any]) -> Any:
    """Return the value that a document writes or names; texts and enums as texts.

    ``variables`` are the coerced ones.
    """
    if node is None or isinstance(node, NullValueNode):
        return None
    if isinstance(node, VariableNode):
        return variables.get(node.name.value)
    if isinstance(node, ListValueNode):
        return [value_of(it, variables) for it in node.values]
    if isinstance(node, ObjectValueNode):
        return {it.name.value: value_of(it.value, variables) for it in node.fields}
    if isinstance(node, IntValueNode):
        return int(node.value) if len(node.value) < 20 else PAGE_MAX
    return node.value is True if isinstance(node, BooleanValueNode) else str(node.value)


def page_size(first: Any, last: Any) -> int:
    """Return how many items a page has at most."""
    sizes = [it for it in (first, last) if type(it) is int]
    return max(0, min([*sizes, PAGE_MAX])) if sizes else PAGE_DEFAULT


def list_size(number: Any, usual: int | None, page: int) -> int:
    """Return how long a list is that an argument bounds, ``usual`` where it is not given.

    None for the page, which then is the most that there can be.
    """
    most, usual = (page, page) if usual is None else (PAGE_MAX, usual)
    return max(0, min(number, most)) if type(number) is int else usual


def num_parts(value: Any) -> int:
    """Return how many values an argument has in lists, or how many ``%`` and ``^`` in a text."""
    if isinstance(value, str):
        return value.count("%") + value.count("^")
    if isinstance(value, dict):
        return sum(num_parts(it) if isinstance(it, list) else 1 for it in value.values())
    return len(value) if isinstance(value, list) else 0


def written(node: Any) -> Any:
    """Return what tells two values in a document apart: variables by their names."""
    if isinstance(node, VariableNode):
        return "$", node.name.value
    if isinstance(node, ListValueNode):
        return tuple(map(written, node.values))
    if isinstance(node, ObjectValueNode):
        return tuple((it.name.value, written(it.value)) for it in node.fields)
    return getattr(node, "value", None)
