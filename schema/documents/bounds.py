"""The limits of documents and variables, and the measures that they restrict.

Measuring takes time linear in the size of the text: each fragment is measured once and never
expanded, and values that are too long or too deep are not traversed.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import orjson
from graphql import (
    DocumentNode,
    FieldNode,
    FloatValueNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLFormattedError,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    StringValueNode,
)

from schema.errors import BAD_USER_INPUT, PARSE_FAILED
from schema.execution.compiled import nodes_of
from schema.limits import Limits

LIMIT_EXCEEDED = "LIMIT_EXCEEDED"

Refusal = GraphQLFormattedError | None


class Measures(msgspec.Struct, frozen=True):
    """The size of the selections of an operation, including those of spread fragments."""

    selections: int
    aliases: int
    depth: int


def refuse(what: str, number: int, allowed: int) -> Refusal:
    """Return the error for a number that exceeds its limit; None if it does not."""
    if number <= allowed:
        return None
    message = f"{what}: {_short(number)} found, {allowed:,} are allowed."
    return {"message": message, "extensions": {"code": LIMIT_EXCEEDED}}


def _short(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than 10^15"


# -- texts


def document_bytes(text: str, limits: Limits) -> Refusal:
    """Refuse a document that is too large, or that cannot be encoded in UTF-8."""
    size = len(text)
    if size <= limits.max_document_bytes and not text.isascii():
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            message = "The document contains a lone surrogate."
            return {"message": message, "extensions": {"code": PARSE_FAILED}}
    return refuse("Bytes of the document", size, limits.max_document_bytes)


# -- operations


def measured(document: DocumentNode) -> Iterator[Measures]:
    """Yield the size of each operation of a document; raises FragmentCycle."""
    fragments = {
        definition.name.value: definition.selection_set
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    measures: dict[str, Measures | None] = {}

    def of_fragment(name: str) -> Measures:
        if name not in measures:
            measures[name] = None  # it is being measured
            measures[name] = _measure(fragments.get(name), of_fragment)
        if (measure := measures[name]) is None:
            raise FragmentCycle(name)
        return measure

    for name in fragments:
        of_fragment(name)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            yield _measure(definition.selection_set, of_fragment)


class FragmentCycle(Exception):
    """A fragment spreads itself; ``name`` is one of the fragments of the cycle."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


def _selections(selected: SelectionSetNode) -> Iterator[tuple[Any, int]]:
    """Yield all selections in a selection set with their depth, from 1."""
    waiting = [(selected, 1)]
    while waiting:
        selection_set, level = waiting.pop()
        for node in selection_set.selections:
            yield node, level
            inner = getattr(node, "selection_set", None)
            if inner is not None:
                waiting.append((inner, level + isinstance(node, FieldNode)))


def _measure(selected: SelectionSetNode | None, of_fragment: Callable[[str], Measures]) -> Measures:
    """Return the size of a selection set; ``selected`` is None for an unknown fragment."""
    fields = aliases = deepest = 0
    for node, level in _selections(selected) if selected else ():
        if isinstance(node, FieldNode):
            fields += 1
            aliases += node.alias is not None
            deepest = max(deepest, level)
        elif isinstance(node, FragmentSpreadNode):
            spread = of_fragment(node.name.value)
            fields += spread.selections
            aliases += spread.aliases
            deepest = max(deepest, level - 1 + spread.depth)
    return Measures(fields, aliases, deepest)


_TEXTS = StringValueNode | IntValueNode | FloatValueNode


def refused_document(document: DocumentNode, limits: Limits) -> Refusal:
    """Return the error if a document exceeds the limits; raises FragmentCycle."""
    texts = (node.value for node in nodes_of([document]) if isinstance(node, _TEXTS))
    longest = max(map(len, texts), default=0)
    refusal = refuse("Characters of a text", longest, limits.max_text_length)
    for measures in measured(document):
        refusal = (
            refusal
            or refuse("Depth of selections", measures.depth, limits.max_depth)
            or refuse("Aliases", measures.aliases, limits.max_aliases)
            or refuse("Fields", measures.selections, limits.max_selections)
        )
    return refusal


_MAX_BITS = 64
"""Maximum number of bits of an integer: other programs do not support larger JSON numbers."""


def _refused_values(variables: Mapping[str, Any], limits: Limits) -> Refusal:
    """Refuse variables with a value, at any depth, that is too large.

    Values that are too deep or too long are refused without traversing them.
    """
    deepest = longest_list = longest_text = bits = 0
    waiting = [(value, 0) for value in variables.values()]
    while waiting:
        value, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(value, str):
            longest_text = max(longest_text, len(value))
        elif isinstance(value, int):
            bits = max(bits, value.bit_length())
        elif isinstance(value, list | dict):
            longest_list = max(longest_list, len(value))
            if len(value) <= limits.max_list_length and level <= limits.max_variable_depth:
                items = value if isinstance(value, list) else value.values()
                waiting += [(item, level + 1) for item in items]
    what = "Depth of lists and objects in a variable"
    return (
        refuse(what, deepest, limits.max_variable_depth)
        or refuse("Values in a list", longest_list, limits.max_list_length)
        or refuse("Characters of a text", longest_text, limits.max_text_length)
        or refuse("Bits of a number", bits, _MAX_BITS)
    )


def refused_variables(variables: Mapping[str, Any], limits: Limits) -> Refusal:
    """Return the error if the variables that an operation declares exceed the limits."""
    if not variables:
        return None
    surrogate: Refusal = None
    try:
        # First, because it takes a hundredth of the time that reading each value takes.
        size = len(orjson.dumps(variables))
        if refusal := refuse("Bytes of the variables", size, limits.max_variable_bytes):
            return refusal
    except TypeError:
        message = "The variables contain a lone surrogate."
        surrogate = {"message": message, "extensions": {"code": BAD_USER_INPUT}}
    return _refused_values(variables, limits) or surrogate
