"""Compiled operations, cached rows, and the JSON of many objects."""

import random
from typing import Any

import graphql
import numpy as np
import orjson
import pytest

from schema import api as api_module
from schema.api import API
from schema.execution.budget import TOO_MANY_BYTES, Budget
from schema.execution.json_objects import JsonObjects
from schema.execution.row_cache import RowCache
from schema.fields.many import Origin
from schema.limits import Limits
from tests.schema.worlds import World

SPECS = "{ revision { specs%s { nodes { hash name versions variants } } } }"


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
    text = "query($all: Boolean!, $n: Int) { revision { tag specs(first: $n) @include(if: $all) "
    text += "{ totalCount nodes { hash } } } }"
    for is_all in (True, False):
        for size in (3, 4, 5):
            body = orjson.loads(respond(api, world, text, all=is_all, n=size))
            specs = body["data"]["revision"].get("specs", {"nodes": []})
            assert len(specs["nodes"]) == size * is_all
    assert not executed


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("query($ref: String) { revision(ref: $ref) { tag } }", {"ref": "nope"}),
        ("query($n: Int) { revision { specs(first: $n) { totalCount } } }", {"n": -1}),
        ("{ __schema { queryType { name } } }", {}),
        ("query($is: Boolean = true) { tags { name @skip(if: $is) } }", {"is": None}),
    ],
)
def test_other_operations_use_the_executor(
    api: API, world: World, executed: list[None], text: str, variables: dict[str, Any]
) -> None:
    """Errors, introspection, and null for a directive: the response is the same each time."""
    assert len({respond(api, world, text, **variables) for _ in range(9)}) == 1
    assert len(executed) == 9


def test_compiled_operations_are_used_again_after_errors(
    api: API, world: World, executed: list[None]
) -> None:
    """An error depends on the values of variables."""
    text = "query($ref: String) { revision(ref: $ref) { tag } }"
    for ref in ("nope", "develop"):
        respond(api, world, text, ref=ref)
    assert len(executed) == 1


def test_large_response_is_refused(world: World) -> None:
    """Also if compiled and from cached rows."""
    api = API(Limits(max_answer_bytes=1_000_000))
    for _ in range(4):
        respond(api, world, SPECS % "")
    context = world.context()
    context.budget = Budget(Limits(max_answer_bytes=1_000))
    (error,) = api.execute(SPECS % "", context=context).errors
    assert error["extensions"]["code"] == TOO_MANY_BYTES


def test_rows_are_rendered_once(api: API, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any page and order, also below lists."""
    nested = "{ revision { packages%s { nodes { name specs(first: 3) { nodes { hash } } } } } }"
    orders = (SPECS, "(orderBy: {field: SIZE})"), (nested, "(orderBy: {field: NUM_SPECS})")
    expected = [respond(api, world, text % order) for text, order in orders]
    for text, order in orders:
        for arguments in ("", order) * 2:
            respond(api, world, text % arguments)
    monkeypatch.setattr(JsonObjects, "add", None)
    assert [respond(api, world, text % order) for text, order in orders] == expected


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


def test_compiled_operations_count_with_their_document(api: API, world: World) -> None:
    """A document is measured again when it grows."""
    api.documents.get(SPECS % "")
    before = api.documents.num_bytes
    respond(api, world, SPECS % "")
    assert api.documents.num_bytes > before
