"""Reading a document so that nothing but the document stays in memory.

graphql-core's tokens, and the visitors of its validation, refer to each other in circles. Only the
garbage collector frees those, which stops every thread for as long as it looks at all there is: a
flood of new documents made it do so for 0.1 s at a time.
"""

from collections.abc import Callable, Collection
from typing import Any

import msgspec
from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    NameNode,
    SelectionSetNode,
    Source,
    ValidationContext,
    validate,
)
from graphql.language.ast import QUERY_DOCUMENT_KEYS

Rule = Callable[[ValidationContext], Any]
"""A class of validation rules, or what makes one of its objects."""


class Place(msgspec.Struct, gc=False):
    """Where a node stands in its document: graphql-core's Location without its tokens."""

    start: int
    end: int
    source: Source


def num_tokens(document: DocumentNode) -> int:
    """Return how many tokens a document has that was just parsed."""
    number, token = 1, document.loc.start_token if document.loc else None
    while token is not None and token.next is not None:
        number, token = number + 1, token.next
    return number


def validated(
    schema: GraphQLSchema,
    document: DocumentNode,
    rules: Collection[Rule],
    *,
    max_errors: int,
    hide_suggestions: bool,
) -> list[GraphQLError]:
    """Return what the rules find in a document; their objects are taken apart afterwards."""
    made: list[Any] = []

    def remembered(rule: Rule) -> Any:
        def make(context: ValidationContext) -> Any:
            visitor = rule(context)
            made.append(visitor)
            return visitor

        return make

    try:
        return validate(
            schema,
            document,
            [remembered(rule) for rule in rules],
            max_errors=max_errors,
            hide_suggestions=hide_suggestions,
        )
    finally:
        for visitor in made:
            vars(visitor.context).clear()
            vars(visitor).clear()


def without_tokens(document: DocumentNode) -> DocumentNode:
    """Return a document whose nodes know their places and no tokens; it is changed itself.

    Names and selection sets are the places of no error, and forget theirs. Equal names are one.
    """
    untie(document)
    names: dict[str, NameNode] = {}
    waiting: list[Any] = [document]
    while waiting:
        node = waiting.pop()
        place = node.loc
        is_named = place is not None and not isinstance(node, SelectionSetNode)
        _set(node, "loc", Place(place.start, place.end, place.source) if is_named else None)
        for key in QUERY_DOCUMENT_KEYS.get(node.kind, ()):
            value = getattr(node, key)
            if isinstance(value, NameNode):
                known = names.setdefault(value.value, value)
                _set(known, "loc", None)
                _set(node, key, known)
            elif isinstance(value, tuple):
                waiting += value
            elif value is not None:
                waiting.append(value)
    return document


_set = object.__setattr__
"""Nodes are frozen for all who use them. This keeps them as small as they are: vars() would not."""


def untie(document: DocumentNode) -> None:
    """Undo the links from each token to the one before it: so nothing refers to each other."""
    token = document.loc.start_token if document.loc else None
    while token is not None:
        token.prev = None
        token = token.next
