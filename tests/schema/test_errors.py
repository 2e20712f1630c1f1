"""Errors: a code for programs, a message for users, and no internal detail."""

import logging
from pathlib import Path
from unittest.mock import Mock

import pytest
from graphql import GraphQLError

from schema import errors
from snapshots.errors import CachelogError
from snapshots.frames.frame import Frame
from tests.schema.default_api import api
from tests.schema.worlds import World, opened, plain

REVISION = "query($ref: String) { revision(ref: $ref) { digest } }"
FAULTS = {
    "unknown tag": ("devlop", "REVISION_NOT_FOUND", "nearest: develop"),
    "not a date": ("develop@yesterday", "BAD_USER_INPUT", "'yesterday' is not a date"),
}


@pytest.mark.parametrize(("ref", "code", "message"), FAULTS.values(), ids=FAULTS)
def test_unknown_ref_is_null_with_an_error(world: World, ref: str, code: str, message: str) -> None:
    """With the location in the document, the path of the field, and the nearest names."""
    response = world.ask(REVISION, ref=ref)
    assert response["data"] == {"revision": None}
    (error,) = response["errors"]
    assert error["extensions"]["code"] == code
    assert error["path"] == ["revision"]
    assert error["locations"] == [{"line": 1, "column": 23}]
    assert message in error["message"]


def test_nearest_names_are_in_the_extensions(world: World) -> None:
    """Beside the text that was looked up, for refs and packages."""
    packages = world.data("{ revision { packages(first: 9) { nodes { name } } } }")["revision"]
    name = max((node["name"] for node in packages["packages"]["nodes"]), key=len)
    query = f'{{ revision {{ specs(matching: "{name}x") {{ totalCount }} }} }}'
    extensions = world.error(query)["extensions"]
    assert (extensions["sought"], extensions["nearest"][0]) == (f"{name}x", name)
    ref = world.error('{ revision(ref: "develo") { id } }')["extensions"]
    assert (ref["sought"], ref["nearest"][0]) == ("develo", "develop")


