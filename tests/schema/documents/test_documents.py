"""Reading documents: nothing of it stays, and errors still know their places."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    DocumentNode,
    ScalarLeafsRule,
    ValidationContext,
    parse,
    print_ast,
    specified_rules,
)

from schema import api
from schema.documents.documents import Documents, validated, without_tokens
from schema.limits import Limits
from tests.schema.questions import DOCUMENTS

SCHEMA = api.schema._schema


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Keep the garbage collector away, so that only what refers to itself stays."""
    gc.disable()
    yield
    gc.enable()


def test_a_document_without_tokens_is_the_same_document() -> None:
    """It selects the same fields."""
    for text in DOCUMENTS:
        node = parse(text)
        before = print_ast(node)
        assert print_ast(without_tokens(node)) == before


@pytest.mark.usefixtures("no_collector")
def test_a_document_is_freed_without_the_garbage_collector() -> None:
    """No part of it refers to itself in a circle."""
    documents = Documents(SCHEMA, Limits(), max_bytes=0)
    for text in DOCUMENTS:
        node = documents.get(text).node
        assert isinstance(node, DocumentNode)
        freed = weakref.ref(node)
        del node
        assert freed() is None


def test_a_field_knows_its_place() -> None:
    """Errors at run time say where in the text their field stands."""
    node = without_tokens(parse("{\n  a\n  b: c\n}"))
    (operation,) = node.definitions
    places = [field.loc for field in operation.selection_set.selections]  # type: ignore[attr-defined]
    assert [(it.start, it.end, it.source.body[it.start : it.end]) for it in places] == [
        (4, 5, "a"),
        (8, 12, "b: c"),
    ]


def test_equal_names_are_one() -> None:
    """A document that asks for a field very often keeps its name once."""
    (operation,) = without_tokens(parse("{ a { b } c { b } }")).definitions
    fields: Any = operation.selection_set.selections  # type: ignore[attr-defined]
    first, second = (field.selection_set.selections[0].name for field in fields)
    assert first is second


def test_the_objects_of_rules_are_taken_apart() -> None:
    """What validation has found is there; what found it holds nothing any longer."""
    made: list[Any] = []

    def remembered(context: ValidationContext) -> ScalarLeafsRule:
        made.append(ScalarLeafsRule(context))
        return made[-1]  # type: ignore[no-any-return]

    rules: list[Any] = [*specified_rules, remembered]
    node = parse("{ tags }")
    found = validated(SCHEMA, node, rules, max_errors=9, hide_suggestions=False)
    assert [error.message for error in found] == [
        "Field 'tags' of type '[Tag!]!' must have a selection of subfields. "
        "Did you mean 'tags { ... }'?"
    ] * 2
    assert [vars(it) for it in made] == [{}]
