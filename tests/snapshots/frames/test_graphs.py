"""Graphs sorted from below, with cycles as components."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.columns import distinct_codes, sorted_order
from snapshots.frames.graphs import BottomUpGraph

Edges = list[tuple[int, int]]


def order_of(edges: Edges, num_nodes: int) -> list[list[int]]:
    """Return all components in order, single nodes included."""
    sources, targets = np.array(sorted(edges), np.int32).reshape(-1, 2).T
    order = BottomUpGraph(sources, targets, num_nodes)
    alone = [[node] for node in order.nodes.tolist()]
    return alone + [nodes.tolist() for nodes in order.components]


def reached(edges: Edges, start: int) -> set[int]:
    """Return the nodes that a node leads to."""
    nodes: set[int] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        new = {target for source, target in edges if source == node} - nodes
        nodes |= new
        waiting.extend(new)
    return nodes


GRAPHS = st.integers(1, 8).flatmap(
    lambda size: st.tuples(
        st.lists(st.tuples(*[st.integers(0, size - 1)] * 2), max_size=16), st.just(size)
    )
)


@given(GRAPHS)
def test_against_plain_walks(drawn: tuple[Edges, int]) -> None:
    """A node is in one component, after those it leads to, with those it is in a cycle with."""
    edges, num_nodes = drawn
    below = [reached(edges, node) for node in range(num_nodes)]
    components = order_of(edges, num_nodes)
    assert sorted(node for component in components for node in component) == [*range(num_nodes)]
    seen: set[int] = set()
    for component in components:
        seen.update(component)
        for node in component:
            together = {other for other in below[node] if node in below[other]} | {node}
            assert set(component) == together
            assert below[node] <= seen


@given(st.lists(st.one_of(st.integers(0, 9), st.integers((1 << 64) - 99, (1 << 64) - 1))))
def test_order_of_numbers(numbers: list[int]) -> None:
    """The order is stable, and numbers may have any number of bits."""
    array = np.array(numbers, np.uint64)
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    assert sorted_order(array).tolist() == order
    first, codes = distinct_codes(array)
    assert first.tolist() == [numbers.index(number) for number in sorted({*numbers})]
    assert array[first][codes].tolist() == numbers


@given(GRAPHS, st.sets(st.integers(0, 7)))
def test_ends(drawn: tuple[Edges, int], marked: set[int]) -> None:
    """An end leads to no marked node, and to no node outside its own cycle."""
    edges, num_nodes = drawn
    sources, targets = np.array(sorted(edges), np.int32).reshape(-1, 2).T
    is_marked = np.array([node in marked for node in range(num_nodes)], np.bool_)
    below = [reached(edges, node) for node in range(num_nodes)]
    expected = [
        marked.isdisjoint(below[node] | {node})
        and all(node in below[other] for other in below[node])
        for node in range(num_nodes)
    ]
    assert BottomUpGraph(sources, targets, num_nodes).ends(is_marked).tolist() == expected


def test_long_chains() -> None:
    """Long chains and long cycles do not exceed the recursion limit."""
    size = 20_000
    chain = [(node, node + 1) for node in range(size - 1)]
    assert order_of(chain, size) == [[node] for node in reversed(range(size))]
    (cycle,) = order_of([*chain, (size - 1, 0)], size)
    assert len(cycle) == size


def test_values_spread_through_cycles() -> None:
    """Each node has the largest value that it reaches; the end is the cycle that others lead to."""
    sources, targets = np.array([(0, 1), (1, 2), (2, 1), (3, 0)], np.int32).T
    graph = BottomUpGraph(sources, targets, 5)
    values = np.array([1, 7, 2, 3, 4])
    graph.spread(values, np.maximum)
    assert values.tolist() == [7, 7, 7, 7, 4]
    assert graph.ends(np.zeros(5, np.bool_)).tolist() == [False, True, True, False, True]
