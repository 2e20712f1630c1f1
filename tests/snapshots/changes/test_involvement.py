"""The items that each node of a graph reaches, against a plain walk."""

from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given

from snapshots.changes.involvement import Involvement
from snapshots.frames.graphs import BottomUpGraph
from tests.snapshots.factories import seeded


class Drawn(NamedTuple):
    """A graph, and its items as pairs of a node and an item."""

    size: int
    edges: list[tuple[int, int]]
    num_specs: int
    num_items: int
    items: list[tuple[int, int]]

    def items_below(self, start: int) -> set[int]:
        """Return the items of a node and of all nodes that it leads to."""
        seen, waiting = {start}, [start]
        while waiting:
            node = waiting.pop()
            below = {target for source, target in self.edges if source == node} - seen
            seen |= below
            waiting += below
        return {item for node, item in self.items if node in seen}


def _drawn(random: Random) -> Drawn:
    """Return a graph with cycles, some of whose nodes have items."""
    size = random.randrange(1, 40)
    edges = sorted(
        (random.randrange(size), random.randrange(size)) for _ in range(random.randrange(2 * size))
    )
    num_items = random.randrange(1, 150)
    items = sorted({(random.randrange(size), number) for number in range(num_items)})
    return Drawn(size, edges, random.randrange(1, size + 1), num_items, items)


@pytest.mark.parametrize("is_cached", [True, False])
@given(seeded(_drawn))
def test_items_below_each_spec(is_cached: bool, drawn: Drawn) -> None:
    """A spec has the items of all nodes that it leads to, cached or computed in blocks."""
    num_specs, num_items = drawn.num_specs, drawn.num_items
    expected = [drawn.items_below(spec) for spec in range(num_specs)]
    specs_of = [
        {spec for spec in range(num_specs) if item in expected[spec]} for item in range(num_items)
    ]
    sources, targets = np.array(drawn.edges, np.int32).reshape(-1, 2).T
    nodes, items = np.array(drawn.items, np.int64).reshape(-1, 2).T
    with pytest.MonkeyPatch.context() as patch:
        if not is_cached:
            patch.setattr("snapshots.changes.involvement.MAX_CACHED_BYTES", 0)
            patch.setattr("snapshots.changes.involvement.BLOCK_BYTES", 1)
        order = BottomUpGraph(sources, targets, drawn.size)
        involvement = Involvement(num_items, nodes, items, order, num_specs)
        num_involved, sets = involvement.totals()
        assert num_involved.tolist() == list(map(len, specs_of))
        assert [
            [specs_of[item] == specs_of[other] for other in range(num_items)]
            for item in range(num_items)
        ] == (sets[:, None] == sets).tolist()
        numbers = Random(num_items).sample(range(num_items), num_items)
        involvement.renumber(np.array(numbers))
        assert [set(involvement.specs_of(number).tolist()) for number in range(num_items)] == [
            specs_of[item] for item in numbers
        ]
        some = np.arange(0, num_specs, 2)
        assert involvement.num_involved(some).tolist() == [
            len(specs_of[item].intersection(some.tolist())) for item in numbers
        ]
        indices, causes = involvement.items_of(some)
        assert list(zip(indices.tolist(), causes.tolist(), strict=True)) == [
            (index, number)
            for index, spec in enumerate(some.tolist())
            for number, item in enumerate(numbers)
            if item in expected[spec]
        ]
