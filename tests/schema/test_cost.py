"""How large a query is, told before it runs: never too low by much, and not wildly too high."""

from typing import Any

import pytest
from graphql import get_named_type, get_nullable_type, is_list_type, is_object_type

from schema import api
from schema.cost import Cost, is_paged, stated_cost

SCHEMA = api.schema._schema


def cost_of(kind: str, name: str) -> Cost:
    """Return what a field of the schema says that it costs."""
    cost = stated_cost(SCHEMA.type_map[kind].fields[name])  # type: ignore[attr-defined]
    assert cost is not None
    return cost


def items_of(kind: str, name: str) -> int:
    """Return how many objects a list states."""
    items = cost_of(kind, name).items
    assert isinstance(items, int)
    return items


def estimate(text: str, name: str | None = None, variables: dict[str, Any] | None = None) -> int:
    """Return how many objects an operation asks for."""
    return api.objects_asked(text, name, variables)


STACKS, TAGS = items_of("Revision", "stacks"), items_of("Query", "tags")
NOTES = cost_of("Comparison", "releaseNotes").weight
COUNTING = cost_of("Facets", "stacks").weight
FACETS = "{ revision { specs(first: 0) { facets { %s } } } }"
SPECS = "{ revision { specs%s { nodes { hash } } } }"

COUNTS: dict[str, tuple[str, dict[str, Any], int]] = {
    "values alone": ("{ __typename }", {}, 0),
    "one object": ("{ revision { tag } }", {}, 1),
    "a page": (SPECS % "", {}, 2 + 50),
    "a page of a size": (SPECS % "(first: 7)", {}, 2 + 7),
    "the smaller of two sizes": (SPECS % "(first: 7, last: 3)", {}, 2 + 3),
    "no size at all": (SPECS % "(first: null)", {}, 2 + 50),
    "null beside a size": (SPECS % "(first: null, last: 900)", {}, 2 + 900),
    "a bad size": (SPECS % "(first: -1)", {}, 2),
    "a variable": ("query($n: Int) " + SPECS % "(last: $n)", {"n": 9}, 2 + 9),
    "a variable that is a float": ("query($n: Int) " + SPECS % "(last: $n)", {"n": 900.0}, 902),
    "a default": ("query($n: Int = 8) " + SPECS % "(last: $n)", {}, 2 + 8),
    "null instead of a default": (
        "query($n: Int = 8) " + SPECS % "(first: $n, last: 900)",
        {"n": None},
        2 + 900,
    ),
    "a variable that is no size": ("query($n: Int) " + SPECS % "(last: $n)", {"n": "x"}, 52),
    "edges": ("{ revision { specs(first: 7) { edges { node { hash } } } } }", {}, 2 + 14),
    "what a page has once": (
        "{ revision { specs(first: 7) { totalCount pageInfo { endCursor } "
        "facets { packages { count } stacks { count } } } } }",
        {},
        2 + 1 + 1 + 2 * COUNTING + items_of("Facets", "packages") + items_of("Facets", "stacks"),
    ),
    "pages within pages": (
        "{ revision { packages(first: 10) { nodes { specs(first: 20) { nodes { hash } } } } } }",
        {},
        2 + 10 * (1 + 1 + 20),
    ),
    "lists without pages": (
        "{ tags { latest { stacks { name } } } }",
        {},
        TAGS * (1 + 1 + STACKS),
    ),
    "a fragment on a page": (
        "{ revision { specs(first: 7) { ...F } packages(first: 3) { nodes { specs(first: 9) "
        "{ ...F } } } } } fragment F on SpecConnection { nodes { hash } }",
        {},
        3 + 7 + 3 * (1 + 1 + 9),
    ),
    "an inline fragment on a page": (
        "{ revision { specs(first: 7) { ... { ... on SpecConnection { nodes { hash } } } } } }",
        {},
        2 + 7,
    ),
    "ids": ('{ nodes(ids: ["a", "b"]) { ... on Revision { tag } } }', {}, 2),
    "ids in a variable": (
        "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Revision { stacks { name } } } }",
        {"ids": ["a"] * 20},
        20 * (1 + STACKS),
    ),
    "ids by default": ('query($i: [ID!]! = ["a", "b"]) { nodes(ids: $i) { id } }', {}, 2),
    "release notes": (
        '{ compare(base: "a", head: "b") { a: releaseNotes b: releaseNotes(format: JSON) } }',
        {},
        1 + 2 * NOTES,
    ),
    "fewer ids than none": ("{ nodes(ids: -2000000000) { id } }", {}, 1),
    "a larger page than there can be": (SPECS % "(first: 99999)", {}, 2 + 1000),
    "the same names in several types": (
        "{ revision { stacks { name } specs(first: 5) { nodes { stacks } } "
        "packages(first: 5) { nodes { stacks compilers numSpecsByStack { stack } } } } }",
        {},
        1 + STACKS + (1 + 5) + (1 + 5 * (1 + 1 + 1 + items_of("Package", "numSpecsByStack"))),
    ),
    "counts under many names": (
        FACETS % " ".join(f"a{number}: stacks {{ value }}" for number in range(100)),
        {},
        1 + 1 + 1 + 100 * (COUNTING + items_of("Facets", "stacks")),
    ),
    "a walk through dependencies": (
        '{ revision { spec(hash: "a") { dependents(transitive: true, first: 5) '
        "{ nodes { name } } dependencies(first: 5) { nodes { name } } } } }",
        {},
        2 + cost_of("Spec", "dependents").arguments["transitive"] + (1 + 5) + (1 + 5),
    ),
    "introspection": ('{ __schema { types { name } } __type(name: "A") { name } }', {}, 12),
    "one id alone": ('{ nodes(ids: "a") { id } }', {}, 1),
}


