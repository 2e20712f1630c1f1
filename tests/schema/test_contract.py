"""The public contract: names, types and meanings that clients rely on do not change."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLEnumType,
    build_schema,
    find_breaking_changes,
    is_introspection_type,
    is_specified_scalar_type,
    validate_schema,
)

from schema import api

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
