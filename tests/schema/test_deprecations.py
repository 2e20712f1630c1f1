"""Deprecated fields name their replacement, and our own documents do not use them."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from graphql import NoDeprecatedCustomRule, parse, validate
from jinja2 import Environment

from schema import api
from tests.schema.test_contract import OUR_TYPES

ROOT = Path(__file__).parents[2]
SCHEMA = api.schema._schema


def deprecated() -> Iterator[tuple[str, str, str]]:
    """Yield each type, deprecated field or input field, and reason."""
    for name, kind in OUR_TYPES.items():
        for part, field in getattr(kind, "fields", {}).items():
            if field.deprecation_reason is not None:
                yield name, part, field.deprecation_reason


@pytest.mark.parametrize(("name", "part", "reason"), [*deprecated()])
def test_reason_names_the_replacement(name: str, part: str, reason: str) -> None:
    """Another field of the type, which is not deprecated itself."""
    match = re.match(r"Use `(\w+)`", reason)
    assert match is not None
    assert match[1] != part
    assert OUR_TYPES[name].fields[match[1]].deprecation_reason is None


def documents() -> Iterator[Any]:
    """Yield our own documents: those of pages, exported sites, clients and GraphiQL."""
    fragments = {
        path.stem: path.read_text("utf-8")
        for path in (ROOT / "server" / "pages" / "fragments").glob("*.graphql")
    }
    refs = SimpleNamespace(base="a", head="b")
    for folder in (
        "server/pages/queries",
        "server/site/documents",
        "clients/documents",
        "server/graphiql/templates",
    ):
        for path in sorted((ROOT / folder).glob("*.graphql")):
            text = path.read_text("utf-8")
            if folder.endswith("templates"):
                text = Environment(autoescape=True).from_string(text).render(**vars(refs))
            yield pytest.param(text, fragments, id=f"{folder}/{path.name}")


@pytest.mark.parametrize(("text", "fragments"), [*documents()])
def test_our_documents_use_nothing_deprecated(text: str, fragments: dict[str, str]) -> None:
    """Users start from these documents."""
    while (
        missing := {*re.findall(r"\.\.\.(\w+)", text)}
        - {*re.findall(r"fragment (\w+) on", text)}
        - {"on"}
    ):
        text = "\n".join([text, *map(fragments.__getitem__, sorted(missing))])
    assert validate(SCHEMA, parse(text), [NoDeprecatedCustomRule]) == []


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_guides_use_nothing_deprecated(path: Path) -> None:
    """Users start from these documents, too."""
    blocks = re.findall(r"^```graphql\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S)
    for text in blocks:
        assert validate(SCHEMA, parse(text), [NoDeprecatedCustomRule]) == []
