"""What lies below specs: the names and versions of all that they depend on, as sets of bits.

A set is a whole number with a bit for each name with a version. Such sets are made from below: what
lies below a spec is what it depends on, and what lies below that. Few specs are asked for, so only
what they reach is looked at.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from snapshots.changes.sides import Fingerprints, Side, mixed
from snapshots.frames.columns import Rows
from snapshots.frames.components import from_below

_BLOCK = 4_096
_NONE = -1

Sets = list[int]


class Below:
    """What lies below some rows of base and of head: for each the sets, in the order of the rows.

    A spec itself is not below it, unless another one of its name and version is. A compiler that
    is no dependency counts as one of each spec that states it. Of what is not stated the version is
    None, which is a version like others.
    """

    def __init__(self, base: Side, base_rows: Rows, head: Side, head_rows: Rows) -> None:
        self._walks = _Walk(base, base_rows), _Walk(head, head_rows)
        items = [it for walk in self._walks for it in (walk.items, walk.compilers)]
        distinct = np.unique(np.concatenate(items))
        self._num_items = len(distinct)
        for walk in self._walks:
            walk.number(distinct)
        self._only: tuple[Sets, Sets] | None = None

    def blocks(self) -> Iterator[tuple[Sets, Sets]]:
        """Yield the sets of base and of head, block by block of what can be in them.

        So they take little memory, however much there is: mostly there is one block.
        """
        if self._only is not None:
            yield self._only
            return
        for start in range(0, self._num_items, _BLOCK):
            bits = [0] * (self._num_items + 1)  # the last one for no compiler
            for place, item in enumerate(range(start, min(start + _BLOCK, self._num_items))):
                bits[item] = 1 << place
            base, head = self._walks
            sets = base.sets(bits), head.sets(bits)
            if self._num_items <= _BLOCK:
                self._only = sets
            yield sets

    def numbers(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return a number for each set of base and of head: equal sets have the same."""
        base, head = self._walks
        numbers = [0] * (base.num_rows + head.num_rows)
        for of_base, of_head in self.blocks():
            known: dict[tuple[int, int], int] = {}
            pairs = zip(numbers, of_base + of_head, strict=True)
            numbers = [known.setdefault(pair, len(known)) for pair in pairs]
        found = np.array(numbers, np.int64)
        return found[: base.num_rows], found[base.num_rows :]

    def shares(
        self, base_places: npt.NDArray[np.int64], head_places: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return which share of two sets, each at a place among the rows, both have.

        It is 1 where both are empty.
        """
        places = list(zip(base_places.tolist(), head_places.tolist(), strict=True))
        common = np.zeros(len(places), np.int64)
        either = np.zeros(len(places), np.int64)
        for base, head in self.blocks():
            common += [(base[one] & head[other]).bit_count() for one, other in places]
            either += [(base[one] | head[other]).bit_count() for one, other in places]
        return np.where(either > 0, common / np.maximum(either, 1), 1.0)


class _Walk:
    """The part of one side's graph that some rows reach, worked off from below.

    ``items`` has a hash of each node's name and version, ``compilers`` those of the compilers that
    nodes state.
    """

    def __init__(self, side: Side, rows: Rows) -> None:
        graph = side.graph
        nodes = np.flatnonzero(graph.nodes_below(rows))
        place_of = np.full(graph.num_nodes, _NONE, np.int32)
        place_of[nodes] = np.arange(len(nodes), dtype=np.int32)
        edges = graph.edges_of(nodes)
        sources, targets = place_of[graph.sources[edges]], place_of[graph.targets[edges]]
        self.num_rows = len(rows)
        self._wanted = place_of[rows].tolist()
        self._components = list(from_below(sources, targets, len(nodes)))
        self._below = _lists(sources, targets, len(nodes))
        self.items = mixed(*(side.fingerprints(name)[nodes] for name in ("name", "version")))
        self._stating = np.flatnonzero(side.stating_compilers()[nodes])
        self.compilers = mixed(*(it[nodes[self._stating]] for it in side.compilers()))

    def number(self, distinct: Fingerprints) -> None:
        """Give each item its number: its place among all of them."""
        compilers = np.full(len(self.items), len(distinct), np.int64)
        compilers[self._stating] = np.searchsorted(distinct, self.compilers)
        self._item_of: list[int] = np.searchsorted(distinct, self.items).tolist()
        self._compiler_of: list[int] = compilers.tolist()

    def sets(self, bits: Sequence[int]) -> Sets:
        """Return what lies below each row; ``bits`` has by number what each item counts as."""
        below = [0] * len(self._below)
        whole = [0] * len(self._below)
        for component in self._components:
            found = 0
            for node in component:
                found |= bits[self._compiler_of[node]]
                for other in self._below[node]:
                    found |= whole[other]
            if len(component) == 1:
                (node,) = component
                below[node] = found
                whole[node] = found | bits[self._item_of[node]]
            else:
                self._close(component, found, bits, below, whole)
        return [below[place] for place in self._wanted]

    def _close(
        self, cycle: list[int], found: int, bits: Sequence[int], below: Sets, whole: Sets
    ) -> None:
        """Enter the sets of nodes that depend on each other, ``found`` being what all lead to."""
        once = twice = 0
        for node in cycle:
            bit = bits[self._item_of[node]]
            twice |= once & bit
            once |= bit
        for node in cycle:
            whole[node] = found | once
            alone = bits[self._item_of[node]] & ~(found | twice)
            below[node] = whole[node] & ~alone


def _lists(
    sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32], num_nodes: int
) -> list[list[int]]:
    """Return for each node what its edges lead to; ``sources`` rise."""
    bounds = np.searchsorted(sources, np.arange(num_nodes + 1)).tolist()
    flat = targets.tolist()
    return [flat[start:stop] for start, stop in zip(bounds, bounds[1:], strict=False)]
