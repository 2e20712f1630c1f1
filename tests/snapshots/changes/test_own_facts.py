"""Differing own facts of two nodes, fact by fact."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from snapshots.changes.own_facts import bits_of, differing_facts, names_of
from snapshots.models import Spec
from tests.snapshots.changes.graphs import edge, node, side_of

C_BY_GCC = edge("gcc", ("build",), ("c",))


def differing(before: Spec, after: Spec) -> list[str]:
    """Return the own facts that differ between two rows."""
    base, head = side_of([before]), side_of([after])
    (facts,) = differing_facts(base, head, np.array([0]), np.array([0])).tolist()
    return names_of(facts)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"version": "2"}, ["version"]),
        ({"package_hash": "b" * 52 + "===="}, ["package_hash"]),
        ({"package_hash": None}, []),
        ({"namespace": "mine"}, ["namespace"]),
        ({"namespace": None}, []),
        ({"variants": ("+shared",)}, ["variants"]),
        ({"compiler": "gcc@13.2.0"}, ["compiler"]),
        ({"platform": "darwin"}, ["platform"]),
        ({"operating_system": "rhel8"}, ["operating_system"]),
        ({"target": "zen4"}, ["target"]),
        ({"version": "2", "target": "zen4"}, ["version", "target"]),
        ({"stacks": ("hep",), "size": 1, "tarball": "https://example.org/"}, []),
        ({"dependencies": ()}, ["dependencies"]),
        ({"dependencies": None}, []),
        ({"dependencies": (edge("zlib:2"),)}, []),
        ({"dependencies": (edge("zlib", ("build", "link")),)}, ["dependencies"]),
        ({"dependencies": (edge("zlib", virtuals=("zlib-api",)),)}, ["dependencies"]),
        ({"dependencies": (edge("zlib"), edge("zlib:2"))}, ["dependencies"]),
        ({"dependencies": (edge("zlib-ng"),)}, ["dependencies"]),
    ],
)
def test_facts(facts: dict[str, Any], expected: list[str]) -> None:
    """Differences are found in both directions; a fact that one side does not list is equal."""
    before = node("hdf5", "zlib")
    after = replace(before, **facts)
    assert differing(before, after) == expected
    assert differing(after, before) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((), (), ["compiler"]),
        (None, None, ["compiler"]),
        ((C_BY_GCC,), (C_BY_GCC,), []),
        (None, (C_BY_GCC,), []),
        ((), (C_BY_GCC,), ["dependencies"]),
        ((edge("gcc", ("run",), ("c",)),), (edge("gcc", ("run",), ("c",)),), ["compiler"]),
    ],
)
def test_compilers_that_are_dependencies(before: Any, after: Any, expected: list[str]) -> None:
    """A compiler is an own fact only if neither side has one among its dependencies."""
    specs = [
        replace(node("hdf5"), compiler=compiler, dependencies=dependencies)
        for compiler, dependencies in (("gcc@12.3.0", before), ("gcc@13.2.0", after))
    ]
    assert differing(*specs) == expected


def test_nodes_outside_the_cache() -> None:
    """Described nodes outside compare like rows; others have no differing facts."""
    zlib, gcc = node("zlib:1"), node("gcc:1", version="2", dependencies=None)
    base = side_of([node("hdf5", "zlib:1", "gcc:1")], outside=[zlib, gcc])
    head = side_of(
        [node("hdf5", "zlib:2", "gcc:2"), node("zlib:2", "gcc:2", version="2")],
        outside=[node("gcc:2", version="3")],
    )
    absent = side_of([node("hdf5", "zlib:1", "gcc:1")])
    names = [*base.frame.package.values, *base.graph.outside.packages]
    assert names == ["hdf5", "gcc", "zlib"]
    nodes = np.array([2, 1])
    facts = differing_facts(base, head, nodes, np.array([1, 2]))
    assert facts.tolist() == [bits_of(["version", "dependencies"]), bits_of(["version"])]
    assert differing_facts(base, absent, nodes, nodes).tolist() == [0, 0]
