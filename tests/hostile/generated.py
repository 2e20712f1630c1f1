"""Attacks that nobody thought of: documents drawn by chance from the schema itself."""

import random
from collections.abc import Iterator
from functools import cache

from graphql import GraphQLSchema, build_schema

from schema import api
from tests.hostile.attack import Answer, Ask, Attack, Target, query, send_all
from tests.schema.generated_documents import Writer

SEED = 20_260_101
EACH = 25
"""How many documents one attack sends."""


@cache
def schema_of_server() -> GraphQLSchema:
    """Return the schema as clients see it."""
    return build_schema(api.sdl())


def drawn(seed: int, count: int) -> Iterator[Ask]:
    """Return so many requests of a seed, the same ones each time."""
    for number in range(count):
        draw = random.Random(f"{seed}-{number}")
        yield query(*Writer(schema_of_server(), {}, draw).question())


def generated_attacks(count: int = 8) -> Iterator[Attack]:
    """Return attacks of documents that are drawn with fixed seeds."""
    for number in range(count):

        def run(target: Target, seed: int = SEED + number) -> list[Answer]:
            return send_all(target, drawn(seed, EACH))

        yield Attack(f"generated {number + 1}", f"{EACH} documents drawn from the schema", run)
