"""A graph is put in order from below, cycles included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.graphs import FromBelow

Edges = list[tuple[int, int]]


def order_of(edges: Edges, num_nodes: int) -> list[list[int]]:
    """Return all components in their order, those that stand in no cycle, too."""
    sources, targets = np.array(sorted(edges), np.int32).reshape(-1, 2).T
    order = FromBelow(sources, targets, num_nodes)
    alone = [[node] for node in order.nodes.tolist()]
    return alone + [nodes.tolist() for nodes in order.components]


def reached(edges: Edges, start: int) -> set[int]:
    """Return the nodes that a node leads to."""
    found: set[int] = set()
    left = [start]
    while left:
        node = left.pop()
        new = {target for source, target in edges if source == node} - found
        found |= new
        left.extend(new)
    return found


@pytest.mark.parametrize(
    ("edges", "num_nodes", "expected"),
    [
        ([], 0, []),
        ([], 2, [{0}, {1}]),
        ([(0, 1), (1, 2)], 3, [{2}, {1}, {0}]),
        ([(0, 1), (0, 1), (1, 2), (0, 2)], 3, [{2}, {1}, {0}]),
        ([(0, 0)], 1, [{0}]),
        ([(0, 1), (1, 0)], 2, [{0, 1}]),
        ([(2, 0), (0, 1), (1, 0), (1, 3)], 4, [{3}, {0, 1}, {2}]),
        ([(0, 1), (1, 0), (1, 2), (2, 3), (3, 2)], 4, [{2, 3}, {0, 1}]),
    ],
)
def test_order(edges: Edges, num_nodes: int, expected: list[set[int]]) -> None:
    """What a node leads to stands before it; what all leads to each other is one component."""
    assert list(map(set, order_of(edges, num_nodes))) == expected


GRAPHS = st.integers(1, 8).flatmap(
    lambda size: st.tuples(
        st.lists(st.tuples(*[st.integers(0, size - 1)] * 2), max_size=16), st.just(size)
    )
)


@given(GRAPHS)
def test_against_plain_walks(drawn: tuple[Edges, int]) -> None:
    """Every node stands once, behind what it leads to, and with what it leads to and back."""
    edges, num_nodes = drawn
    below = [reached(edges, node) for node in range(num_nodes)]
    components = order_of(edges, num_nodes)
    assert sorted(node for component in components for node in component) == [*range(num_nodes)]
    seen: set[int] = set()
    for component in components:
        seen.update(component)
        for node in component:
            together = {it for it in below[node] if node in below[it]} | {node}
            assert set(component) == together
            assert below[node] <= seen


@given(GRAPHS, st.sets(st.integers(0, 7)))
def test_ends(drawn: tuple[Edges, int], marked: set[int]) -> None:
    """An end leads to nothing that is marked, and to nothing but its own circle."""
    edges, num_nodes = drawn
    sources, targets = np.array(sorted(edges), np.int32).reshape(-1, 2).T
    is_marked = np.array([node in marked for node in range(num_nodes)], np.bool_)
    below = [reached(edges, node) for node in range(num_nodes)]
    expected = [
        marked.isdisjoint(below[node] | {node}) and all(node in below[it] for it in below[node])
        for node in range(num_nodes)
    ]
    assert FromBelow(sources, targets, num_nodes).ends(is_marked).tolist() == expected


def test_long_chains() -> None:
    """Neither long chains nor long cycles are walked by recursion."""
    size = 20_000
    chain = [(node, node + 1) for node in range(size - 1)]
    assert order_of(chain, size) == [[node] for node in reversed(range(size))]
    (cycle,) = order_of([*chain, (size - 1, 0)], size)
    assert len(cycle) == size
