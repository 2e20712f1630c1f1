"""The documented sum of memory: it is that of the settings, and what is kept stays within it."""

import asyncio
import json
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pytest

from schema.api import API
from server.asgi.lanes import Lanes
from server.asgi.responses import JSON
from server.graphql.answers import PARSED_BYTES, Answers
from server.graphql.execution import Executed, Execution
from server.graphql.requests import GraphQLRequest, ParsedRequest, RequestBytes, Weight
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.memory import max_memory, memory_shares

MEMORY = Path(__file__).parents[2] / "docs" / "memory.md"


def size_of(value: Any) -> int:
    """Return how many bytes an object of JSON takes, with all that stands in it."""
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, list):
        inner = value
    return sys.getsizeof(value) + sum(map(size_of, inner))


def test_the_documented_sum_is_that_of_the_settings() -> None:
    """The table in docs/memory.md has each share by its name, in MiB, and their sum."""
    rows = dict(
        re.findall(r"^\| ([a-z ]+?) +\| .*\| +([\d,]+) \|$", MEMORY.read_text("utf-8"), re.M)
    )
    documented = {name: int(text.replace(",", "")) for name, text in rows.items()}
    expected = {name: round(it / 2**20) for name, it in memory_shares(Settings()).items()}
    assert documented == expected | {"sum": round(max_memory(Settings()) / 2**20)}


@pytest.mark.parametrize(
    "values",
    [
        [[] for _ in range(5_000)],
        [{} for _ in range(5_000)],
        [[[]] for _ in range(5_000)],
        [{"a": 0} for _ in range(5_000)],
        [chr(300 + number) for number in range(5_000)],
        [1.5 * number for number in range(5_000)],
        {str(number): number for number in range(300, 5_000)},
        "\N{ROCKET}" + 5_000 * "a",
    ],
    ids=["lists", "objects", "nested", "members", "texts", "numbers", "names", "wide text"],
)
def test_variables_count_with_all_that_they_take(values: Any) -> None:
    """Python's objects take up to 35 times the bytes of the JSON that they were read from."""
    variables = orjson.loads(orjson.dumps({"a": values}))
    parsed = ParsedRequest.of(GraphQLRequest("{ a }", variables, None), JSON, 0)
    assert parsed.num_bytes >= size_of(variables)


@pytest.mark.long
@pytest.mark.untraced
def test_undeclared_variables_fill_no_memory(demo_catalog: Path, lanes: Lanes) -> None:
    """Ever new ones are not kept beyond the bounds, and the question is executed once."""
    catalog = Catalog(str(demo_catalog))
    catalog.refresh()
    executed: list[GraphQLRequest] = []

    class Counting(Execution):
        """Records what it executes."""

        async def execute(self, request: GraphQLRequest, weight: Weight) -> Executed:
            executed.append(request)
            return await super().execute(request, weight)

    answers = Answers(
        catalog, Counting(API(), catalog, Library(catalog), lanes), lanes, cache_bytes=64 << 20
    )

    def asked(number: int) -> RequestBytes:
        variables: dict[str, object] = {f"x{number}n{it}": [] for it in range(5_000)}
        body = json.dumps({"query": "{ tags { name } }", "variables": variables}).encode()
        return RequestBytes(True, body, JSON.encode(), JSON.encode())

    async def run() -> None:
        for number in range(40):
            await answers.answer(asked(number))

    tracemalloc.start()
    try:
        asyncio.run(run())
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [(one.query, one.variables) for one in executed] == [("{ tags { name } }", {})]
    assert kept < PARSED_BYTES + (8 << 20)
