"""Errors: a code for programs, a message for people, and never an inner detail."""

import logging
from pathlib import Path
from typing import Any

import pytest
from graphql import GraphQLError

from schema import errors
from schema.api import API
from snapshots.errors import CachelogError
from snapshots.frames.frame import Frame
from tests.schema.usual import api
from tests.schema.worlds import World, opened, plain

REVISION = "query($ref: String) { revision(ref: $ref) { digest } }"
FAULTS = {
    "unknown tag": ("devlop", "REVISION_NOT_FOUND", "nearest: develop"),
    "unknown digest": ("0" * 64, "REVISION_NOT_FOUND", "no digest has this prefix"),
    "too far back": ("develop~2", "REVISION_NOT_FOUND", "nearest: develop~1"),
    "no date": ("develop@yesterday", "BAD_USER_INPUT", "'yesterday' is not a date"),
    "empty": ("", "BAD_USER_INPUT", "'' is not one of TAG"),
}


@pytest.mark.parametrize(("ref", "code", "said"), FAULTS.values(), ids=FAULTS)
def test_a_ref_of_nothing_gives_null_and_a_helpful_error(
    world: World, ref: str, code: str, said: str
) -> None:
    """The place in the document, the path of the field, and what would have been right."""
    response = world.ask(REVISION, ref=ref)
    assert response["data"] == {"revision": None}
    (error,) = response["errors"]
    assert error["extensions"]["code"] == code
    assert error["path"] == ["revision"]
    assert error["locations"] == [{"line": 1, "column": 23}]
    assert said in error["message"]


def test_the_nearest_names_are_a_list_for_programs(world: World) -> None:
    """Beside the text that was looked up, of refs and of packages; none without suggestions."""
    packages = world.data("{ revision { packages(first: 9) { nodes { name } } } }")["revision"]
    name = max((it["name"] for it in packages["packages"]["nodes"]), key=len)
    query = f'{{ revision {{ specs(matching: "{name}x") {{ totalCount }} }} }}'
    found = world.error(query)["extensions"]
    assert (found["sought"], found["nearest"][0]) == (f"{name}x", name)
    ref = world.error('{ revision(ref: "develo") { id } }')["extensions"]
    assert (ref["sought"], ref["nearest"][0]) == ("develo", "develop")
    for question in (query, '{ revision(ref: "develo") { id } }'):
        silent = plain(API(suggestions=False).execute(question, context=world.context()))
        assert set(silent["errors"][0]["extensions"]) == {"code"}


def test_an_error_leaves_the_rest_of_the_answer(world: World) -> None:
    """Fields beside the one that fails are answered."""
    response = world.ask('{ revision { digest } other: revision(ref: "nope") { digest } }')
    assert response["data"] == {"revision": {"digest": world.newest.info.digest}, "other": None}
    assert [error["path"] for error in response["errors"]] == [["other"]]


