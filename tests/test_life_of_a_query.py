"""docs/life-of-a-query.md: its queries are those of the schema, and the modules it names exist."""

import re
from pathlib import Path

import pytest
from graphql import build_schema, parse, validate

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "life-of-a-query.md").read_text("utf-8")
FLOORS = ("snapshots", "schema", "server")
QUERIES = re.findall(r"^```graphql\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("query", QUERIES)
def test_each_query_is_valid(query: str) -> None:
    """Whoever pastes one into GraphiQL gets an answer."""
    schema = build_schema((ROOT / "schema" / "schema.graphql").read_text("utf-8"))
    assert validate(schema, parse(query)) == []


def test_each_module_is_there() -> None:
    """By its path, or by its name or the end of its path where the room was named before."""
    modules = {
        str(path.relative_to(ROOT)) for floor in FLOORS for path in (ROOT / floor).rglob("*.py")
    }
    folders = {f"{Path(module).parent}/" for module in modules}
    named = re.findall(r"`([\w/]+(?:\.py|/))`", TEXT)
    assert len(named) > 30
    for name in named:
        assert any(f"/{there}".endswith(f"/{name}") for there in modules | folders), name
