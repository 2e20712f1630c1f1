"""Counterparts of removed and added specs, by tier and by rank."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.changes.counterparts import find_counterparts
from snapshots.changes.pairings import pair
from snapshots.models import Spec
from tests.snapshots.changes.graphs import explained, node, side_of
from tests.snapshots.factories import hash_of


def paired(base: Sequence[Spec], head: Sequence[Spec]) -> set[tuple[str, str]]:
    """Return the pairs of two contents as hashes; they do not depend on ties."""
    sides = side_of(base), side_of(head)
    pairing = pair(sides[0].frame, sides[1].frame)
    specs = sides[0], pairing.removed, sides[1], pairing.added
    pairs, without = find_counterparts(*specs), find_counterparts(*specs, with_ties=False)
    assert without.base_of.tolist() == pairs.base_of.tolist()
    assert not {**without.base_ties, **without.head_ties}
    assert len(pairs) == len(pairs.base_rows) == len(pairs.head_rows)
    return {
        (sides[0].frame.hashes.at(before), sides[1].frame.hashes.at(after))
        for before, after in zip(pairs.base_rows, pairs.head_rows, strict=True)
    }


def hdf5(label: str, *edges: Any, **facts: Any) -> Spec:
    """Return a spec of hdf5; its label only distinguishes it from others."""
    usual = {"name": "hdf5", "stacks": ("e4s", "root"), "target": "zen4", "variants": ("+mpi",)}
    return node(label, *edges, **{**usual, **facts})


def expected(*labels: str) -> set[tuple[str, str]]:
    """Return pairs of hashes of labels: BASE HEAD."""
    return {(hash_of(before), hash_of(after)) for before, after in map(str.split, labels)}


@pytest.mark.parametrize(("recipe", "verb"), [("a", "rebuilt"), ("b", "replaced")])
def test_ambiguous_changes(recipe: str, verb: str) -> None:
    """All changes of a tie are ambiguous, removed specs included; others are not."""
    base = [*(hdf5(f"base{n}") for n in range(2)), node("zlib"), node("png", stacks=("a",))]
    head = [hdf5("head", package_hash=recipe * 52 + "===="), node("zlib:2"), node("png")]
    explanation = explained(base, head)
    comparison = explanation.comparison
    texts = explanation.why_ambiguous(comparison.specs)
    ambiguous = {change.hash for change, text in zip(comparison.specs, texts, strict=True) if text}
    assert ambiguous == {spec.hash for spec in (*base, *head) if spec.name == "hdf5"}
    assert {*texts} == {None, f"1 of 2 was {verb}; it is unknown which"}
    assert explanation.ties(comparison.specs).count(None) == len(comparison.specs) - 3
    pairs = explanation.counterparts
    assert pairs.num_bytes > replace(pairs, base_ties={}, head_ties={}).num_bytes


@pytest.mark.parametrize("number", [2, 3])
def test_ranking_in_pieces(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """If candidates are ranked in pieces, each spec still gets a counterpart."""
    monkeypatch.setattr("snapshots.changes.counterparts.MAX_CLASSES", number)
    monkeypatch.setattr("snapshots.changes.counterparts._MAX_PAIRS", 3)
    monkeypatch.setattr("snapshots.changes.likeness._BLOCK_BYTES", 0)
    monkeypatch.setattr("snapshots.changes.likeness._MAX_CACHED_BYTES", 500)
    base, head = (
        [hdf5(f"{side}{n}", version=str(n), stacks=(f"{side}{n}",)) for n in range(count)]
        for side, count in (("base", 11), ("head", 7))
    )
    pairs = paired(base, head)
    assert len(pairs) == len({before for before, _ in pairs}) == len(head)
    same = {spec.version: spec.hash for spec in head}
    assert {(spec.hash, same[spec.version]) for spec in base if spec.version in same} <= pairs


@pytest.mark.parametrize("max_pairs", [0, 3, 1 << 18])
def test_candidates_by_stack(monkeypatch: pytest.MonkeyPatch, max_pairs: int) -> None:
    """Candidates with a common stack are found among any number of others."""
    monkeypatch.setattr("snapshots.changes.counterparts.MAX_CLASSES", 50)
    monkeypatch.setattr("snapshots.changes.counterparts._MAX_PAIRS", max_pairs)
    base = [hdf5(f"base{n}", target=f"base{n}", stacks=(f"s{n:02}", "root")) for n in range(20)]
    head = [
        hdf5(f"head{n}", target=f"head{n}", stacks=("other", "root", f"s{19 - n:02}"))
        for n in range(20)
    ]
    assert paired(base, head) == expected(*(f"base{n} head{19 - n}" for n in range(20)))
