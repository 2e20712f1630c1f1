"""Specs from documents of their own: what they add up to, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources.buildcache import database as specs
from snapshots.sources.buildcache.database import IndexSpecs, SpecDocuments
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.folders import text
from tests.snapshots.sources.buildcache.indexes import (
    GCC,
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    documents_of,
    edge,
    node,
    small_database,
    spec_document,
)


def put_together(documents: dict[str, dict[str, Any]], report: Report | None = None) -> IndexSpecs:
    """Return the specs of documents by hash."""
    together = SpecDocuments("cache", report or Report(), proof=False)
    for digest, document in documents.items():
        together.add(digest, text(document), f"cache/{digest}")
    return together.specs()


@given(order=st.permutations(sorted(documents_of(small_database()))))
def test_documents_are_read_as_an_index(order: list[str]) -> None:
    """They give what the index of the same cache gives, in whatever order they come."""
    index, documents = small_database(), documents_of(small_database())
    expected = specs.decode(text(index), "index.json", Report(), proof=False)
    found = put_together({digest: documents[digest] for digest in order})
    assert (found.in_cache, found.outside) == (expected.in_cache, expected.outside)
    assert set(found.in_cache) == {LIBELF, RUNTIME, WRAPPER}
    assert set(found.outside) == {GCC}


def test_a_node_is_as_its_own_document_has_it() -> None:
    """Wherever it stands besides, and whichever was read first."""
    old = node("libelf", LIBELF, "1.0", package_hash=None)
    new = node("libelf", LIBELF, "1.0")
    above = node("gcc-runtime", RUNTIME, dependencies=[edge("libelf", LIBELF, ["link"], [])])
    documents = {LIBELF: spec_document(new), RUNTIME: spec_document(above, old)}
    for order in (list(documents), list(documents)[::-1]):
        found = put_together({digest: documents[digest] for digest in order})
        assert found.in_cache[LIBELF].package_hash == new["package_hash"]
    outside = put_together({RUNTIME: documents[RUNTIME]}).outside
    assert outside[LIBELF].package_hash is None


_GOOD = node("libelf", LIBELF)
_NO_HASH = node("gcc", GCC) | {"hash": None}
_NO_NAME = node("gcc", GCC) | {"name": 1}


@pytest.mark.parametrize(
    ("document", "key", "reason"),
    [
        (spec_document(_GOOD, version=7), "spec._meta.version", "7 is not a format .* 2 to 6"),
        (spec_document(_GOOD, version=1), "spec._meta.version", "1 is not a format"),
        (spec_document(), "spec.nodes[0].hash", "is nothing, but the document"),
        (spec_document(node("gcc", GCC)), "spec.nodes[0].hash", f"is '{GCC}', but .*{LIBELF}"),
        (spec_document(_GOOD, _NO_HASH), "spec.nodes[1].hash", "is missing"),
        (spec_document(_GOOD, _NO_NAME), "spec.nodes[1].name", "expected `str`"),
        ({"spec": [{"libelf": {}}]}, "spec", "expected `object`, got `array`"),
        ({"spec": {"nodes": [_GOOD]}}, "spec._meta", "is missing"),
        (database(_GOOD), "spec", "is missing"),
    ],
)
def test_what_is_no_document_of_the_spec(document: Any, key: str, reason: str) -> None:
    """It is refused with its own location, and leaves nothing behind."""
    together = SpecDocuments("cache", Report(), proof=False)
    with pytest.raises(SourceError, match=reason) as caught:
        together.add(LIBELF, json.dumps(document).encode(), "cache/one.json")
    assert (caught.value.location, caught.value.key) == ("cache/one.json", key)
    assert together.specs() == IndexSpecs({}, {}, {})


def test_a_node_that_cannot_be_read() -> None:
    """A bad fact is told with the document that has it; the others are read where one may skip."""
    bad = spec_document(node("libelf", LIBELF, version="no version\n"))
    documents = {RUNTIME: spec_document(node("gcc-runtime", RUNTIME)), LIBELF: bad}
    with pytest.raises(SourceError) as caught:
        put_together(documents)
    assert caught.value.location == f"cache/{LIBELF}"
    assert caught.value.key == "spec.nodes[0].version"
    report = Report(skip_bad=True)
    assert set(put_together(documents, report).in_cache) == {RUNTIME}
    assert len(report.skipped) == 1


def test_two_documents_of_one_spec() -> None:
    """Nothing says which of them counts, so the second is refused with the place of both."""
    together = SpecDocuments("cache", Report(), proof=False)
    together.add(LIBELF, text(spec_document(_GOOD)), "cache/one")
    with pytest.raises(SourceError, match=f"cache/two: holds the spec {LIBELF}, which cache/one"):
        together.add(LIBELF, text(spec_document(_GOOD)), "cache/two")