def test_prefix_of_two_digests_is_ambiguous(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error lists the digests with the prefix."""
    history = world.catalog.history
    digests = sorted(["abcdef" + "0" * 58, "abcdef" + "1" * 58])
    monkeypatch.setitem(history.__dict__, "digests", digests)
    error = world.error(REVISION, ref="abcdef")
    assert error["extensions"] == {"code": "AMBIGUOUS_REF"}
    assert all(digest[:12] in error["message"] for digest in digests)


def test_empty_catalog(tmp_path: Path) -> None:
    """Lists are empty; requesting the newest revision is an error with a code."""
    world = opened(tmp_path / "nothing")
    empty = {"totalCount": 0}
    assert world.data(
        "{ tags { name } revisions { totalCount } mainSeries { name } packages { totalCount } "
        'allSeries { name } series(name: "develop") { name } '
        'hash(hash: "abc") { hash } revisionsHolding(hashes: []) { totalCount } }'
    ) == {
        "tags": [],
        "revisions": empty,
        "mainSeries": None,
        "packages": empty,
        "allSeries": [],
        "series": None,
        "hash": None,
        "revisionsHolding": empty,
    }
    for question in ("{ revision { id } }", '{ revision(ref: "develop") { id } }'):
        assert world.error(question)["extensions"] == {"code": "REVISION_NOT_FOUND"}


INVALID = {
    "empty": ("", "GRAPHQL_PARSE_FAILED"),
    "a syntax error": ("}{", "GRAPHQL_PARSE_FAILED"),
    "too many tokens": ("{ tags { name } " * 2_000, "GRAPHQL_PARSE_FAILED"),
    "too deep": ("{ revision " * 2_000, "GRAPHQL_PARSE_FAILED"),
    "an unknown field": ("{ tags { nope } }", "GRAPHQL_VALIDATION_FAILED"),
    "a mutation": ("mutation { nope }", "GRAPHQL_VALIDATION_FAILED"),
    "a subscription": ("subscription { nope }", "GRAPHQL_VALIDATION_FAILED"),
    "too many characters": ("{ tags { name } } #" + "-" * 64_000, "LIMIT_EXCEEDED"),
}


@pytest.mark.parametrize(("text", "code"), INVALID.values(), ids=INVALID)
def test_invalid_document_has_no_data(world: World, text: str, code: str) -> None:
    """Not even null, as nothing was executed. Every error has the code."""
    answer = api.execute(text, context=world.context())
    assert not answer.executed
    response = plain(answer)
    assert response.keys() == {"errors"}
    assert {error["extensions"]["code"] for error in response["errors"]} == {code}


def test_invalid_parameters_are_client_errors(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Unknown names of operations, or none for several, and wrong variables: nothing is logged."""
    text = "query A($v: Int) { revisions(first: $v) { totalCount } } query B { tags { name } }"
    for name, value in (("C", 1), (None, 1), ("A", "1")):
        answer = api.execute(text, {"v": value}, name, context=world.context())
        assert not answer.executed
        assert plain(answer)["errors"][0]["extensions"] == {"code": "BAD_USER_INPUT"}
    assert api.execute(text, None, "B", context=world.context()).executed
    assert caplog.records == []


@pytest.mark.parametrize("batch", [True, False], ids=["in a list", "alone"])
def test_unexpected_error_is_masked(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, batch: bool
) -> None:
    """The response contains an id; the log has the details and traceback under that id."""
    failing = Mock(side_effect=ZeroDivisionError("the secret of the house"))
    monkeypatch.setattr(Frame, "spec", failing)
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


def test_new_errors_of_the_domain_are_shown() -> None:
    """An error class without a code of its own is a client error, and is not masked."""

    class Later(CachelogError):
        pass

    shown = errors.formatted(GraphQLError("x", original_error=Later("a new situation")))
    assert shown["extensions"] == {"code": "BAD_USER_INPUT"}


FAILING = {
    "a query": ('revision { bad: specs(matching: "a++") { totalCount } ref }', "revision"),
    "a size": ("revision { bad: packages(first: -1) { totalCount } ref }", "revision"),
    "a cursor": ('revision { bad: packages(after: "!") { totalCount } ref }', "revision"),
    "a stack": ('revision { bad: twins(stack: "no") { totalCount } ref }', "revision"),
    "packages": ('revision { bad: impact(packages: ["no"]) { numSpecs } ref }', "revision"),
    "specs": (
        'revision { bad: lookup(specs: [{hash: "!", name: "a"}]) { numFound } ref }',
        "revision",
    ),
    "hashes": ('bad: revisionsHolding(hashes: ["a"], first: -1) { totalCount } tags { name }', ""),
    "a page": ("bad: revisions(last: 1001) { totalCount } tags { name }", ""),
    "a text": ('bad: suggest(text: "a", ref: "no") { value } tags { name }', ""),
    "a plan": ('bad: plan(base: "no", specs: []) { numSpecs } tags { name }', ""),
    "best": ("bad: bestCovering(specs: [], first: -1) { numFound } tags { name }", ""),
    "a revision": ('bad: revision(ref: "no") { ref } tags { name }', ""),
    "rules": (
        'compare(base: "develop", head: "develop") '
        "{ bad: check(rules: [1]) { hasPassed } leftOut }",
        "compare",
    ),
    "cells": (
        'compare(base: "develop", head: "develop") '
        '{ bad: coverage(by: [], after: "!") { totalCount } leftOut }',
        "compare",
    ),
    "growth": ('series(name: "develop") { bad: growth(last: -1) { takenAt } name }', "series"),
    "causes": ('series(name: "develop") { bad: causes(after: "!") { totalCount } name }', "series"),
}


@pytest.mark.parametrize(("text", "parent"), FAILING.values(), ids=FAILING)
def test_bad_argument_nulls_its_own_field(world: World, text: str, parent: str) -> None:
    """The error has its path; the field beside it is answered."""
    response = world.ask(f"{{ {text} }}")
    path = [parent, "bad"] if parent else ["bad"]
    assert [error["path"] for error in response["errors"]] == [path]
    answered = response["data"][parent] if parent else response["data"]
    assert answered.pop("bad") is None
    assert all(answered.values())
