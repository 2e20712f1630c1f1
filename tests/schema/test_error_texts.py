"""Quotations of client text in errors: short, and without invisible characters."""

import logging
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from schema.api import API
from schema.errors import CLIENT_TEXT
from schema.limits import Limits
from snapshots.catalog.library import Library
from snapshots.catalog.specs_table import ContentReader
from snapshots.errors import CatalogError
from snapshots.texts import is_plain
from tests.schema.worlds import World, plain

MARK = "ж"
"""A letter that no text of cachelog or GraphQL contains."""

LENGTH = 3_900

TEXTS = {
    "one word": MARK * LENGTH,
    "short words": f"{MARK} " * (LENGTH // 2),
    "words in quotes": f"'{MARK * 50}' " * (LENGTH // 53),
    "control characters": f"{MARK}\x1b[31m\x00\r\n" * (LENGTH // 9),
    "surrogates": f"{MARK}\udc80" * (LENGTH // 2),
    "a tag and a long date": f"develop@2025-03-30T12:00:00.{'1' * 3_000}~{'9' * 8}",
    "a spec and more": f"hdf5 +{MARK * 100} ^{MARK * 200}",
}

QUESTIONS = {
    "a ref": "query($v: String!) { revision(ref: $v) { id } }",
    "two refs": "query($v: String!) { compare(base: $v, head: $v) { id } }",
    "an id": "query($v: ID!) { node(id: $v) { id } }",
    "ids": "query($v: ID!) { nodes(ids: [$v, $v]) { id } }",
    "a cursor": "query($v: String!) { revisions(after: $v) { totalCount } }",
    "a spec query": "query($v: String!) { revision { specs(matching: $v) { totalCount } } }",
    "a time": "query($v: DateTime!) { revisions(since: $v) { totalCount } }",
    "a number": "query($v: Int!) { revisions(first: $v) { totalCount } }",
    "an enum value": "query($v: SpecOrderField!) "
    "{ revision { specs(orderBy: {field: $v}) { totalCount } } }",
    "a filter": "query($v: SpecFilter!) { revision { specs(filter: $v) { totalCount } } }",
    "a switch": "query($v: Boolean!) { tags @include(if: $v) { name } }",
    "a hash": "query($v: String!) { revision { spec(hash: $v) { id } } }",
    "a name": "query($v: String!) { revision { package(name: $v) { id } } }",
}


def messages(world: World, question: str, variables: dict[str, Any]) -> Iterator[str]:
    """Yield the messages of all errors of a response."""
    for error in world.ask(question, **variables).get("errors", ()):
        yield error["message"]


def assert_brief(message: str) -> None:
    """Assert that a message quotes little; a second line is only the caret below a query."""
    assert message.count(MARK) <= CLIENT_TEXT
    assert message.count("1") <= CLIENT_TEXT
    first, *caret = message.split("\n")
    assert is_plain(first)
    assert len(first) <= 2 * CLIENT_TEXT
    assert [line.strip() for line in caret] in ([], ["^"])


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_values_of_variables(world: World, text: str) -> None:
    """An error quotes at most 200 characters of a client's text."""
    for question in QUESTIONS.values():
        for message in messages(world, question, {"v": text}):
            assert_brief(message)


FAULTY = ["a ref", "two refs", "an id", "a cursor", "a spec query", "a time", "a number"]


@pytest.mark.parametrize("name", FAULTY)
def test_invalid_text_is_quoted(world: World, name: str) -> None:
    """The reader sees the value, with control characters escaped."""
    (message, *_) = messages(world, QUESTIONS[name], {"v": f"{MARK}\x1b"})
    assert MARK in message
    assert_brief(message)


DOCUMENTS = {
    "names": "{ " + "q" * 90 + ": revision { " + " ".join(f"n{i}q" * 30 for i in range(9)) + " } }",
    "texts for numbers": '{ revisions(first: "%s") { totalCount } }' % (f"{MARK} " * 1_900),
    "a block string": '{ revisions(first: """%s""") { totalCount } }' % (f"{MARK}\n" * 1_900),
    "lists": "{ revision { specs(filter: {packages: [%s]}) { totalCount } } }"
    % (f'{{a: "{MARK * 9}"}} ' * 200),
    "a syntax error": f'{{ revision "{MARK * 900}" }}',
    "an unknown character": "{ tags \x1b }",
    "a type": "query($v: %s) { tags { name } }" % ("Q" * 99),
}


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_texts_of_documents(world: World, text: str) -> None:
    """GraphQL's own errors are truncated to 200 characters, whatever they quote."""
    errors = list(messages(world, text, {}))
    assert errors
    for message in errors:
        assert len(message) <= CLIENT_TEXT
        assert_brief(message)


def test_path_of_the_most_expensive_field(world: World) -> None:
    """The error names it by the client's aliases, up to 200 characters of them."""
    name, alias = world.newest.specs[0].name, "q" * 99
    inner = "digest"
    for _ in range(6):
        inner = f'{alias}: package(name: "{name}") {{ {alias}: revision {{ {inner} }} }}'
    poor = API(Limits(max_cost=1))
    answer = plain(poor.execute(f"{{ revision {{ {inner} }} }}", context=world.context()))
    (error,) = answer["errors"]
    assert "costs" in error["message"]
    assert 0 < error["message"].count("q") <= CLIENT_TEXT


def test_unavailable_catalog_is_one_line_in_the_log(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line per request, without a traceback, which is for bugs."""
    outage = CatalogError("here", "the content is\nmissing")
    monkeypatch.setattr(ContentReader, "frame", Mock(side_effect=outage))
    broken = World(world.catalog, Library(world.catalog), world.states)
    question = "{ a: revision { stacks { name } } b: revision { stacks { name } } }"
    with caplog.at_level(logging.ERROR, "cachelog.errors"):
        response = broken.ask(question)
    codes = [error["extensions"] for error in response["errors"]]
    assert codes == [{"code": "CATALOG_UNAVAILABLE"}] * 2
    (record,) = caplog.records
    assert record.exc_info is None
    assert "is missing" in record.getMessage().replace(r"\x0a", " ")
    assert "\n" not in record.getMessage()
