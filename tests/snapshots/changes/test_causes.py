"""Causes: main and involved causes, their order and their paths.

``test_explanation.py`` compares them with those of the model.
"""

import pytest

from snapshots.changes import cause_graph
from snapshots.changes.cause_names import CUT, MAX_TOGETHER
from snapshots.changes.sides import Side
from snapshots.models import CauseKind
from tests.snapshots.changes.causes import (
    all_rows,
    causes_of,
    named,
    names_on,
    records,
    titles_and_numbers,
)
from tests.snapshots.changes.graphs import node, side_of


def test_joint_causes_are_truncated() -> None:
    """A cause lists the largest joint causes, and counts all of them."""
    names = [f"p{number:03}" for number in range(3 * MAX_TOGETHER)]
    below = [[node(f"{name}:{side}", version=side) for name in names] for side in "12"]
    base, head = (
        side_of([node(f"a:{side}", *(f"{name}:{side}" for name in names))], below[index])
        for index, side in enumerate("12")
    )
    causes = causes_of(base, head)
    assert [record.num_together for record in records(causes)] == [len(names) - 1] * len(names)
    last = 2 * MAX_TOGETHER
    assert records(causes)[last].together == tuple(range(MAX_TOGETHER))
    assert records(causes)[3].together == tuple(
        number for number in range(MAX_TOGETHER + 1) if number != 3
    )


def test_cycles() -> None:
    """The pairs of a cycle share their causes; without any cause, all are unknown."""
    base = [node("a:1", "b:1"), node("b:1", "a:1"), node("top:1", "a:1")]
    head = [node("a:2", "b:2"), node("b:2", "a:2"), node("top:2", "a:2")]
    causes = causes_of(side_of(base), side_of(head))
    assert titles_and_numbers(causes) == [
        ("a changed for an unknown reason", 3, 3),
        ("b changed for an unknown reason", 0, 3),
    ]
    changed = [head[0], node("b:2", "a:2", version="2"), head[2]]
    causes = causes_of(side_of(base), side_of(changed))
    assert titles_and_numbers(causes) == [("b 1 → 2", 3, 3)]
    assert names_on(causes, side_of(changed), "top:2") == ["top", "a", "b"]
    itself = causes_of(side_of([node("a:1", "a:1")]), side_of([node("a:2", "a:2")]))
    assert named(itself) == [(CauseKind.UNKNOWN, "a", None, None)]


@pytest.mark.parametrize("num_versions", [1, 2])
def test_cycles_of_different_lengths_end(num_versions: int) -> None:
    """A walk around two cycles in step has a limited length."""
    base, head = (
        side_of(
            node(
                f"a:{size}-{number}",
                f"a:{size}-{(number + 1) % size}",
                version=str(number % num_versions),
            )
            for number in range(size)
        )
        for size in (53, 59)
    )
    causes = causes_of(base, head, [("a:53-0", "a:59-0")])
    assert sum(record.num_specs for record in records(causes)) == 1
    reasons = {record.kind: record.why_unknown for record in records(causes)}
    assert reasons.pop(CauseKind.VERSION, None) is None
    assert reasons in ({}, {CauseKind.UNKNOWN: CUT})
    assert reasons or num_versions == 2


def test_no_counterparts() -> None:
    """An explanation without counterparts has no causes."""
    side = side_of([node("a")])
    causes = causes_of(side, side)
    assert len(causes) == 0
    assert causes.counted(all_rows(side)) == []
    assert causes.main_of(all_rows(side)).tolist() == [-1]
    assert causes.path(0) == []
    nothing = side_of([])
    assert len(causes_of(nothing, nothing)) == 0


def test_shortest_path() -> None:
    """A path is the shortest one, and the first by names of equally short ones."""
    base, head = (
        side_of(
            [
                node(f"top:{side}", f"a:{side}", f"c:{side}", f"b:{side}"),
                node(f"a:{side}", f"a2:{side}"),
                *(node(f"{name}:{side}", f"z:{side}") for name in ("a2", "b", "c")),
                node(f"z:{side}", version=str(side)),
            ]
        )
        for side in (1, 2)
    )
    causes = causes_of(base, head)
    assert names_on(causes, head, "top:2") == ["top", "b", "z"]
    assert [causes.path(row)[0].name for row in all_rows(head).tolist()] == head.frame.packages


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