@pytest.mark.parametrize(("text", "variables", "expected"), COUNTS.values(), ids=COUNTS)
def test_an_estimate_counts_objects(text: str, variables: dict[str, Any], expected: int) -> None:
    """Objects of full pages, pages within pages multiplied."""
    assert estimate(text, None, variables) == expected


def test_only_the_operation_that_is_asked_for_counts() -> None:
    """A document with several operations costs what the named one does; nothing without a name."""
    document = "query A { tags { name } } query B { revision { tag } }"
    assert estimate(document, "A") == TAGS
    assert estimate(document, "B") == 1
    assert estimate(document) == estimate(document, "C") == 0


def test_a_fragment_is_walked_once() -> None:
    """Fragments that spread each other twice do not make the estimate itself exponential."""
    parts = [f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(60)]
    text = "{ ...F0 } " + " ".join(parts) + " fragment F60 on Query { revision { tag } }"
    assert estimate(text) == 2**60


def test_release_notes_are_neither_free_nor_forbidden() -> None:
    """A query may ask for some, but not for hundreds under other names."""
    question = '{ compare(base: "a", head: "b") { %s } }'
    few, many = (
        question % " ".join(f"a{number}: releaseNotes" for number in range(count))
        for count in (5, 100)
    )
    assert estimate(few) < api.MAX_OBJECTS < estimate(many)


FIELDS = [
    (kind.name, name, field)
    for kind in SCHEMA.type_map.values()
    if is_object_type(kind) and not kind.name.startswith("__")
    for name, field in kind.fields.items()
]


def test_every_list_states_how_long_it_may_be() -> None:
    """A list of objects states its size, one of values its weight; connections have pages."""
    for kind, name, field in FIELDS:
        if is_list_type(get_nullable_type(field.type)):
            assert stated_cost(field) is not None, f"{kind}.{name} states no cost"
        if get_named_type(field.type).name.endswith("Connection"):
            assert is_paged(field), f"{kind}.{name} has no pages"


def test_what_takes_long_states_a_weight() -> None:
    """Release notes, counts over all specs, and walks through all dependencies are not free."""
    for kind, name, field in FIELDS:
        cost = stated_cost(field)
        if kind == "Facets" or name == "releaseNotes":
            assert cost is not None, f"{kind}.{name}"
            assert cost.weight > 0, f"{kind}.{name}"
        if "transitive" in field.args:
            assert cost is not None, f"{kind}.{name}"
            assert cost.arguments["transitive"] > 0, f"{kind}.{name}"
