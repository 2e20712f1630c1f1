"""Invalid values: errors blame the client, and quote little of its text."""

import logging
import math
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.api import API
from schema.errors import CLIENT_TEXT
from schema.limits import Limits
from snapshots.catalog.library import Library
from snapshots.catalog.specs_table import ContentReader
from snapshots.errors import CatalogError
from snapshots.texts import is_plain
from tests.expensive import examples
from tests.schema.worlds import World, plain

LONE = "\ud800"
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(18, 5_000).map(lambda digits: -(10**digits)),
    st.integers(18, 5_000).map(lambda digits: 10**digits),
    st.sampled_from([2**31, -(2**31) - 1, 2**63, 2**64, -2_000_000_000]),
    st.integers(),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -0.0]),
    st.text(st.characters(), max_size=30),
    st.sampled_from([LONE, "x" * 5_000, "\0", "1" * 5_000, "\u202e", "a" + LONE + "b", "^" * 500]),
)
VALUES = st.recursive(
    ODD,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["packages", "stacks", "field"]), inner
        )
    ),
    max_leaves=8,
)
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
DECLARED = (
    *QUESTIONS.values(),
    """query($v: String!) { tag(name: $v) { name } revision { stack(name: $v) { name } } }""",
    """query($v: String) {
      specs: revision { specs(after: $v, filter: {hashPrefix: $v}) { totalCount } }
      packages: revision { packages(before: $v, filter: {search: $v}) { totalCount } }
      revisions(tag: $v, series: $v, after: $v) { totalCount }
      compare(base: "develop~1", head: "develop") {
        packages(search: $v, after: $v) { totalCount } }
    }""",
    "query($v: [ID!]!) { nodes(ids: $v) { id } }",
    """query($v: [String!]) { revision { packages(filter: {packages: $v}) { totalCount }
      specs(filter: {packages: $v, variants: $v, stacks: $v, compilers: $v}) { totalCount } } }""",
    "query($v: SpecOrder) { revision { specs(orderBy: $v) { totalCount } } }",
    """query($v: [SpecChangeKind!]) { compare(base: "develop~1", head: "develop") {
      specs(kinds: $v) { totalCount } } }""",
    """query($v: [DependencyType!]) { revision { specs { nodes {
      dependents(types: $v) { totalCount } } } } }""",
)


def codes(response: dict[str, Any]) -> set[str]:
    """Return the codes of the errors of a response."""
    return {error["extensions"]["code"] for error in response.get("errors", ())}


CLIENT_CODES = {
    "BAD_USER_INPUT",
    "REVISION_NOT_FOUND",
    "AMBIGUOUS_REF",
    "LIMIT_EXCEEDED",
    "QUERY_TOO_LARGE",
    "TOO_MANY_ERRORS",
    "GRAPHQL_PARSE_FAILED",
    "GRAPHQL_VALIDATION_FAILED",
}


@examples(100)
@given(text=st.sampled_from(DECLARED), value=VALUES)
def test_invalid_variables_are_client_errors(world: World, text: str, value: Any) -> None:
    """Any type, size and depth is answered or refused with a client's code."""
    assert codes(world.ask(text, v=value)) <= CLIENT_CODES


