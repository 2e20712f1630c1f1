"""Random documents, drawn from the schema."""

import random
from collections.abc import Iterator
from functools import cache

from graphql import GraphQLSchema, build_schema

from schema import api
from tests.hostile.attack import Attack, Request, Target, query, sending
from tests.schema.generated_documents import Writer

_SEED = 20_260_101
_EACH = 25
"""The number of documents of an attack."""


@cache
def _schema() -> GraphQLSchema:
    return build_schema(api.sdl())


def _drawn(seed: int) -> Iterator[Request]:
    """Yield the requests of a seed, the same ones each time."""
    for number in range(_EACH):
        yield query(*Writer(_schema(), {}, random.Random(f"{seed}-{number}")).question())


def _attack(number: int) -> Attack:
    def requests(_target: Target) -> Iterator[Request]:
        return _drawn(_SEED + number)

    return Attack(
        f"generated {number + 1}", f"{_EACH} documents drawn from the schema", sending(requests)
    )


ATTACKS = tuple(map(_attack, range(8)))
