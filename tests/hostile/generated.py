"""Attacks that nobody thought of: documents drawn by chance from the schema itself.

Fields are chosen by what the schema offers, each under some aliases, in fragments here and there,
with arguments that are extreme as often as they are sensible.
"""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    get_named_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
)

from schema import api
from tests.hostile.attack import Answer, Ask, Attack, Target, query, send_all

SEED = 20_260_101
EACH = 25
"""How many documents one attack sends."""

_DEPTH = 6
_LENGTHS = (500, 2_000, 5_000, 20_000)
"""About how many characters a document may have."""

_TEXTS = (
    "develop",
    "v1",
    "",
    "~",
    "@",
    "gcc",
    "zlib",
    "^zlib",
    "+mpi",
    "0" * 64,
    "\\u202e",
    "é" * 99,
)
_NUMBERS = (
    "0",
    "1",
    "50",
    "1000",
    "1001",
    "-1",
    "2147483647",
    "-2147483648",
    "null",
    "99999999999",
)


class Drawing:
    """Draws documents; ``chance`` decides everything, so that one seed gives one document."""

    def __init__(self, schema: GraphQLSchema, chance: random.Random) -> None:
        self._schema = schema
        self._chance = chance
        self._fragments: list[str] = []
        self._left = chance.choice(_LENGTHS)

    def document(self) -> str:
        """Return one document: a query and its fragments."""
        root = self._schema.query_type
        assert root is not None, "the schema has no queries"
        return " ".join([f"query {self._selection(root, _DEPTH)}", *self._fragments])

    def _selection(self, kind: GraphQLObjectType, depth: int) -> str:
        goes_on = depth > 0 and self._left > 0
        names = [name for name in kind.fields if goes_on or self._is_leaf(kind, name)]
        count = self._chance.choice((1, 2, 3, 5)) if goes_on else 1
        picked = self._chance.choices(names or ["__typename"], k=count)
        parts = [self._aliases(kind, name, depth) for name in picked]
        if self._chance.random() < 0.2:
            parts.append(self._fragment(kind, parts))
        return "{" + " ".join(parts) + "}"

    def _aliases(self, kind: GraphQLObjectType, name: str, depth: int) -> str:
        if name == "__typename":
            return name
        field = self._field(kind, name, depth)
        room = max(1, self._left // len(field))
        times = min(self._chance.choice((1, 1, 2, 10, 60, 300)), room)
        self._left -= times * len(field)
        prefix = f"x{self._chance.randrange(10**6)}_"
        return " ".join(f"{prefix}{number}:{field}" for number in range(times))

    def _fragment(self, kind: GraphQLObjectType, parts: list[str]) -> str:
        name = f"F{len(self._fragments)}"
        self._fragments.append(f"fragment {name} on {kind.name} {{{' '.join(parts)}}}")
        return f"...{name} " * self._chance.choice((1, 2, 9))

    def _field(self, kind: GraphQLObjectType, name: str, depth: int) -> str:
        field = kind.fields[name]
        arguments = [
            f"{argument}:{self._value(it.type, 3)}"
            for argument, it in field.args.items()
            if is_non_null_type(it.type) or self._chance.random() < 0.4
        ]
        listed = f"({','.join(arguments)})" if arguments else ""
        result = get_named_type(field.type)
        if is_leaf_type(result):
            return name + listed
        if isinstance(result, GraphQLObjectType):
            return name + listed + self._selection(result, depth - 1)
        possible = self._chance.choice([*self._schema.get_possible_types(result)])
        below = self._selection(possible, depth - 1)
        return f"{name}{listed}{{...on {possible.name}{below}}}"

    def _is_leaf(self, kind: GraphQLObjectType, name: str) -> bool:
        return is_leaf_type(get_named_type(kind.fields[name].type))

    def _value(self, kind: Any, depth: int) -> str:
        if is_non_null_type(kind):
            return self._value(kind.of_type, depth)
        if is_list_type(kind):
            times = self._chance.choice((0, 1, 3, 300))
            return "[" + ",".join(self._value(kind.of_type, depth - 1) for _ in range(times)) + "]"
        if isinstance(kind, GraphQLEnumType):
            return str(self._chance.choice([*kind.values]))
        if isinstance(kind, GraphQLInputObjectType):
            fields = (
                f"{name}:{self._value(it.type, depth - 1)}"
                for name, it in kind.fields.items()
                if is_non_null_type(it.type) or (depth > 0 and self._chance.random() < 0.4)
            )
            return "{" + ",".join(fields) + "}"
        name = getattr(kind, "name", "")
        if name == "Int":
            return self._chance.choice(_NUMBERS)
        if name == "Boolean":
            return self._chance.choice(("true", "false"))
        return f'"{self._chance.choice(_TEXTS)}"'


@cache
def schema_of_server() -> GraphQLSchema:
    """Return the schema as clients see it."""
    return build_schema(api.sdl())


def drawn(seed: int, count: int) -> Iterator[str]:
    """Return so many documents of a seed, the same ones each time."""
    schema = schema_of_server()
    for number in range(count):
        yield Drawing(schema, random.Random(f"{seed}-{number}")).document()


def generated_attacks(count: int = 8) -> Iterator[Attack]:
    """Return attacks of documents that are drawn with fixed seeds."""
    for number in range(count):

        def run(target: Target, seed: int = SEED + number) -> list[Answer]:
            asks: list[Ask] = [query(text) for text in drawn(seed, EACH)]
            return send_all(target, asks)

        yield Attack(f"generated {number + 1}", f"{EACH} documents drawn from the schema", run)
