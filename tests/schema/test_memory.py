"""Memory: nothing that a client chooses is kept beyond what is counted."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import orjson
import pytest

from schema import api
from schema.api import API
from schema.documents.documents import Documents
from schema.limits import Limits
from tests.schema.worlds import World, demo_world
from tests.snapshots.factories import hash_of

SCHEMA = api.schema._schema
FIELDS = ("name", "version", "compiler", "operatingSystem", "target", "variants", "stacks")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a small catalog."""
    return demo_world(tmp_path_factory.mktemp("catalog"), num_specs=100)


def fields(names: Iterable[str]) -> str:
    """Return a document that asks for fields of the query."""
    return "{ " + " ".join(names) + " }"


def growth(ask: Callable[[int], object], times: int) -> int:
    """Return by how many bytes memory grows while something is asked so often, after one time."""
    ask(0)
    gc.collect()
    tracemalloc.start()
    try:
        ask(1)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for number in range(2, times + 2):
            ask(number)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before


def test_aliases_leave_nothing_behind(world: World) -> None:
    """Queries with aliases of 28,000 characters take memory while they run, none afterwards."""
    limits = Limits(max_document_bytes=10**6, max_name_length=10**5, max_answer_bytes=10**9)
    forgetful = API(limits, document_bytes=0)

    def ask(number: int) -> None:
        names = [f"a{number}x{place}{'x' * 28_000}" for place in range(len(FIELDS))]
        fields = " ".join(f"{name}: {field}" for name, field in zip(names, FIELDS, strict=True))
        question = f"{{ revision {{ specs(first: 50) {{ nodes {{ {fields} hash }} }} }} }}"
        answer = forgetful.execute(question, context=world.context())
        assert not answer.errors
        assert len(orjson.dumps(answer.body())) > 5 * 10**6

    assert growth(ask, 2) < 2 * 10**5  # Python's own strings of names grow a little


KINDS: dict[str, Callable[[int], str]] = {
    "long": lambda number: f'{{ revision(ref: "{number}{"x" * 30_000}") {{ tag }} }}',
    "many fields": lambda number: fields(f"a{number}x{n}: __typename" for n in range(150)),
    "many errors": lambda number: fields(f"a{number}x{n}" for n in range(30)),
    "unreadable": lambda number: "{" * 500 + str(number),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_documents_are_kept_within_bytes(make: Callable[[int], str]) -> None:
    """However many different ones arrive: what is kept stays within what is counted."""
    most = 500_000
    documents = Documents(SCHEMA, Limits(), max_bytes=most)
    grown = growth(lambda number: documents.get(make(number)), most // 50_000)
    assert grown < most * 1.1
    assert documents.get(make(1)).num_bytes < most


def test_the_latest_documents_are_kept() -> None:
    """A text that was read is not read again; one that is too large is."""
    documents = Documents(SCHEMA, Limits(), max_bytes=50_000)
    assert documents.get("{ __typename }") is documents.get("{ __typename }")
    large = fields(f"a{number}: __typename" for number in range(49))
    assert documents.get(large) is not documents.get(large)
    assert documents.get(large).node == documents.get(large).node


def test_estimates_are_kept_by_sizes_alone() -> None:
    """What else a request's variables hold is not kept: not their texts, nor unknown ones."""
    text = """query($n: Int, $filter: SpecFilter) {
      revision { specs(first: $n, filter: $filter) { nodes { hash } } }
    }"""
    document = Documents(SCHEMA, Limits()).get(text)

    def ask(number: int) -> None:
        variables = {"n": 5, "filter": {"packages": ["x" * 90_000]}, f"more{number}": "x" * 90_000}
        assert document.estimate(SCHEMA, None, variables).units > 100

    assert growth(ask, 20) < 10_000
    assert document.estimate(SCHEMA, None, {"n": 7}).units > 100


def wanted(number: int) -> dict[str, Any]:
    """Return specs that nobody has, in versions and compilers that no other request names."""
    versions = [f"{number}.{place}{'.1' * 300}" for place in range(20)]
    facts = [{"version": version, "compiler": f"gcc@{version}"} for version in versions]
    return {"specs": [it | {"hash": hash_of(it["version"]), "name": "hdf5"} for it in facts]}


VALUES: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "specs of a lock file": (
        """query($specs: [ConcreteSpecInput!]!) {
          revision { lookup(specs: $specs) { missing { nearest { hash } } } }
        }""",
        wanted,
    ),
    "a filter": (
        "query($filter: SpecFilter) { revision { specs(filter: $filter) { totalCount } } }",
        lambda number: {
            "filter": {
                "variants": [f"a=b{number}.{it}{'x' * 900}" for it in range(100)],
                "compilers": [f"gcc@={number}.{it}{'x' * 900}" for it in range(100)],
            }
        },
    ),
    "a query of Spack's": (
        "query($text: String) { revision { specs(matching: $text) { totalCount } } }",
        lambda number: {"text": "hdf5@" + ",".join(f"{number}.{it}{'.1' * 90}" for it in range(9))},
    ),
}


@pytest.mark.parametrize(("query", "values"), VALUES.values(), ids=VALUES)
def test_values_leave_nothing_behind(
    query: str, values: Callable[[int], dict[str, Any]], world: World
) -> None:
    """What is worked out of texts is remembered of usual ones, and of a few that are longer."""
    forgetful = API(document_bytes=0)

    def ask(number: int) -> None:
        answer = forgetful.execute(query, values(number), context=world.context())
        assert not answer.errors

    assert growth(ask, 20) < 1_300_000