def test_excessive_depth_is_refused(world: World) -> None:
    """A variable of 100,000 nested lists."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert codes(world.ask(BY_IDS, ids=deep)) == {"LIMIT_EXCEEDED"}


LITERALS = (
    "9" * 5_000,
    "-1e400",
    '"\\uD800"',
    '"' + "\\u0000" * 50 + '"',
    "[" * 150 + "]" * 150,
    '"""' + "x" * 3_000 + '"""',
    "{a: {b: {c: 1}}}",
    "NaN",
    "null",
)


@pytest.mark.parametrize("literal", LITERALS, ids=range(len(LITERALS)))
@pytest.mark.parametrize(
    "place",
    [
        "revisions(first: %s) { totalCount }",
        "nodes(ids: %s) { id }",
        "revisions(since: %s) { totalCount }",
        "revision { specs(filter: {stacks: %s}) { totalCount } }",
        "revision { tagName @skip(if: %s) }",
    ],
)
def test_invalid_literals_are_client_errors(world: World, place: str, literal: str) -> None:
    """As of variables."""
    assert codes(world.ask("{ " + place % literal + " }")) <= CLIENT_CODES


@pytest.mark.parametrize(
    "text", ['{ tag(name: "\ud800") { name } }', "{ a\ud800 }", "\ud800", "#\ud800"]
)
def test_document_with_surrogates_is_a_client_error(world: World, text: str) -> None:
    """Surrogates cannot be encoded, so the response has none."""
    response = world.ask(text)
    assert codes(response) <= CLIENT_CODES
    orjson.dumps(response)


BY_IDS = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }"


def test_number_of_errors_is_limited(world: World) -> None:
    """Beyond the limit, the last error states the number of others."""
    most = Limits().max_errors
    allowed = world.ask(BY_IDS, ids=["nope"] * most)
    assert len(allowed["errors"]) == most
    assert "is not an id" in allowed["errors"][-1]["message"]
    response = world.ask(BY_IDS, ids=["nope"] * 1_000)
    assert response["data"] == {"nodes": [None] * 1_000}
    assert len(response["errors"]) == most == 20
    assert response["errors"][0]["path"] == ["nodes", 0]
    assert response["errors"][-1]["message"] == "... and 981 more errors"
    assert response["errors"][-1]["extensions"] == {"code": "TOO_MANY_ERRORS"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{ tagz { name } }", "Did you mean"),
        ("{ revision { specs(orderBy: {field: SIZ}) { totalCount } } }", "Did you mean"),
        (
            "query($v: SpecOrderField!) { revision { specs(orderBy: {field: $v}) "
            "{ totalCount } } }",
            "Did you mean",
        ),
    ],
)
@pytest.mark.parametrize("is_open", [True, False])
def test_suggestions_can_be_disabled(world: World, text: str, hint: str, is_open: bool) -> None:
    """With introspection: no error lists similar names of a schema that is not open."""
    api = API(introspection=is_open)
    (error,) = plain(api.execute(text, {"v": "SIZ"}, context=world.context()))["errors"]
    assert (hint in error["message"]) == is_open
    assert is_open or error["extensions"].keys() == {"code"}


def test_introspection_can_be_disabled(world: World) -> None:
    """A document that queries the schema is then invalid, except for ``__typename``."""
    closed = API(introspection=False)
    for text in ("{ __schema { types { name } } }", '{ __type(name: "Spec") { name } }'):
        assert "errors" not in plain(API().execute(text, context=world.context()))
        answer = closed.execute(text, context=world.context())
        assert not answer.executed
        assert codes(plain(answer)) == {"GRAPHQL_VALIDATION_FAILED"}
    assert "errors" not in plain(closed.execute("{ __typename }", context=world.context()))


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


QUOTING = {
    "names": "{ " + "q" * 90 + ": revision { " + " ".join(f"n{i}q" * 30 for i in range(9)) + " } }",
    "texts for numbers": '{ revisions(first: "%s") { totalCount } }' % (f"{MARK} " * 1_900),
    "a block string": '{ revisions(first: """%s""") { totalCount } }' % (f"{MARK}\n" * 1_900),
    "lists": "{ revision { specs(filter: {packages: [%s]}) { totalCount } } }"
    % (f'{{a: "{MARK * 9}"}} ' * 200),
    "a syntax error": f'{{ revision "{MARK * 900}" }}',
    "an unknown character": "{ tags \x1b }",
    "a type": "query($v: %s) { tags { name } }" % ("Q" * 99),
}


@pytest.mark.parametrize("text", QUOTING.values(), ids=QUOTING)
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
