"""Counterparts of removed and added specs, by tier and by rank."""

from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.models import Spec
from tests.snapshots.changes.graphs import explained, node
from tests.snapshots.factories import hash_of


def hdf5(label: str, *edges: Any, **facts: Any) -> Spec:
    """Return a spec of hdf5; its label only distinguishes it from others."""
    usual = {"name": "hdf5", "stacks": ("e4s", "root"), "target": "zen4", "variants": ("+mpi",)}
    return node(label, *edges, **{**usual, **facts})


def expected(*labels: str) -> set[tuple[str, str]]:
    """Return pairs of hashes of labels: BASE HEAD."""
    return {(hash_of(before), hash_of(after)) for before, after in map(str.split, labels)}


@pytest.mark.parametrize("recipe", ["a", "b"])
def test_ambiguous_changes(recipe: str) -> None:
    """All changes of a tie are ambiguous, removed specs included; others are not."""
    base = [*(hdf5(f"base{n}") for n in range(2)), node("zlib"), node("png", stacks=("a",))]
    head = [hdf5("head", package_hash=recipe * 52 + "===="), node("zlib:2"), node("png")]
    explanation = explained(base, head)
    comparison = explanation.comparison
    texts = explanation.why_ambiguous(comparison.specs)
    ambiguous = {change.hash for change, text in zip(comparison.specs, texts, strict=True) if text}
    assert ambiguous == {spec.hash for spec in (*base, *head) if spec.name == "hdf5"}
    assert {*texts} == {None, "1 of 2 has a counterpart; it is unknown which"}
    assert explanation.ties(comparison.specs).count(None) == len(comparison.specs) - 3
    pairs = explanation.counterparts
    assert pairs.num_bytes > replace(pairs, base_ties={}, head_ties={}).num_bytes
