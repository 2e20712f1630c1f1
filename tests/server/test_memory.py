"""Memory: the documented sum of the settings, variables within it, and collected garbage."""

import gc
import re
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.app import keep_collections_short
from server.asgi.responses import JSON
from server.graphql.requests import GraphQLRequest, ParsedRequest
from server.settings import Settings
from tests.memory import max_memory, memory_shares

MEMORY = Path(__file__).parents[2] / "docs" / "memory.md"


def size_of(value: Any) -> int:
    """Return the size in bytes of a JSON value, including all values in it."""
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, list):
        inner = value
    return sys.getsizeof(value) + sum(map(size_of, inner))


def test_documented_sum_is_that_of_the_settings() -> None:
    """The table in docs/memory.md has each share by its name, in MiB, and their sum."""
    rows = dict(
        re.findall(r"^\| ([a-z ]+?) +\| .*\| +([\d,]+) \|$", MEMORY.read_text("utf-8"), re.M)
    )
    documented = {name: int(text.replace(",", "")) for name, text in rows.items()}
    expected = {name: round(share / 2**20) for name, share in memory_shares(Settings()).items()}
    assert documented == expected | {"sum": round(max_memory(Settings()) / 2**20)}


@pytest.mark.parametrize(
    "values",
    [
        5_000 * [[]],
        5_000 * [{}],
        5_000 * [[[]]],
        5_000 * [{"a": 0}],
        [chr(300 + number) for number in range(5_000)],
        [1.5 * number for number in range(5_000)],
        {str(number): number for number in range(300, 5_000)},
        "\N{ROCKET}" + 5_000 * "a",
    ],
    ids=["lists", "objects", "nested", "members", "texts", "numbers", "names", "wide text"],
)
def test_size_of_variables_is_not_underestimated(values: Any) -> None:
    """Python objects take up to 35 times the bytes of their JSON."""
    variables = orjson.loads(orjson.dumps({"a": values}))
    parsed = ParsedRequest.of(GraphQLRequest("{ a }", variables, None), JSON, 0)
    assert parsed.num_bytes >= size_of(variables)


class Cycle:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def short() -> Iterator[None]:
    """Enable short collections during a test."""
    keep_collections_short(of_everything=3)
    yield
    gc.callbacks.pop()
    gc.unfreeze()


@pytest.mark.usefixtures("short")
def test_survivors_are_frozen() -> None:
    """A full collection frees new garbage, and leaves few objects for the next one."""
    survivors = [[number] for number in range(50_000)]
    garbage = weakref.ref(Cycle())
    assert len(gc.get_objects()) > 50_000
    gc.collect()
    assert len(gc.get_objects()) < 5_000
    assert len(survivors) == 50_000
    assert garbage() is None


@pytest.mark.usefixtures("short")
def test_frozen_garbage_is_freed_later() -> None:
    """Objects that become garbage after they are frozen wait for a collection of all objects."""
    cycle = Cycle()
    garbage = weakref.ref(cycle)
    gc.collect()  # freezes it
    del cycle
    gc.collect()
    assert garbage() is not None
    gc.collect()  # the third: unfreezes all objects
    gc.collect()
    assert garbage() is None
    assert gc.get_freeze_count() > 1_000, "survivors are frozen again"
