"""The documents of pages, sites, clients, GraphiQL and guides: all of them are compiled."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLNonNull,
    OperationDefinitionNode,
    get_nullable_type,
    is_list_type,
    is_required_input_field,
    parse,
    type_from_ast,
)
from jinja2 import Environment

from schema.api import API, graphql_schema
from schema.limits import Limits
from server.pages.documents import document
from tests.schema.worlds import World

ROOT = Path(__file__).parents[3]
EXAMPLES: dict[str, Any] = {"Boolean": True, "Int": 2, "DateTime": "2025-01-05T00:00:00Z"}
"""A value of each scalar; others are texts."""


def documents() -> Iterator[Any]:
    """Yield the documents of pages, exported sites, clients, GraphiQL and guides."""
    for path in sorted((ROOT / "server/pages/queries").glob("*.graphql")):
        yield pytest.param(document(path.stem).text, id=f"pages/{path.name}")
    for folder in ("server/site/documents", "clients/documents", "server/graphiql/templates"):
        for path in sorted((ROOT / folder).glob("*.graphql")):
            template = Environment(autoescape=True).from_string(path.read_text("utf-8"))
            text = template.render(base="develop~1", head="develop")
            yield pytest.param(text, id=f"{folder}/{path.name}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        blocks = re.findall(r"^```graphql\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S)
        for number, text in enumerate(blocks):
            yield pytest.param(text, id=f"{path.name} {number}")


def example(kind: Any) -> Any:
    """Return a value of an input type."""
    inner = get_nullable_type(kind)
    if is_list_type(inner):
        return [example(inner.of_type)]
    if isinstance(inner, GraphQLEnumType):
        return next(iter(inner.values))
    if isinstance(inner, GraphQLInputObjectType):
        needed = (part for part in inner.fields.items() if is_required_input_field(part[1]))
        return {name: example(field.type) for name, field in needed}
    return EXAMPLES.get(inner.name, "develop")


@pytest.mark.parametrize("text", [*documents()])
def test_our_documents_are_compiled(world: World, text: str) -> None:
    """None of their operations falls back to graphql-core, with and without optional variables."""
    api = API(Limits(max_cost=10**12))
    for operation in parse(text).definitions:
        if not isinstance(operation, OperationDefinitionNode):
            continue
        kinds = {
            definition.variable.name.value: (
                type_from_ast(graphql_schema, definition.type),
                definition,
            )
            for definition in operation.variable_definitions or ()
        }
        every = {name: example(kind) for name, (kind, _) in kinds.items()}
        required = {
            name: every[name]
            for name, (kind, definition) in kinds.items()
            if isinstance(kind, GraphQLNonNull) and definition.default_value is None
        }
        name = operation.name.value if operation.name else None
        for variables in (required, every):
            answer = api.execute(text, variables, name, context=world.context())
            assert answer.executed, answer.errors
    assert not api.fallbacks