def test_a_prefix_of_two_digests_is_ambiguous(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error lists the digests that begin so."""
    history = world.catalog.history
    digests = sorted(["abcdef" + "0" * 58, "abcdef" + "1" * 58])
    monkeypatch.setitem(history.__dict__, "digests", digests)
    error = world.error(REVISION, ref="abcdef")
    assert error["extensions"] == {"code": "AMBIGUOUS_REF"}
    assert all(digest[:12] in error["message"] for digest in digests)


def test_an_empty_catalog_has_no_newest_revision(tmp_path: Path) -> None:
    """Lists are empty; asking for the newest revision is an error with a code."""
    world = opened(tmp_path / "nothing")
    question = "{ tags { name } revisions { totalCount nodes { id } } }"
    assert world.data(question) == {"tags": [], "revisions": {"totalCount": 0, "nodes": []}}
    for question in ("{ revision { id } }", '{ revision(ref: "develop") { id } }'):
        assert world.error(question)["extensions"] == {"code": "REVISION_NOT_FOUND"}


INVALID = {
    "nothing": ("", "GRAPHQL_PARSE_FAILED"),
    "no document": ("}{", "GRAPHQL_PARSE_FAILED"),
    "too many tokens": ("{ tags { name } " * 2_000, "GRAPHQL_PARSE_FAILED"),
    "too deep": ("{ revision " * 2_000, "GRAPHQL_PARSE_FAILED"),
    "an unknown field": ("{ tags { nope } }", "GRAPHQL_VALIDATION_FAILED"),
    "a mutation": ("mutation { nope }", "GRAPHQL_VALIDATION_FAILED"),
    "a subscription": ("subscription { nope }", "GRAPHQL_VALIDATION_FAILED"),
    "too many characters": ("{ tags { name } } #" + "-" * 64_000, "LIMIT_EXCEEDED"),
}


@pytest.mark.parametrize(("text", "code"), INVALID.values(), ids=INVALID)
def test_a_document_that_cannot_be_executed_has_no_data(world: World, text: str, code: str) -> None:
    """Not even null: nothing was executed. Every error has the code."""
    answer = api.execute(text, context=world.context())
    assert not answer.executed
    response = plain(answer)
    assert response.keys() == {"errors"}
    assert {error["extensions"]["code"] for error in response["errors"]} == {code}


WRONG_VARIABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "a text for a number": ("query($v: Int) { revisions(first: $v) { totalCount } }", {"v": "1"}),
    "null for a value": ("query($v: ID!) { node(id: $v) { id } }", {"v": None}),
    "nothing for a value": ("query($v: ID!) { node(id: $v) { id } }", {}),
    "an unknown value": (
        "query($v: SpecOrderField!) { revision { specs(orderBy: {field: $v}) { totalCount } } }",
        {"v": "NOPE"},
    ),
    "an unknown field": (
        "query($v: SpecFilter) { revision { specs(filter: $v) { totalCount } } }",
        {"v": {"nope": 1}},
    ),
}


@pytest.mark.parametrize(("text", "variables"), WRONG_VARIABLES.values(), ids=WRONG_VARIABLES)
def test_variables_of_a_wrong_type_are_the_clients_fault(
    world: World, text: str, variables: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is executed, and nothing is logged as if the server had failed."""
    answer = api.execute(text, variables, context=world.context())
    assert not answer.executed
    (error,) = plain(answer)["errors"]
    assert error["extensions"] == {"code": "BAD_USER_INPUT"}
    assert "$v" in error["message"]
    assert caplog.records == []


def test_an_operation_that_is_not_there_is_the_clients_fault(world: World) -> None:
    """A name that no operation has, or no name where there are several."""
    text = "query A { tags { name } } query B { tags { name } }"
    for name in ("C", None):
        answer = api.execute(text, None, name, context=world.context())
        assert not answer.executed
        assert plain(answer)["errors"][0]["extensions"] == {"code": "BAD_USER_INPUT"}
    assert api.execute(text, None, "B", context=world.context()).executed


@pytest.mark.parametrize("batch", [True, False], ids=["in a list", "alone"])
def test_an_unexpected_error_is_masked(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    batch: bool,
) -> None:
    """The response shows an id; the log has the secret and its traceback under that id."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("the secret of the house")

    monkeypatch.setattr(Frame, "spec", fail)
    question = "{ revision { specs(first: 1) { nodes { short } } } }"
    if not batch:
        hash_ = world.newest.specs[0].hash
        question = f'{{ revision {{ spec(hash: "{hash_}") {{ short }} }} }}'
    with caplog.at_level(logging.ERROR, "cachelog.errors"):
        error = world.error(question)
    assert error["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
    assert error["extensions"]["id"] in error["message"]
    assert "secret" not in str(error)
    (record,) = caplog.records
    assert error["extensions"]["id"] in record.getMessage()
    assert record.exc_info is not None
    assert "the secret of the house" in str(record.exc_info[1])


def test_every_error_of_the_domain_has_a_code() -> None:
    """An error that the domain learns of later is shown to the user, not masked."""

    class Later(CachelogError):
        pass

    shown = errors.formatted(GraphQLError("x", original_error=Later("a new situation")))
    assert shown["extensions"] == {"code": "BAD_USER_INPUT"}


def test_what_nests_too_deeply_to_execute_is_the_clients_fault(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The stack of the server is finite; a client that exhausts it is told so."""
    name = world.newest.specs[0].name
    pair = f'package(name: "{name}") {{ revision {{ '
    for depth in (20, 75, 80, 85):
        response = world.ask("{ revision { " + pair * depth + "tag" + " } }" * depth + " } }")
        codes = {error["extensions"]["code"] for error in response.get("errors", ())}
        assert codes <= {"GRAPHQL_PARSE_FAILED", "LIMIT_EXCEEDED"}
    assert caplog.records == []
