"""The bits of involved causes say what a walk through the pairs says."""

from random import Random

import numpy as np
import pytest
from hypothesis import given

from snapshots.changes.cause_graph import PairGraph, PairOrder
from snapshots.changes.cause_names import CauseKind, CauseName, OwnCauses
from snapshots.changes.causes import Involvement
from tests.snapshots.factories import seeded


def random_pairs(random: Random) -> tuple[PairGraph, OwnCauses]:
    """Return pairs that lead to each other, in circles too, some of them with causes."""
    size = random.randrange(1, 40)
    edges = sorted(
        (random.randrange(size), random.randrange(size)) for _ in range(random.randrange(2 * size))
    )
    sources, targets = np.array(edges, np.int32).reshape(-1, 2).T
    nodes, nothing = np.arange(size), np.zeros(size, np.bool_)
    num_causes = random.randrange(1, 150)
    own = sorted({(random.randrange(size), number) for number in range(num_causes)})
    pairs, numbers = np.array(own, np.int64).reshape(-1, 2).T
    names = [CauseName(CauseKind.UNKNOWN, f"p{number}") for number in range(num_causes)]
    graph = PairGraph(
        random.randrange(1, size + 1), nodes, nodes, sources, targets, *(nothing,) * 3
    )
    return graph, OwnCauses(names, pairs, numbers)


PAIRS = seeded(random_pairs)


def reached(graph: PairGraph, start: int) -> set[int]:
    """Return the pairs that one leads to, and itself."""
    found, waiting = {start}, [start]
    while waiting:
        below = set(graph.targets[graph.sources == waiting.pop()].tolist()) - found
        found |= below
        waiting += below
    return found


@pytest.mark.parametrize("is_kept", [True, False])
@given(PAIRS)
def test_involved_causes(is_kept: bool, drawn: tuple[PairGraph, OwnCauses]) -> None:
    """The causes of a spec are those of all pairs that it leads to, kept or made block by block."""
    graph, own = drawn
    num_specs, num_causes = graph.num_starts, len(own.names)
    at = [set(own.numbers[own.pairs == pair].tolist()) for pair in range(graph.num_pairs)]
    expected = [
        {cause for pair in reached(graph, spec) for cause in at[pair]} for spec in range(num_specs)
    ]
    specs_of = [
        {spec for spec in range(num_specs) if it in expected[spec]} for it in range(num_causes)
    ]
    with pytest.MonkeyPatch.context() as patch:
        if not is_kept:
            patch.setattr("snapshots.changes.causes.KEPT_BYTES", 0)
            patch.setattr("snapshots.changes.causes.BLOCK_BYTES", 1)
        found = Involvement(own, PairOrder(graph), num_specs)
        assert (found.num_bytes > 0) == is_kept
        totals = found.totals()
        assert totals.num_involved.tolist() == list(map(len, specs_of))
        assert [
            [specs_of[it] == specs_of[other] for other in range(num_causes)]
            for it in range(num_causes)
        ] == (totals.sets[:, None] == totals.sets).tolist()

        order = Random(num_causes).sample(range(num_causes), num_causes)
        found.renumber(np.array(order))
        assert [set(found.specs_of(it).tolist()) for it in range(num_causes)] == [
            specs_of[it] for it in order
        ]
        some = np.arange(0, num_specs, 2)
        assert found.num_involved(some).tolist() == [
            len(specs_of[it].intersection(some.tolist())) for it in order
        ]
        places, causes = found.causes_of(some)
        assert list(zip(places.tolist(), causes.tolist(), strict=True)) == [
            (place, number)
            for place, spec in enumerate(some.tolist())
            for number, it in enumerate(order)
            if it in expected[spec]
        ]


@given(PAIRS)
def test_ends(drawn: tuple[PairGraph, OwnCauses]) -> None:
    """An end leads to nothing that is explained, and to nothing but its own circle."""
    graph, own = drawn
    is_explained = np.zeros(graph.num_pairs, np.bool_)
    is_explained[own.pairs[::3]] = True
    below = [reached(graph, pair) for pair in range(graph.num_pairs)]
    expected = [
        not is_explained[sorted(below[pair])].any() and all(pair in below[it] for it in below[pair])
        for pair in range(graph.num_pairs)
    ]
    assert PairOrder(graph).ends(is_explained).tolist() == expected
