"""Subscriptions: their conditions on revisions, and the responses to events."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from unittest.mock import Mock

import pytest

from schema.api import API, OperationResult
from schema.context import Context
from snapshots.models import RevisionInfo
from tests.schema import questions
from tests.schema.worlds import World, plain, revision_id


async def no_events() -> AsyncIterator[RevisionInfo]:
    """Yield no event."""
    for event in tuple[RevisionInfo, ...]():
        yield event


def condition_of(world: World, query: str, /, **variables: Any) -> Callable[[RevisionInfo], bool]:
    """Return the condition of a subscription on its events."""
    follow = Mock(return_value=no_events())
    context = Context(world.catalog, world.library, follow=follow)
    assert API().subscribe(query, variables, context=context) is None
    condition: Callable[[RevisionInfo], bool] = follow.call_args.args[0]
    return condition


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {0, 1, 2, 3, 4, 5}),
        ('(tag: "develop")', {4, 5}),
        ('(series: "develop-DATE")', {0, 2}),
        ('(series: "vX.Y.Z", tag: "v0.22.0")', {1}),
        ('(series: "develop", tag: "v0.22.0")', set()),
        ('(tag: "nope")', set()),
        ("(tag: null, series: null)", {0, 1, 2, 3, 4, 5}),
    ],
)
def test_subscription_to_a_tag_or_series(world: World, arguments: str, expected: set[int]) -> None:
    """Or to both, or to all revisions."""
    is_included = condition_of(world, f"subscription {{ revisionPublished{arguments} {{ tag }} }}")
    assert {
        number for number, state in enumerate(world.states) if is_included(state.info)
    } == expected


def test_event_equals_a_query_for_the_revision(world: World) -> None:
    """With all fields, regardless of later revisions."""
    for state in world.states:
        answer = API().execute(questions.PUBLISHED, context=world.context(), event=state.info)
        query = questions.PUBLISHED.replace(
            "revisionPublished(series: $series, tag: $tag)",
            f'node(id: "{revision_id(state.info)}")',
        ).replace("subscription($series: String, $tag: String)", "query")
        query = query.replace(
            "previous { id } next { id }", "... on Revision { previous { id } next { id } }"
        )
        expected = world.data(query)["node"]
        assert plain(answer) == {"data": {"revisionPublished": expected}}


def test_errors_of_an_event_are_those_of_a_query(world: World) -> None:
    """A nullable field that fails is null, with its error."""
    text = 'subscription { revisionPublished { tag specs(matching: "%%") { totalCount } } }'
    answer = plain(API().execute(text, context=world.context(), event=world.newest.info))
    (error,) = answer["errors"]
    assert error["path"] == ["revisionPublished", "specs"]


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "an unknown field": ("subscription { nope }", {}, "GRAPHQL_VALIDATION_FAILED"),
    "a variable of a wrong type": (
        "subscription($tag: String) { revisionPublished(tag: $tag) { tag } }",
        {"tag": 7},
        "BAD_USER_INPUT",
    ),
    "too high a cost": (
        "subscription { revisionPublished { packages(first: 1000) { nodes "
        "{ specs(first: 1000) { nodes { hash } } } } } }",
        {},
        "QUERY_TOO_LARGE",
    ),
}


@pytest.mark.parametrize(("text", "variables", "code"), REFUSED.values(), ids=REFUSED)
def test_invalid_subscription_is_refused(
    world: World, text: str, variables: dict[str, Any], code: str
) -> None:
    """Before it begins, with the error of an equal query."""
    context = Context(world.catalog, world.library, follow=lambda _: no_events())
    answer = API().subscribe(text, variables, context=context)
    assert isinstance(answer, OperationResult)
    (error,) = plain(answer)["errors"]
    assert error["extensions"]["code"] == code
    assert "data" not in plain(answer)


def test_subscription_without_events_is_refused(world: World) -> None:
    """If the context has no source of events."""
    text = "subscription { revisionPublished { tag } }"
    answer = API().subscribe(text, context=world.context())
    assert answer is not None
    (error,) = plain(answer)["errors"]
    assert (error["path"], error["extensions"]["code"]) == (["revisionPublished"], "BAD_USER_INPUT")
