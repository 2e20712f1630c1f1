"""Parsing of documents: they are freed, and errors have locations."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import DocumentNode, parse, print_ast

from schema import api
from schema.documents.documents import Documents, without_tokens
from schema.limits import Limits
from tests.schema.questions import DOCUMENTS

SCHEMA = api.schema._schema


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Disable the garbage collector, so that reference cycles are not freed."""
    gc.disable()
    yield
    gc.enable()


def test_document_without_tokens_is_equal() -> None:
    """It selects the same fields."""
    for text in DOCUMENTS:
        node = parse(text)
        before = print_ast(node)
        assert print_ast(without_tokens(node)) == before


@pytest.mark.usefixtures("no_collector")
def test_document_is_freed_without_the_garbage_collector() -> None:
    """It contains no reference cycles."""
    documents = Documents(SCHEMA, Limits(), max_bytes=0)
    for text in DOCUMENTS:
        node = documents.get(text).node
        assert isinstance(node, DocumentNode)
        freed = weakref.ref(node)
        del node
        assert freed() is None


def test_fields_have_locations() -> None:
    """Errors in execution state the location of their field."""
    node = without_tokens(parse("{\n  a\n  b: c\n}"))
    (operation,) = node.definitions
    locations = [field.loc for field in operation.selection_set.selections]  # type: ignore[attr-defined]
    texts = [(loc.start, loc.end, loc.source.body[loc.start : loc.end]) for loc in locations]
    assert texts == [(4, 5, "a"), (8, 12, "b: c")]


def test_equal_names_are_shared() -> None:
    """A document with many selections of a field stores its name once."""
    (operation,) = without_tokens(parse("{ a { b } c { b } }")).definitions
    fields: Any = operation.selection_set.selections  # type: ignore[attr-defined]
    first, second = (field.selection_set.selections[0].name for field in fields)
    assert first is second
