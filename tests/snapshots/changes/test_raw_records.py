"""Holes, impacts and twins of real indexes are what a walk over their raw records finds."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from snapshots.changes.holes import Holes
from snapshots.changes.impact import largest_impacts
from snapshots.changes.sides import Side
from snapshots.changes.twins import Twins
from tests.model.explained import frame_and_graph
from tests.model.real import STACKS, dates, history, records
from tests.model.states import State

Nodes = Mapping[str, Mapping[str, Any]]

pytestmark = [pytest.mark.parametrize("date", dates()), pytest.mark.parametrize("stack", STACKS)]


def raw(date: str, stack: str) -> tuple[Nodes, set[str]]:
    """Return the nodes of an index by their hashes, and which are in the cache."""
    data = json.loads((history() / date / stack / "index.json").read_bytes())
    installs = data["database"]["installs"]
    nodes = {digest: record["spec"] for digest, record in installs.items()}
    return nodes, {digest for digest, record in installs.items() if record["in_buildcache"]}


def reached(nodes: Nodes, digest: str, *types: str) -> set[str]:
    """Return what a node depends on by edges of some types, or of any, and the node."""
    seen, waiting = {digest}, [digest]
    while waiting:
        for edge in nodes.get(waiting.pop(), {}).get("dependencies", []):
            is_one = not types or not {*types}.isdisjoint(edge["parameters"]["deptypes"])
            if is_one and edge["hash"] not in seen:
                seen.add(edge["hash"])
                waiting.append(edge["hash"])
    return seen


def test_holes(date: str, stack: str) -> None:
    """With every seventh spec missing."""
    nodes, cached = raw(date, stack)
    inside, outside = records(date, [stack])
    gone = {*sorted(cached)[::7]}
    expected: defaultdict[str, int] = defaultdict(int)
    for digest in cached - gone:
        for node in reached(nodes, digest, "link", "run") - (cached - gone):
            expected[node] += not nodes[node].get("external")
    kept = [spec for spec in inside if spec.hash not in gone]
    missing = [spec for spec in inside if spec.hash in gone]
    _, graph = frame_and_graph(State(kept, [*outside, *missing]))
    found = {hole.hash: hole.num_affected for hole in Holes(graph)}
    assert found == {node: number for node, number in expected.items() if number}
    assert found


def test_impacts(date: str, stack: str) -> None:
    """Package by package, those first whose change costs most."""
    nodes, cached = raw(date, stack)
    above: dict[str, set[str]] = {node["name"]: set() for node in nodes.values()}
    for digest in cached:
        for node in reached(nodes, digest):
            above[nodes[node]["name"]].add(digest)
    frame, graph = frame_and_graph(State(*records(date, [stack])))
    found = largest_impacts(frame, graph, np.ones(len(frame), np.bool_), 10_000)
    assert [(impact.package, impact.num_specs) for impact in found] == sorted(
        ((name, len(specs)) for name, specs in above.items()),
        key=lambda item: (-item[1], item[0]),
    )


def test_twins(date: str, stack: str) -> None:
    """Specs in the cache that are alike in name, version, architecture and parameters."""
    nodes, cached = raw(date, stack)
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for digest in cached:
        node = nodes[digest]
        parameters = {
            name: sorted(value) if isinstance(value, list) else value
            for name, value in sorted(node["parameters"].items())
            if value not in ([], "")
        }
        groups[str((node["name"], node["version"], node["arch"], parameters))].add(digest)
    frame, graph = frame_and_graph(State(*records(date, [stack])))
    found = [
        {frame.hashes.at(row) for row in group.rows.tolist()}
        for group in Twins(Side(frame, graph))[:]
    ]
    expected = [group for group in groups.values() if len(group) > 1]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
