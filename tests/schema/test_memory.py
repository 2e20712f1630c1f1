"""Memory: what clients send is retained only as far as counted."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import orjson
import pytest

from schema import api
from schema.api import API
from schema.documents.documents import Documents
from schema.fields.cost import Sizes
from schema.limits import Limits
from tests.schema.worlds import World
from tests.snapshots.factories import hash_of

SCHEMA = api.graphql_schema


FIELDS = ("name", "version", "compiler", "operatingSystem", "target", "variants", "stackNames")


def fields(names: Iterable[str]) -> str:
    """Return a document that selects fields of the query."""
    return "{ " + " ".join(names) + " }"


def growth(send: Callable[[int], object], times: int) -> int:
    """Return the number of bytes by which memory grows in some calls, after a first one."""
    send(0)
    gc.collect()
    tracemalloc.start()
    try:
        send(1)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for number in range(2, times + 2):
            send(number)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before


def test_aliases_are_not_retained(world: World) -> None:
    """Aliases of 28,000 characters take memory only while their query is executed."""
    limits = Limits(max_document_bytes=10**6, max_answer_bytes=10**9)
    api = API(limits, document_bytes=0)

    def send(number: int) -> None:
        names = [f"a{number}x{place}{'x' * 28_000}" for place in range(len(FIELDS))]
        fields = " ".join(f"{name}: {field}" for name, field in zip(names, FIELDS, strict=True))
        query = f"{{ revision {{ specs(first: 50) {{ nodes {{ {fields} hash }} }} }} }}"
        answer = api.execute(query, context=world.context())
        assert not answer.errors
        assert len(orjson.dumps(answer.body())) > 5 * 10**6

    assert growth(send, 2) < 2 * 10**5  # Python's own strings of names grow a little


KINDS: dict[str, Callable[[int], str]] = {
    "long": lambda number: f'{{ revision(ref: "{number}{"x" * 30_000}") {{ tagName }} }}',
    "many fields": lambda number: fields(f"a{number}x{n}: __typename" for n in range(150)),
    "many errors": lambda number: fields(f"a{number}x{n}" for n in range(30)),
    "unreadable": lambda number: "{" * 500 + str(number),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_cached_documents_are_bounded(make: Callable[[int], str]) -> None:
    """Many different documents take no more memory than is counted."""
    most = 500_000
    documents = Documents(SCHEMA, Limits(), max_bytes=most)
    assert growth(lambda number: documents.get(make(number)), most // 50_000) < most * 1.1
    assert documents.get(make(1)).num_bytes < most


def test_estimates_are_cached_by_sizes() -> None:
    """Without the texts of variables, and without undeclared ones."""
    text = """query($n: Int, $filter: SpecFilter) {
      revision { specs(first: $n, filter: $filter) { nodes { hash } } }
    }"""
    document = Documents(SCHEMA, Limits()).get(text)

    def send(number: int) -> None:
        variables = {"n": 5, "filter": {"packages": ["x" * 90_000]}, f"more{number}": "x" * 90_000}
        assert document.estimate(SCHEMA, None, variables, Sizes()).units > 100

    assert growth(send, 20) < 10_000


def missing_specs(number: int) -> list[dict[str, str]]:
    """Return specs of versions and compilers that no other request names."""
    versions = [f"{number}.{place}{'.1' * 300}" for place in range(20)]
    return [
        {"hash": hash_of(text), "name": "hdf5", "version": text, "compiler": f"gcc@{text}"}
        for text in versions
    ]


VALUES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "specs of a lock file": (
        """query($value: [ConcreteSpecInput!]!) {
          revision { lookup(specs: $value) { missing { nodes { nearest { hash } } } } }
        }""",
        missing_specs,
    ),
    "a filter": (
        "query($value: SpecFilter) { revision { specs(filter: $value) { totalCount } } }",
        lambda number: {
            "variants": [f"a=b{number}.{place}{'x' * 900}" for place in range(100)],
            "compilers": [f"gcc@={number}.{place}{'x' * 900}" for place in range(100)],
        },
    ),
    "a query in Spack's spec syntax": (
        "query($value: String) { revision { specs(matching: $value) { totalCount } } }",
        lambda number: "hdf5@" + ",".join(f"{number}.{n}{'.1' * 90}" for n in range(9)),
    ),
}


@pytest.mark.parametrize(("query", "value"), VALUES.values(), ids=VALUES)
def test_values_are_not_retained(query: str, value: Callable[[int], Any], world: World) -> None:
    """The results of parsing are cached for typical texts, and for few longer ones."""
    api = API(document_bytes=0)

    def send(number: int) -> None:
        assert not api.execute(query, {"value": value(number)}, context=world.context()).errors

    assert growth(send, 20) < 1_300_000
