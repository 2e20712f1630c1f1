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
from schema.documents.documents import Documents, num_tokens, validated, without_tokens
from schema.limits import Limits
from tests.schema.questions import DOCUMENTS

SCHEMA = api.schema._schema


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Keep the garbage collector away, so that only what refers to itself stays."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("text", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_a_document_without_tokens_is_the_same_document(text: str) -> None:
    """What it asks for does not change."""
    node = parse(text)
    before = print_ast(node)
    assert print_ast(without_tokens(node)) == before


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("text", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_a_document_is_freed_as_soon_as_nobody_has_it(text: str) -> None:
    """No part of it refers to itself in a circle."""
    documents = Documents(SCHEMA, Limits(), max_bytes=0)
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


def test_tokens_are_counted() -> None:
    """Those of the start and of the end with them."""
    assert num_tokens(parse("{ a b }")) == 6


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
