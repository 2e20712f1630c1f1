"""The dependency graph of a content, against a walk over its records."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.contents import Content
from snapshots.frames.dependencies import DependencyGraph, DependencyType, ReachedNodes
from snapshots.frames.frame import Frame
from snapshots.models import Dependency, Spec
from tests.snapshots.factories import a_spec, hash_of, seeded, shuffled, some_of

TYPES = ("build", "link", "run", "test")
VIRTUALS = ("blas", "c", "mpi")


class Edge(NamedTuple):
    """A dependency and the spec that has it."""

    source: Spec
    dependency: Dependency


class Model:
    """The expected contents of a graph, computed from the records alone."""

    def __init__(self, content: Content, hashes: Sequence[str]) -> None:
        by_hash = {spec.hash: spec for spec in content.specs()}
        self.stated = {spec.hash: spec for spec in content.outside.specs}
        everything = by_hash | self.stated
        absent = {
            dependency.hash: (dependency.name, dependency.hash)
            for spec in everything.values()
            for dependency in spec.dependencies or ()
            if dependency.hash not in everything
        }
        absent |= {spec.hash: (spec.name, spec.hash) for spec in self.stated.values()}
        # All of one version, or without a version, which sorts last.
        self.absent = sorted(
            absent.values(), key=lambda item: (item[0], item[1] not in self.stated, item[1])
        )
        self.nodes = [*hashes, *(digest for _, digest in self.absent)]
        self.edges = [
            Edge(everything[digest], dependency)
            for digest in self.nodes
            if digest in everything
            for dependency in everything[digest].dependencies or ()
        ]

    def reached(
        self, start: str, types: Sequence[str] | None, *, transitive: bool, upwards: bool
    ) -> list[tuple[str, Edge]]:
        """Return the hashes that are reached, level by level, with the edges to them."""
        nodes: list[tuple[str, Edge]] = []
        seen, level = {start}, [start]
        while level:
            steps: dict[str, Edge] = {}
            for node in level:
                for other, edge in self._steps(node, types, upwards=upwards):
                    if other not in seen:
                        steps.setdefault(other, edge)
            level = sorted(steps, key=self.nodes.index)
            seen.update(level)
            nodes += [(node, steps[node]) for node in level]
            if not transitive:
                break
        return nodes

    def _steps(
        self, node: str, types: Sequence[str] | None, *, upwards: bool
    ) -> Iterator[tuple[str, Edge]]:
        for edge in self.edges:
            if types is not None and not set(types) & set(edge.dependency.types):
                continue
            ends = [edge.source.hash, edge.dependency.hash]
            if ends[upwards] == node:
                yield ends[not upwards], edge


def random_content(random: Random) -> Content:
    """Return specs with cycles, edges to themselves, to absent specs, and equal edges."""
    size = random.randrange(1, 9)
    labels = [*map(str, range(size)), "absent1", "absent2", "absent3"]

    def edge() -> Dependency:
        label = random.choice(labels)
        name = label if label.startswith("absent") else f"package{int(label) % 3}"
        return Dependency(name, hash_of(label), some_of(random, TYPES), some_of(random, VIRTUALS))

    def dependencies() -> tuple[Dependency, ...] | None:
        if random.random() < 0.1:
            return None
        return tuple(edge() for _ in range(random.randrange(4)))

    specs = [
        a_spec(str(number), name=f"package{number % 3}", dependencies=dependencies())
        for number in range(size)
    ]
    outside = [
        a_spec(label, name=random.choice((label, "package1")), dependencies=dependencies())
        for label in some_of(random, labels[-3:])
    ]
    return Content.of(specs, outside)


CONTENTS = seeded(random_content)


def frame_and_graph(content: Content) -> tuple[Frame, DependencyGraph]:
    """Return a frame of the specs, and their graph from a table in another order."""
    table = content.table()
    frame = Frame(table, content.digest)
    return frame, DependencyGraph(table.take(shuffled(range(len(table)))), frame.hashes)


def mask_of(types: Sequence[str]) -> DependencyType:
    """Return dependency types as a mask."""
    mask = DependencyType(0)
    for name in types:
        mask |= DependencyType[name.upper()]
    return mask


def with_edges(
    frame: Frame, graph: DependencyGraph, reached: ReachedNodes
) -> list[tuple[str, str, str, int]]:
    """Return the hash of each node, and the ends and the types of its edge."""
    hashes = [*frame.hashes.texts, *graph.outside.hashes.texts]
    return [
        (
            hashes[node],
            hashes[graph.sources[edge]],
            hashes[graph.targets[edge]],
            int(graph.types[edge]),
        )
        for node, edge in zip(reached.nodes, reached.edges, strict=True)
    ]


@given(
    CONTENTS,
    st.none() | st.lists(st.sampled_from(TYPES), unique=True),
    st.booleans(),
    st.booleans(),
)
def test_reached_nodes(
    content: Content, types: list[str] | None, transitive: bool, upwards: bool
) -> None:
    """Each spec is reached once, by the first edge of a shortest path, in a stable order."""
    frame, graph = frame_and_graph(content)
    model = Model(content, frame.hashes.texts)
    mask = None if types is None else mask_of(types)
    for row, digest in enumerate(frame.hashes.texts):
        reached = graph.reached_from(row, mask, upward=upwards, transitive=transitive)
        expected = model.reached(digest, types, transitive=transitive, upwards=upwards)
        assert with_edges(frame, graph, reached) == [
            (node, edge.source.hash, edge.dependency.hash, mask_of(edge.dependency.types))
            for node, edge in expected
        ]


@given(CONTENTS)
def test_facts_of_edges(content: Content) -> None:
    """A graph has every fact of every edge, undescribed nodes, and each dependent once."""
    frame, graph = frame_and_graph(content)
    model = Model(content, frame.hashes.texts)
    names = map(graph.outside.package.at, range(len(graph.outside)))
    assert [*zip(names, graph.outside.hashes.texts, strict=True)] == model.absent
    assert [model.nodes[node] for node in graph.absent_index.values()] == list(graph.absent_index)
    assert [
        (model.nodes[source], model.nodes[target], mask, graph.virtuals.at(edge))
        for edge, (source, target, mask) in enumerate(
            zip(graph.sources, graph.targets, graph.types, strict=True)
        )
    ] == [
        (
            edge.source.hash,
            edge.dependency.hash,
            mask_of(edge.dependency.types),
            edge.dependency.virtuals,
        )
        for edge in model.edges
    ]
    are_stated = {spec.hash: spec.dependencies is not None for spec in content.specs()}
    assert graph.known.tolist() == [are_stated[digest] for digest in frame.hashes.texts]
    assert graph.is_known == any(are_stated.values())
    for rows in (slice(0, len(frame)), slice(0, 2), slice(1, 1)):
        targets = frame.hashes.texts[rows]
        above = {edge.source.hash for edge in model.edges if edge.dependency.hash in targets}
        needing = [row for row, digest in enumerate(frame.hashes.texts) if digest in above]
        assert graph.rows_needing(np.arange(len(frame))[rows]).tolist() == needing


@given(CONTENTS)
def test_facts_of_specs_outside_the_cache(content: Content) -> None:
    """Specs outside have the facts that the source states, or else the name and hash of edges."""
    frame, graph = frame_and_graph(content)
    model = Model(content, frame.hashes.texts)
    outside = graph.outside
    assert len(outside) == len(graph.stated) == graph.num_nodes - graph.num_rows
    for row, is_stated in enumerate(graph.stated.tolist()):
        spec = outside.spec(row)
        if is_stated:
            assert spec == replace(model.stated[spec.hash], dependencies=None)
        else:
            facts = {name: getattr(spec, name) for name in spec.__struct_fields__}
            stated = {name for name, value in facts.items() if value is not None}
            assert (spec.hash in model.stated, stated) == (False, {"name", "hash"})
