"""The public contract and deprecations: names, types and meanings do not change."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLEnumType,
    build_schema,
    find_breaking_changes,
    is_introspection_type,
    is_specified_scalar_type,
    parse,
    print_ast,
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
    assert validate_schema(api.graphql_schema) == []
    assert find_breaking_changes(CONTRACT, api.graphql_schema) == []


def test_types_of_the_contract_are_complete() -> None:
    """Fields, arguments, defaults, values and interfaces are unchanged."""
    for name, kind in types_of(CONTRACT).items():
        assert {*facts_of(kind)} <= {*facts_of(OUR_TYPES[name])}, name


def test_contract_is_unchanged() -> None:
    """It has as many types and parts as when it was agreed on."""
    facts = {name: len(list(facts_of(kind))) for name, kind in types_of(CONTRACT).items()}
    assert (len(facts), sum(facts.values())) == (67, 533)


OFFERED = """
type Comparison { cause: Cause causeKinds: [CauseKindCount!]! reasons: [ReasonCount!]!
  whyUnknown: String }
type ConcreteSpecInput { namespace: String packageHash: String }
type GrowthPoint { comparison: Comparison specsRebuilt: Int! specsReplaced: Int! tag: String!
  takenAt: DateTime! }
type HashHistory { id: ID! newest: Revision! }
type MissingSpec { goneIn: Revision isRoot: Boolean! version: String }
type Package { coverage: [CoverageCell!]! dependents: [DependentPackage!] history: PackageHistory
  totalSize: ByteCount }
type PackageHistory { id: ID! isCurrent: Boolean! }
type PackageHistoryEntry { reasons: [ReasonCount!]! }
type Revision { confirmedAt: DateTime! seriesNode: Series! source: Source! tagNode: Tag!
  totalSize: ByteCount }
type Series { id: ID! }
type Span { goneIn: Revision reasonCame: SpecChangeReason! seriesNode: Series! }
type Spec { dependencies: DependencyConnection dependents: DependencyConnection
  history: HashHistory short: String! }
type Stack { totalSize: ByteCount }
type Tag { id: ID! seriesNode: Series! }
"""
"""Fields beyond the contract that clients may use."""


def test_fields_beyond_the_contract_are_unchanged() -> None:
    """They are in no type of the contract, and keep their types."""
    offered: Any = parse(OFFERED).definitions
    for owner in offered:
        fields = OUR_TYPES[owner.name.value].fields
        of_contract = types_of(CONTRACT)[owner.name.value].fields
        kinds = {field.name.value: print_ast(field.type) for field in owner.fields}
        assert kinds.keys().isdisjoint(of_contract)
        assert {name: str(fields[name].type) for name in kinds} == kinds


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
