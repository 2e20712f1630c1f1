"""Compiled operations: byte-equal to the stock executor, without objects for lists."""

import random
from typing import Any

import orjson
import pytest
from graphql import parse, validate
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.api import graphql_schema
from schema.errors import VALIDATION_FAILED
from schema.execution.executor import BudgetedExecutor
from tests.expensive import examples
from tests.schema.default_api import api
from tests.schema.generated_documents import Question, Writer
from tests.schema.worlds import World, pools_of


def answered(
    world: World, question: Question, executor: type[Any] | None = None
) -> tuple[bytes, bool]:
    """Return the response, and whether it is permanent."""
    context = world.context()
    answer = api.execute(question.text, question.variables, context=context, executor=executor)
    return orjson.dumps(answer.body()), context.is_permanent


def assert_same(world: World, question: Question) -> bytes:
    """Assert that all ways of execution agree, and return the response.

    A compiled operation caches its rows from the second time on.
    """
    stock = answered(world, question, StrawberryGraphQLCoreExecutionContext)
    assert answered(world, question, BudgetedExecutor) == stock
    for _ in range(3):
        assert answered(world, question) == stock
    return stock[0]


@pytest.mark.long
@settings(examples(100), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(draw=st.randoms(use_true_random=True))
def test_any_query_equals_the_stock_executor(world: World, draw: random.Random) -> None:
    """Data and errors (messages, paths, codes, locations) and their order."""
    body = assert_same(world, Writer(graphql_schema, pools_of(world), draw).question())
    assert VALIDATION_FAILED.encode() not in body
    assert b"INTERNAL_SERVER_ERROR" not in body
    event("with errors" if b'"errors"' in body else "without errors")


SPECS = "{ revision { specs { nodes { %s } } } }"
PACKAGES = "{ revision { packages { nodes { %s } } } }"
NESTED = PACKAGES % "name specs%s { nodes { hash } }"

COMPARE = '{ compare(base: "develop~1", head: "develop") { %s } }'
FLAG = "query($v: Boolean = true) "

SPECIAL = {
    "all fields skipped": SPECS % "hash @skip(if: true)",
    "all fields below skipped": PACKAGES % "specs { nodes { hash @include(if: false) } }",
    "fields that merge": SPECS % "package { name } hash package { numSpecs } hash",
    "names of Python": SPECS % "class: hash self: name __: target",
    "fragments": SPECS % "...S ... on Node { id } ... { target }"
    + "fragment S on Spec { hash ... on Spec @include(if: false) { name } __typename }",
    "no matches": '{ revision { specs(filter: {packages: ["nope"]}) '
    "{ nodes { hash package { specs(first: -1) { nodes { hash } } } } edges { cursor } } } }",
    "too large a size below a list": NESTED % "(last: 1001)",
    "an empty cursor below a list": NESTED % '(before: "")',
    "no items below a list": NESTED % "(first: 0)",
    "the last ones below a list": NESTED % "(last: 2)",
    "a filter below a list": NESTED % '(filter: {compilers: ["gcc"], stacks: ["e4s"]})',
    "an order below a list": NESTED % "(orderBy: {field: SIZE, direction: DESC}, first: 2)",
    "pages below a list": PACKAGES
    % "specs(first: 1) { totalCount edges { cursor node { hash package { specs(last: 1) "
    "{ pageInfo { hasNextPage hasPreviousPage startCursor endCursor startIndex } } } } } }",
    "both sides of changes": COMPARE
    % "packages { nodes { kind before { name versions } after { id specs { nodes { hash } } } } } "
    "specs { nodes { kind before { hash id } after { short } fields { path before after } } } "
    "stackChanges { kind name addedPackageNames }",
    "packages removed from head": COMPARE
    % "packages(kinds: [REMOVED]) { nodes { name after { name } before { numSpecs } } }",
    "revisions resolved one by one": "{ revisions { nodes { tagName growthPoint { numSpecsAdded "
    "revision { id } } } } }",
    "facets below a list": PACKAGES
    % "specs { facet(by: STACK) { value numSpecs } nodes { hash } }",
    # Null at a position that does not permit it fails only in execution.
    "a directive": FLAG + PACKAGES % "name @skip(if: $v) specs { nodes { hash } }",
    "a directive below": FLAG + SPECS % "package { name @include(if: $v) }",
    "a directive in an empty list": FLAG
    + "{ revision { specs(filter: {packages: []}) { nodes { hash @include(if: $v) } } } }",
    "a direction": "query($v: OrderDirection = ASC) "
    + NESTED % "(orderBy: {field: HASH, direction: $v})",
    "a size": "query($v: Int) " + NESTED % "(first: $v)",
}


@pytest.mark.parametrize("text", SPECIAL.values(), ids=SPECIAL)
def test_special_queries_equal_the_stock_executor(world: World, text: str) -> None:
    """Cases that generated queries rarely have: empty selections, no matches, nested errors."""
    assert validate(graphql_schema, parse(text)) == []
    assert_same(world, Question(text, {"v": None} if "$v" in text else {}))
