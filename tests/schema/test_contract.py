"""The public contract and deprecations: names, types and meanings do not change."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    NoDeprecatedCustomRule,
    build_schema,
    find_breaking_changes,
    is_introspection_type,
    is_specified_scalar_type,
    parse,
    validate,
    validate_schema,
)
from jinja2 import Environment

from schema import api
from server.pages.documents import document

CONTRACT = build_schema(Path(__file__).with_name("contract.graphql").read_text())
OURS = build_schema(api.sdl())
OUR_TYPES: dict[str, Any] = dict(OURS.type_map)


def types_of(schema: Any) -> dict[str, Any]:
    """Return the types that a schema defines, by name."""
    return {
        name: kind
        for name, kind in schema.type_map.items()
        if not is_introspection_type(kind) and not is_specified_scalar_type(kind)
    }


def facts_of(kind: Any) -> Iterator[tuple[str, ...]]:
    """Yield what clients rely on in a type: its kind, and one tuple per part."""
    yield (type(kind).__name__,)
    for interface in getattr(kind, "interfaces", ()):
        yield "implements", interface.name
    if isinstance(kind, GraphQLEnumType):
        yield from (("value", name) for name in kind.values)
        return
    for name, field in getattr(kind, "fields", {}).items():
        default = repr(getattr(field, "default_value", None))
        yield "field", name, str(field.type), default
        for key, argument in getattr(field, "args", {}).items():
            yield "argument", name, key, str(argument.type), repr(argument.default_value)


def test_contract_is_not_broken() -> None:
    """GraphQL's comparison of the schemas finds no breaking change, such as a required argument."""
    assert validate_schema(api.schema._schema) == []
    assert find_breaking_changes(CONTRACT, api.schema._schema) == []


def test_types_of_the_contract_are_complete() -> None:
    """Fields, arguments, defaults, values and interfaces are unchanged."""
    for name, kind in types_of(CONTRACT).items():
        assert {*facts_of(kind)} <= {*facts_of(OUR_TYPES[name])}, name


def test_contract_is_unchanged() -> None:
    """It has as many types and parts as when it was agreed on."""
    facts = {name: len(list(facts_of(kind))) for name, kind in types_of(CONTRACT).items()}
    assert (len(facts), sum(facts.values())) == (69, 555)


OFFERED = {
    "Comparison.cause": "Cause",
    "Comparison.causeKinds": "[CauseKindCount!]!",
    "Comparison.reasons": "[ReasonCount!]!",
    "Comparison.whyUnknown": "String",
    "ConcreteSpecInput.namespace": "String",
    "ConcreteSpecInput.packageHash": "String",
    "GrowthPoint.comparison": "Comparison",
    "GrowthPoint.specsRebuilt": "Int!",
    "GrowthPoint.specsReplaced": "Int!",
    "GrowthPoint.tag": "String!",
    "GrowthPoint.takenAt": "DateTime!",
    "HashHistory.id": "ID!",
    "HashHistory.newest": "Revision!",
    "MissingSpec.goneIn": "Revision",
    "MissingSpec.isRoot": "Boolean!",
    "MissingSpec.version": "String",
    "Package.coverage": "[CoverageCell!]!",
    "Package.dependents": "[DependentPackage!]",
    "Package.history": "PackageHistory",
    "Package.totalSize": "ByteCount",
    "PackageHistory.id": "ID!",
    "PackageHistory.isCurrent": "Boolean!",
    "PackageHistoryEntry.reasons": "[ReasonCount!]!",
    "Revision.confirmedAt": "DateTime!",
    "Revision.seriesInfo": "Series!",
    "Revision.source": "Source!",
    "Revision.tagInfo": "Tag!",
    "Revision.totalSize": "ByteCount",
    "Series.id": "ID!",
    "Span.goneIn": "Revision",
    "Span.reasonCame": "SpecChangeReason!",
    "Span.seriesInfo": "Series!",
    "Spec.dependencies": "DependencyConnection",
    "Spec.dependents": "DependencyConnection",
    "Spec.history": "HashHistory",
    "Spec.short": "String!",
    "Stack.totalSize": "ByteCount",
    "Tag.id": "ID!",
    "Tag.seriesInfo": "Series!",
}
"""Fields beyond the contract that clients may use, with their types."""


def test_fields_beyond_the_contract_are_unchanged() -> None:
    """They are in no type of the contract, and keep their types."""
    for name, kind in OFFERED.items():
        owner, field = name.split(".")
        assert field not in types_of(CONTRACT)[owner].fields
        assert str(OUR_TYPES[owner].fields[field].type) == kind, name


def described() -> Iterator[tuple[str, str | None]]:
    """Yield every position in the schema that can have a description, with its description."""
    yield "schema", OURS.description
    for name, kind in types_of(OURS).items():
        yield name, kind.description
        parts = getattr(kind, "values", None) or getattr(kind, "fields", {})
        for part_name, part in parts.items():
            yield f"{name}.{part_name}", part.description
            for key, argument in getattr(part, "args", {}).items():
                yield f"{name}.{part_name}({key})", argument.description


def test_everything_is_described() -> None:
    """Types, fields, arguments, values and input fields have a well-formed description."""
    for place, description in described():
        assert description, f"{place} has no description"
        assert description == description.strip(), place
        assert description[0].isalnum() or description[0] == "`", f"{place}: {description}"


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
    for path in sorted((ROOT / "server/pages/queries").glob("*.graphql")):
        yield pytest.param(document(path.stem).text, id=f"pages/{path.name}")
    for folder in ("server/site/documents", "clients/documents", "server/graphiql/templates"):
        for path in sorted((ROOT / folder).glob("*.graphql")):
            template = Environment(autoescape=True).from_string(path.read_text("utf-8"))
            yield pytest.param(template.render(base="a", head="b"), id=f"{folder}/{path.name}")


@pytest.mark.parametrize("text", [*documents()])
def test_our_documents_use_nothing_deprecated(text: str) -> None:
    """Users start from these documents."""
    assert validate(SCHEMA, parse(text), [NoDeprecatedCustomRule]) == []


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_guides_use_nothing_deprecated(path: Path) -> None:
    """Users start from these documents, too."""
    blocks = re.findall(r"^```graphql\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S)
    for text in blocks:
        assert validate(SCHEMA, parse(text), [NoDeprecatedCustomRule]) == []
