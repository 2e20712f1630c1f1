"""Pairs of classes give the pairs that all pairs of candidates would give."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes import candidates
from snapshots.changes.candidates import (
    Classes,
    Ties,
    marks_of_keys,
    pairs_of_classes,
    take_in_order,
    twins,
)
from tests.snapshots.factories import seeded

Drawn = tuple[list[tuple[int, int]], list[tuple[int, int]], dict[tuple[int, int], int]]


def classes_of(candidates: list[tuple[int, int]]) -> Classes:
    """Return the classes of candidates, each given by its key and its mark."""
    keys, marks = np.array(candidates, np.int64).reshape(-1, 2).T
    places = np.arange(len(candidates))
    mixed = (keys * 100 + marks).astype(np.uint64)
    return Classes(places, keys, mixed, np.zeros(len(places), np.int64))


def random_candidates(random: Random) -> Drawn:
    """Return candidates of two sides, and the rank of each pair of marks."""
    sides = [
        [(random.randrange(3), random.randrange(4)) for _ in range(random.randrange(9))]
        for _ in range(2)
    ]
    ranks = {pair: random.randrange(3) for pair in product(range(4), range(4))}
    return sides[0], sides[1], ranks


@given(seeded(random_candidates), st.sampled_from((1, 3, 1 << 18)))
def test_against_all_pairs(drawn: Drawn, max_pairs: int) -> None:
    """Of all pairs with one key the first by rank, then by both hashes, are taken."""
    base, head, ranks = drawn

    def rank(one: int, other: int) -> tuple[int, int]:
        key, mark = base[one]
        return key, ranks[mark, head[other][1]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_MAX_PAIRS", max_pairs)
        ours, theirs = classes_of(base), classes_of(head)
        found = set()
        for one, other in pairs_of_classes(marks_of_keys(ours), marks_of_keys(theirs)):
            ranked = sorted(
                (*rank(int(ours.first[a]), int(theirs.first[b])), a, b)
                for a, b in zip(one.tolist(), other.tolist(), strict=True)
            )
            bounds = [
                place
                for place, it in enumerate(ranked)
                if not place or it[:2] != ranked[place - 1][:2]
            ]
            numbers = [it[2] for it in ranked], [it[3] for it in ranked]
            bounds.append(len(ranked))
            ties = Ties(len(base), len(head))
            taken = take_in_order(ours, numbers[0], theirs, numbers[1], bounds, ties)
            found |= set(zip(*taken, strict=True))
    pairs = sorted(
        (ranks[base[one][1], head[other][1]], one, other)
        for one, other in product(range(len(base)), range(len(head)))
        if base[one][0] == head[other][0]
    )
    expected: dict[int, int] = {}
    for _, ours_place, theirs_place in pairs:
        if ours_place not in expected and theirs_place not in expected.values():
            expected[ours_place] = theirs_place
    assert found == set(expected.items())


def test_more_unlike_candidates_than_counterparts() -> None:
    """Of candidates that are as much alike the first by hash gets the only counterpart."""
    base, head = classes_of([(0, 1), (0, 2)]), classes_of([(0, 3)])
    taken = take_in_order(base, [0, 1], head, [0, 0], [0, 2], Ties(2, 1))
    assert [*map(list, taken)] == [[0], [0]]


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ([], [], []),
        ([1], [2], []),
        ([1], [1, 1], [(0, 0)]),
        ([1, 1, 2, 1], [2, 1, 3, 1], [(0, 1), (1, 3), (2, 0)]),
    ],
)
def test_twins(base: list[int], head: list[int], expected: list[tuple[int, int]]) -> None:
    """The first ones with a mark are a pair, the second ones, and so on."""
    first, second = twins(np.array(base, np.uint64), np.array(head, np.uint64))
    assert sorted(zip(first.tolist(), second.tolist(), strict=True)) == expected


def test_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a key has more classes than are ranked at once, it says so, newest versions first."""
    monkeypatch.setattr(candidates, "MAX_CLASSES", 2)
    places = np.arange(5)
    keys, versions = np.array([0, 1, 1, 1, 2]), np.array([0, 1, 3, 2, 0])
    found = Classes(places, keys, places.astype(np.uint64), versions)
    assert found.is_cut
    assert found.first.tolist() == [0, 2, 3, 1, 4]
    assert found.keys.tolist() == [0, 1, 1, 1, 2]
    assert np.unique(found.pieces, return_inverse=True)[1].tolist() == [0, 1, 1, 2, 3]
    some = np.array([0, 2, 3])
    two = Classes(some, keys[some], some.astype(np.uint64), versions[some])
    assert not two.is_cut
    assert two.first.tolist() == [0, 2, 3]
