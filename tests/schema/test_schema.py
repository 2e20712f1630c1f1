"""Rules of the schema: fields of one name merge, what can fail is nullable, all is described."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from graphql import (
    GraphQLObjectType,
    build_schema,
    get_named_type,
    is_introspection_type,
    is_leaf_type,
    is_required_argument,
    is_specified_scalar_type,
    validate_schema,
)

from schema import api

SCHEMA = build_schema(api.sdl())
TYPES: dict[str, Any] = {
    name: kind
    for name, kind in SCHEMA.type_map.items()
    if not is_introspection_type(kind) and not is_specified_scalar_type(kind)
}
OBJECTS = [kind for kind in TYPES.values() if isinstance(kind, GraphQLObjectType)]
NODES = [kind for kind in OBJECTS if "Node" in {interface.name for interface in kind.interfaces}]

DIFFERENT = {
    "kind": "an enumeration of each type, so that clients check their cases for completeness",
}
"""The fields of one name whose types differ, with the reason."""


def test_schema_is_valid() -> None:
    """The schema is valid."""
    assert validate_schema(api.graphql_schema) == []


def shape(kind: Any) -> str:
    """Return what has to be equal for two fields to merge: lists, nulls, and the type of leaves.

    https://spec.graphql.org/draft/#SameResponseShape()
    """
    named = get_named_type(kind)
    return str(kind) if is_leaf_type(named) else str(kind).replace(named.name, "{}")


def conflicts(one: Any, other: Any, seen: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the fields of two types, and of the types of their fields, that do not merge."""
    if one is other or (one.name, other.name) in seen:
        return
    seen.add((one.name, other.name))
    for name in one.fields.keys() & other.fields.keys():
        first, second = one.fields[name], other.fields[name]
        if any(map(is_required_argument, [*first.args.values(), *second.args.values()])):
            continue
        if shape(first.type) != shape(second.type):
            yield f"{one.name}.{name}: {first.type}, {other.name}.{name}: {second.type}"
            continue
        parts = get_named_type(first.type), get_named_type(second.type)
        if all(isinstance(part, GraphQLObjectType) for part in parts):
            yield from conflicts(*parts, seen)


@pytest.mark.parametrize(("one", "other"), list(combinations(NODES, 2)), ids=str)
def test_fields_of_one_name_merge(one: Any, other: Any) -> None:
    """Fragments on any two types that `node` can return may select fields of the same name."""
    found = [text for text in conflicts(one, other, set()) if not is_exception(text)]
    assert found == []


def is_exception(conflict: str) -> bool:
    """Return whether a conflict is one of the known ones."""
    return conflict.split(":")[0].split(".")[1] in DIFFERENT


def test_exceptions_are_still_needed() -> None:
    """Each field whose types may differ does so."""
    all_conflicts = [text for pair in combinations(NODES, 2) for text in conflicts(*pair, set())]
    assert {text.split(":")[0].split(".")[1] for text in all_conflicts} == DIFFERENT.keys()


def test_what_can_fail_by_an_argument_is_nullable() -> None:
    """So that a bad size, cursor, query or ref does not void the other fields of a request."""
    fallible = {"after", "first", "last", "matching", "ref", "base", "specs", "text", "rules"}
    not_null = [
        f"{kind.name}.{name}"
        for kind in OBJECTS
        for name, field in kind.fields.items()
        if fallible & field.args.keys() and str(field.type).endswith("!")
    ]
    assert not_null == []


def described() -> Iterator[tuple[str, str | None]]:
    """Yield every position in the schema that can have a description, with its description."""
    yield "schema", SCHEMA.description
    for name, kind in TYPES.items():
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


def test_nothing_is_deprecated() -> None:
    """There are no deprecated fields, values or arguments."""
    assert "@deprecated" not in api.sdl()


def test_no_two_types_are_the_same() -> None:
    """Two objects with equal fields would be one type; connections differ by what they list."""
    shapes: dict[tuple[tuple[str, str], ...], str] = {}
    for kind in OBJECTS:
        shape = tuple(sorted((name, str(field.type)) for name, field in kind.fields.items()))
        assert shapes.setdefault(shape, kind.name) == kind.name
