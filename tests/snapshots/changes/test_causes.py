"""Causes: main and involved causes, their order, paths and keys."""

import pytest

from snapshots.changes import cause_graph
from snapshots.changes.causes import CUT
from snapshots.changes.sides import Side
from snapshots.models import CauseKind
from tests.snapshots.changes.causes import (
    causes_of,
    records,
)
from tests.snapshots.changes.graphs import node, side_of


def test_depth_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dependencies below the limit are not followed, and the cause says so."""
    monkeypatch.setattr(cause_graph, "MAX_STEPS", 3)

    def chain(side: int) -> Side:
        outside = [
            node(
                f"p{number}:{side}",
                f"p{number + 1}:{side}",
                version=str(side if number == 4 else 1),
            )
            for number in range(1, 5)
        ]
        return side_of([node(f"p0:{side}", f"p1:{side}")], [*outside, node(f"p5:{side}")])

    (cause,) = records(causes_of(chain(1), chain(2)))
    assert (cause.kind, cause.package, cause.why_unknown) == (CauseKind.UNKNOWN, "p3", CUT)
    monkeypatch.setattr(cause_graph, "MAX_STEPS", 10)
    assert [record.title for record in records(causes_of(chain(1), chain(2)))] == [
        "p4 1 → 2",
        "p5 changed for an unknown reason",
    ]


def test_more_pairs_than_dependencies() -> None:
    """A dependency that three builds replace is in three pairs, and each leads to the cause."""
    users = ("a", "b", "c")
    base = [node(f"{user}:1", "m:1") for user in users]
    head = [node(f"{user}:2", f"m:{user}") for user in users]
    builds = [node(f"m:{user}", "z:2", variants=(user,)) for user in users]
    sides = (
        side_of([*base, node("m:1", "z:1"), node("z:1")]),
        side_of([*head, *builds, node("z:2", version="2")]),
    )
    causes = causes_of(*sides, [(f"{user}:1", f"{user}:2") for user in users])
    found = {record.title: record.num_involved for record in records(causes)}
    assert found == {"z 1 → 2": 3} | {f"m now {user}": 1 for user in users}


# -- causes of a single pair of nodes, and their keys


ADDED, REMOVED = CauseKind.DEPENDENCY_ADDED, CauseKind.DEPENDENCY_REMOVED


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, "nothing that the source reports of it differs"),
        ({"dependencies": None}, "the source does not list dependencies"),
        ({"package_hash": None}, "the source does not list package hashes"),
        (
            {"package_hash": None, "dependencies": None},
            "the source lists neither dependencies nor package hashes",
        ),
    ],
)
def test_unknown_causes(facts: dict[str, None], reason: str) -> None:
    """Without a differing fact, the cause says which facts the source does not list."""
    (cause,) = records(causes_of(side_of([node("a:1", **facts)]), side_of([node("a:2")])))
    assert (cause.kind, cause.why_unknown, cause.facts) == (CauseKind.UNKNOWN, reason, [])


def test_select_causes() -> None:
    """Causes are found by their keys, and selected by kind and package."""
    base = side_of([node("a:1"), node("b:1", variants=("x=1|2",)), node("c:1")])
    head = side_of([node("a:2", version="2"), node("b:2", variants=("x=%",)), node("c:2")])
    causes = causes_of(base, head)
    keys = [record.key for record in records(causes)]
    assert keys == ["version|a|1|2", "variants|b|x=1%7C2|x=%25", "unknown|c||"]
    assert [causes.find(key) for key in (*keys, "version|a|1|3")] == [0, 1, 2, None]
    assert causes.select() == [0, 1, 2]
    assert causes.select([CauseKind.VERSION, CauseKind.UNKNOWN]) == [0, 2]
    assert causes.select(package="b") == [1]
