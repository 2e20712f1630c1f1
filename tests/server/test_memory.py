"""Memory: the documented sum of the settings, and variables within it."""

import re
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from server.asgi.responses import JSON
from server.graphql.requests import GraphQLRequest, ParsedRequest
from server.settings import Settings
from tests.memory import max_memory, memory_shares

MEMORY = Path(__file__).parents[2] / "docs" / "settings.md"


def size_of(value: Any) -> int:
    """Return the size in bytes of a JSON value, including all values in it."""
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, list):
        inner = value
    return sys.getsizeof(value) + sum(map(size_of, inner))


def test_documented_sum_is_that_of_the_settings() -> None:
    """The table in docs/settings.md has each share by its name, in MiB, and their sum."""
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
