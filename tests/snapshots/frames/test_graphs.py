"""Graphs sorted from below."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.columns import distinct_codes, sorted_order
from snapshots.frames.graphs import BottomUpGraph

Edges = list[tuple[int, int]]


def graph_of(edges: Edges, num_nodes: int) -> BottomUpGraph:
    """Return the graph of some edges, in any order."""
    sources, targets = np.array(sorted(edges), np.int32).reshape(-1, 2).T
    return BottomUpGraph(sources, targets, num_nodes)


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
        st.lists(
            st.tuples(*[st.integers(0, size - 1)] * 2)
            .filter(lambda edge: edge[0] != edge[1])
            .map(lambda edge: (max(edge), min(edge))),
            max_size=16 if size > 1 else 0,
        ),
        st.just(size),
    )
)


@given(GRAPHS)
def test_against_plain_walks(drawn: tuple[Edges, int]) -> None:
    """Each node comes once, after those it leads to, and gets the largest value that it reaches."""
    edges, num_nodes = drawn
    graph = graph_of(edges, num_nodes)
    nodes = graph.nodes.tolist()
    assert sorted(nodes) == [*range(num_nodes)]
    values = np.array([7 * node % 11 for node in range(num_nodes)])
    expected = [values[[node, *reached(edges, node)]].max() for node in range(num_nodes)]
    for place, node in enumerate(nodes):
        assert reached(edges, node) <= {*nodes[:place]}
    graph.spread(values, np.maximum)
    assert values.tolist() == expected
    assert graph.ends.tolist() == [not reached(edges, node) for node in range(num_nodes)]


@given(st.lists(st.one_of(st.integers(0, 9), st.integers((1 << 64) - 99, (1 << 64) - 1))))
def test_order_of_numbers(numbers: list[int]) -> None:
    """The order is stable, and numbers may have any number of bits."""
    array = np.array(numbers, np.uint64)
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    assert sorted_order(array).tolist() == order
    first, codes = distinct_codes(array)
    assert first.tolist() == [numbers.index(number) for number in sorted({*numbers})]
    assert array[first][codes].tolist() == numbers


def test_long_chains() -> None:
    """Long chains do not exceed the recursion limit."""
    size = 20_000
    chain = [(node, node + 1) for node in range(size - 1)]
    assert graph_of(chain, size).nodes.tolist() == [*reversed(range(size))]
