"""Compiled operations, cached rows, and the JSON of many objects."""

import random
from typing import Any

import graphql
import numpy as np
import orjson
import pytest

from schema import api as api_module
from schema.api import API
from schema.context import Context
from schema.execution.budget import TOO_MANY_BYTES, Budget
from schema.execution.executor import BudgetedExecutor
from schema.execution.row_cache import RowCache
from schema.fields.many import Origin
from schema.limits import Limits
from tests.schema.worlds import World

SPECS = "{ revision { specs%s { nodes { hash name version variants } } } }"


MANY_IDS = " ".join(f"f{number}: id" for number in range(190))
"""Fields of an interface, which are compiled for each of its types."""


@pytest.fixture
def api() -> API:
    """Return an API without cached documents."""
    return API()


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that grows with each operation that the stock executor runs."""
    calls: list[None] = []
    executor = graphql.execute_sync

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(None)
        return executor(*arguments, **options)

    monkeypatch.setattr(api_module, "execute_sync", counted)
    return calls


def respond(api: API, world: World, text: str, **variables: Any) -> bytes:
    """Return the response to a query."""
    return orjson.dumps(api.execute(text, variables, context=world.context()).body())


def test_operations_are_compiled(api: API, world: World, executed: list[None]) -> None:
    """Once per combination of directives; the stock executor runs none."""
    text = "query($all: Boolean!, $n: Int) { revision { ref specs(first: $n) @include(if: $all) "
    text += "{ totalCount nodes { hash } } } }"
    for is_all in (True, False):
        for size in (3, 4, 5):
            body = orjson.loads(respond(api, world, text, all=is_all, n=size))
            specs = body["data"]["revision"].get("specs", {"nodes": []})
            assert len(specs["nodes"]) == size * is_all
    assert not executed


@pytest.mark.parametrize(
    ("text", "variables", "reason"),
    [
        (
            "query($n: Int) { revision { specs(first: $n) { totalCount } } }",
            {"n": "1"},
            "variables",
        ),
        ("{ __schema { queryType { name } } }", {}, "introspection"),
        ("query($is: Boolean = true) { tags { name @skip(if: $is) } }", {"is": None}, "directives"),
        ("{ nodes(ids: []) { " + MANY_IDS + " } }", {}, "size"),
    ],
)
def test_other_operations_use_the_executor(
    api: API,
    world: World,
    executed: list[None],
    text: str,
    variables: dict[str, Any],
    reason: str,
) -> None:
    """The reasons are counted; the response is the same each time."""
    assert len({respond(api, world, text, **variables) for _ in range(9)}) == 1
    assert len(executed) == 9
    assert api.fallbacks == {reason: 9}


@pytest.mark.parametrize(
    ("text", "variables", "num_errors"),
    [
        (
            "query($ref: String) { revision(ref: $ref) { tagName } tags { name } }",
            {"ref": "nope"},
            1,
        ),
        ("{ revision { packages { nodes { specs(first: -1) { totalCount } } } } }", {}, 3),
        (
            "{" + " ".join(f'{name}: revision(ref: "no") {{ tagName }}' for name in "abcdef") + "}",
            {},
            3,
        ),
        ("{ revision { packages(first: -1) { totalCount } tagName } }", {}, 1),
    ],
)
def test_fields_with_errors_are_compiled(
    world: World,
    executed: list[None],
    text: str,
    variables: dict[str, Any],
    num_errors: int,
) -> None:
    """Errors beyond the maximum are counted; nothing is executed twice."""
    api = API(Limits(max_errors=3))
    (body,) = {respond(api, world, text, **variables) for _ in range(3)}
    assert not executed
    stock = api.execute(text, variables, context=limited(world, api), executor=BudgetedExecutor)
    compiled = api.execute(text, variables, context=limited(world, api))
    assert orjson.dumps(compiled.body()) == orjson.dumps(stock.body())
    assert len(compiled.errors) == num_errors
    assert body


def limited(world: World, api: API) -> Context:
    """Return a context with the limits of an API."""
    context = world.context()
    context.budget = Budget(api.limits)
    return context


def test_large_response_is_refused(world: World) -> None:
    """Also if compiled and from cached rows."""
    api = API(Limits(max_answer_bytes=1_000_000))
    for _ in range(4):
        respond(api, world, SPECS % "")
    context = world.context()
    context.budget = Budget(Limits(max_answer_bytes=1_000))
    (error,) = api.execute(SPECS % "", context=context).errors
    assert error["extensions"]["code"] == TOO_MANY_BYTES


def test_cached_rows_are_bounded() -> None:
    """Every text is correct whatever was dropped, and the count is that of the cached rows."""
    draw = random.Random(1)
    cache = RowCache(40_000)
    for _ in range(500):
        selection, size = draw.randrange(6), 100
        start = draw.randrange(size)
        rows = draw.choice((range(start, size), draw.choices(range(size), k=9), ()))
        places = Origin(("specs", "digest"), size, np.array(rows, np.int32))

        def render(numbers: Any, places: Origin = places, selection: int = selection) -> list[str]:
            chosen = places.rows if numbers is None else places.rows[numbers]
            return [f"{selection}:{row}" + "x" * 200 for row in chosen.tolist()]

        assert cache.texts(selection, places, render) == render(None)
        assert 0 <= cache.num_bytes <= 40_000
    assert cache.num_bytes > 10_000
    huge = Origin(("specs", "digest"), 10**6, np.array([7], np.int32))
    assert cache.texts("huge", huge, lambda _numbers: ["text"]) == ["text"]
    assert cache.num_bytes <= 40_000
