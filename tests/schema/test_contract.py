"""The public contract: what front ends rely on keeps its name, its type and its meaning."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    build_schema,
    find_breaking_changes,
    is_introspection_type,
    is_required_argument,
    is_required_input_field,
    is_specified_scalar_type,
    validate_schema,
)

from schema import api

CONTRACT = build_schema(Path(__file__).with_name("contract.graphql").read_text())
OURS = build_schema(api.sdl())
OUR_TYPES: dict[str, Any] = dict(OURS.type_map)


def types_of(schema: Any) -> dict[str, Any]:
    """Return the types that a schema defines itself, by name."""
    return {
        name: kind
        for name, kind in schema.type_map.items()
        if not is_introspection_type(kind) and not is_specified_scalar_type(kind)
    }


def facts_of(kind: Any) -> Iterator[tuple[str, ...]]:
    """Yield what a client can rely on in a type: its kind, and a line for each part of it."""
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


def test_nothing_in_the_contract_is_broken() -> None:
    """GraphQL's own comparison of the two schemas finds no breaking change."""
    assert validate_schema(api.schema._schema) == []
    assert find_breaking_changes(CONTRACT, api.schema._schema) == []


def test_the_types_of_the_contract_are_there_in_full() -> None:
    """Fields, arguments, defaults, values and interfaces are there, exactly as they stand."""
    for name, kind in types_of(CONTRACT).items():
        assert {*facts_of(kind)} <= {*facts_of(OUR_TYPES[name])}, name


def test_the_contract_says_no_less_than_it_did() -> None:
    """The copy of the contract is whole: it has what it had when it was agreed on."""
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
"""Fields beyond the contract that front ends may use by now, with their types."""


def test_fields_beyond_the_contract_stay() -> None:
    """They are in no type of the contract, and keep their types."""
    for name, kind in OFFERED.items():
        owner, field = name.split(".")
        assert field not in types_of(CONTRACT)[owner].fields
        assert str(OUR_TYPES[owner].fields[field].type) == kind, name


def test_what_was_added_to_the_contract_is_optional() -> None:
    """Questions that follow the contract stay valid: no further argument or input is required."""
    for name, theirs in types_of(CONTRACT).items():
        ours = OUR_TYPES[name]
        if isinstance(ours, GraphQLInputObjectType):
            new = {key: it for key, it in ours.fields.items() if key not in theirs.fields}
            assert not any(map(is_required_input_field, new.values())), name
            continue
        for field_name, field in getattr(theirs, "fields", {}).items():
            arguments = ours.fields[field_name].args
            new = {key: it for key, it in arguments.items() if key not in field.args}
            assert not any(map(is_required_argument, new.values())), (name, field_name)


def described() -> Iterator[tuple[str, str | None]]:
    """Yield every place of the schema that can have a description, with the description."""
    yield "schema", OURS.description
    for name, kind in types_of(OURS).items():
        yield name, kind.description
        parts = getattr(kind, "values", None) or getattr(kind, "fields", {})
        for part_name, part in parts.items():
            yield f"{name}.{part_name}", part.description
            for key, argument in getattr(part, "args", {}).items():
                yield f"{name}.{part_name}({key})", argument.description


def test_everything_is_described() -> None:
    """Types, fields, arguments, values and input fields have a description that ends well."""
    for place, description in described():
        assert description, f"{place} has no description"
        assert description == description.strip(), place
        assert description[0].isalnum() or description[0] == "`", f"{place}: {description}"
