"""Causes: main and involved ones, their order and their paths.

``test_explanation.py`` compares them with those of the model.
"""

from typing import Any

import numpy as np
import pytest

from snapshots.changes import cause_graph
from snapshots.changes.cause_names import (
    CUT,
    MOST_TOGETHER,
    NEITHER,
    CauseKind,
)
from snapshots.changes.causes import CauseCount
from snapshots.changes.sides import Side
from tests.snapshots.changes.cause_records import records
from tests.snapshots.changes.finding import (
    all_rows,
    causes_of,
    named,
    names_on,
    row_of,
    titles_and_numbers,
)
from tests.snapshots.changes.graphs import RECIPE, node, side_of

OTHER_RECIPE = "b" * 52 + "===="


def test_what_lies_below() -> None:
    """One change below is the cause of everything above it, whichever way it is reached by."""
    base = side_of(
        [
            node("app:1", "left:1", "right:1", "same"),
            node("left:1", "zlib:1"),
            node("right:1", "zlib:1"),
            node("zlib:1"),
            node("same"),
        ]
    )
    head = side_of(
        [
            node("app:2", "left:2", "right:2", "same"),
            node("left:2", "zlib:2"),
            node("right:2", "zlib:2"),
            node("zlib:2", version="2"),
            node("same"),
        ]
    )
    causes = causes_of(base, head)
    assert titles_and_numbers(causes) == [("zlib 1 → 2", 4, 4)]
    assert records(causes)[0].packages == ("app", "left", "right", "zlib")
    assert names_on(causes, head, "app:2") == ["app", "left", "zlib"]
    assert names_on(causes, head, "zlib:2") == ["zlib"]
    assert causes.path(row_of(head, "same")) == []


def test_main_causes() -> None:
    """A change of its own comes first, then the cause that is involved in most, then the name."""
    specs = [
        ("top", ["own", "some", "most"], {}),
        ("own", ["most"], {"version": "2"}),
        ("some", ["x", "y"], {}),
        ("most", [], {"package_hash": OTHER_RECIPE}),
        ("y", [], {"version": "2"}),
        ("x", [], {"version": "2"}),
    ]
    base = side_of([node(f"{name}:1", *(f"{it}:1" for it in edges)) for name, edges, _ in specs])
    head = side_of(
        [node(f"{name}:2", *(f"{it}:2" for it in edges), **facts) for name, edges, facts in specs]
    )
    causes = causes_of(base, head)
    assert titles_and_numbers(causes) == [
        ("recipe of most changed", 2, 3),
        ("x 1 → 2", 2, 3),
        ("y 1 → 2", 1, 3),
        ("own 1 → 2", 1, 2),
    ]
    titles = [it.title for it in records(causes)]
    rows = np.array([row_of(head, f"{name}:2") for name, _, _ in specs], np.int32)
    mains = [titles[number] for number in causes.main_of(rows)]
    assert mains == [titles[0], titles[3], titles[1], titles[0], titles[2], titles[1]]
    involved_in = causes.involved_in(rows)
    lists = [it.tolist() for it in np.split(involved_in.numbers, involved_in.offsets[1:-1])]
    assert lists == [[0, 1, 2, 3], [3, 0], [1, 2], [0], [2], [1]]
    assert [it.together for it in records(causes)] == [(), (), (), ()]
    assert names_on(causes, head, "top:2") == ["top", "most"]
    assert causes.rows_of(3, involved=True).tolist() == sorted(rows[:2].tolist())
    assert causes.rows_of(1).tolist() == sorted(rows[[2, 5]].tolist())

    assert causes.counted(rows[[1, 4]]) == [
        CauseCount(2, 1, 1),
        CauseCount(3, 1, 1),
        CauseCount(0, 0, 1),
    ]
    assert causes.counted(rows[:0]) == []


def test_causes_that_always_come_together() -> None:
    """Causes that are involved in the same specs name each other."""
    base = side_of(
        [node("a:1", "gcc:1", "wrapper:1", "b:1"), node("b:1", "gcc:1", "wrapper:1")],
        [node("gcc:1"), node("wrapper:1")],
    )
    head = side_of(
        [
            node("a:2", "gcc:2", "wrapper:2", "b:2", variants=("+x",)),
            node("b:2", "gcc:2", "wrapper:2"),
        ],
        [node("gcc:2", version="2"), node("wrapper:2", version="2")],
    )
    causes = causes_of(base, head)
    assert [(it.title, it.num_specs, it.together) for it in records(causes)] == [
        ("gcc 1 → 2", 1, (2,)),
        ("a now +x", 1, ()),
        ("wrapper 1 → 2", 0, (0,)),
    ]


def test_few_of_thousands_that_come_together_are_named() -> None:
    """Each names those that explain most, and says how many there are."""
    names = [f"p{number:03}" for number in range(3 * MOST_TOGETHER)]
    below = [[node(f"{it}:{side}", version=side) for it in names] for side in "12"]
    base, head = (
        side_of([node(f"a:{side}", *(f"{it}:{side}" for it in names))], below[place])
        for place, side in enumerate("12")
    )
    causes = causes_of(base, head)
    assert [it.num_together for it in records(causes)] == [len(names) - 1] * len(names)
    last = 2 * MOST_TOGETHER
    assert records(causes)[last].together == tuple(range(MOST_TOGETHER))
    assert records(causes)[3].together == tuple(it for it in range(MOST_TOGETHER + 1) if it != 3)


def test_equal_causes_are_one() -> None:
    """What changed alike on several architectures, and in several versions, is one cause."""
    targets = ("zen4", "neoverse_v2")
    base = side_of(
        [node(f"z:1{it}", version="1", target=it) for it in targets]
        + [node(f"y:1{it}", version=it[0], target=it) for it in targets]
    )
    head = side_of(
        [node(f"z:2{it}", version="2", target=it) for it in targets]
        + [
            node(f"y:2{it}", version=it[0], target=it, package_hash=it[0] * 52 + "====")
            for it in targets
        ]
    )
    pairs = [(f"{name}:1{it}", f"{name}:2{it}") for name in "yz" for it in targets]
    causes = causes_of(base, head, pairs)
    assert titles_and_numbers(causes) == [("recipe of y changed", 2, 2), ("z 1 → 2", 2, 2)]
    (fact,) = records(causes)[0].facts
    least = min(pairs[:2], key=lambda pair: node(pair[0]).hash)
    assert (fact.before, fact.after) == (RECIPE, least[1][3] * 52 + "====")


def test_circles() -> None:
    """Pairs that lead to each other share their causes; without any, all of them are unknown."""
    base = [node("a:1", "b:1"), node("b:1", "a:1"), node("top:1", "a:1")]
    head = [node("a:2", "b:2"), node("b:2", "a:2"), node("top:2", "a:2")]
    causes = causes_of(side_of(base), side_of(head))
    assert titles_and_numbers(causes) == [
        ("a changed, it is not known why", 3, 3),
        ("b changed, it is not known why", 0, 3),
    ]
    changed = [head[0], node("b:2", "a:2", version="2"), head[2]]
    causes = causes_of(side_of(base), side_of(changed))
    assert titles_and_numbers(causes) == [("b 1 → 2", 3, 3)]
    assert names_on(causes, side_of(changed), "top:2") == ["top", "a", "b"]

    itself = causes_of(side_of([node("a:1", "a:1")]), side_of([node("a:2", "a:2")]))
    assert named(itself) == [(CauseKind.UNKNOWN, "a", None, None)]


@pytest.mark.parametrize(
    ("facts", "title"),
    [
        ({"version": "2"}, "a 1 → 2"),
        ({"variants": ("+x",)}, "a now +x"),
        ({"compiler": "gcc@14.1.0"}, "compiler of a gcc@13.2.0 → gcc@14.1.0"),
        ({"compiler": None}, "compiler of a gcc@13.2.0 → none"),
        ({"target": "zen4"}, "a linux-ubuntu22.04-x86_64_v3 → linux-ubuntu22.04-zen4"),
        ({}, "a changed, it is not known why"),
    ],
)
def test_sources_without_dependencies(facts: dict[str, Any], title: str) -> None:
    """What pages of a cache state is a cause, though they have neither dependencies nor recipes."""
    facts_of_pages = {"compiler": "gcc@13.2.0", "package_hash": None, "dependencies": None}
    base = side_of([node("a:1", **facts_of_pages), node("b:1", **facts_of_pages)])
    head = side_of([node("a:2", **facts_of_pages | facts), node("b:2", **facts_of_pages)])
    titles = [title, "b changed, it is not known why"]
    causes = causes_of(base, head)
    assert [(it.title, it.num_specs) for it in records(causes)] == [(it, 1) for it in titles]
    assert {it.why_unknown for it in records(causes) if it.kind is CauseKind.UNKNOWN} == {NEITHER}


@pytest.mark.parametrize("num_versions", [1, 2])
def test_circles_of_different_lengths_end(num_versions: int) -> None:
    """Where two circles could be walked around in step for ever so long, the walk is cut."""
    base, head = (
        side_of(
            node(f"a:{size}-{it}", f"a:{size}-{(it + 1) % size}", version=str(it % num_versions))
            for it in range(size)
        )
        for size in (53, 59)
    )
    causes = causes_of(base, head, [("a:53-0", "a:59-0")])
    assert sum(it.num_specs for it in records(causes)) == 1
    reasons = {it.kind: it.why_unknown for it in records(causes)}
    assert reasons.pop(CauseKind.VERSION, None) is None
    assert reasons in ({}, {CauseKind.UNKNOWN: CUT})
    assert reasons or num_versions == 2


def test_no_counterparts() -> None:
    """Nothing to explain has no causes."""
    side = side_of([node("a")])
    causes = causes_of(side, side)
    assert len(causes) == 0
    assert causes.counted(all_rows(side)) == []
    assert causes.main_of(all_rows(side)).tolist() == [-1]
    assert causes.path(0) == []
    nothing = side_of([])
    assert len(causes_of(nothing, nothing)) == 0


def test_shortest_path() -> None:
    """A path takes the fewest steps, and of equally long ones that whose names come first."""
    base = side_of(
        [
            node("top:1", "a:1", "c:1", "b:1"),
            node("a:1", "a2:1"),
            node("a2:1", "z:1"),
            node("b:1", "z:1"),
            node("c:1", "z:1"),
            node("z:1"),
        ]
    )
    head = side_of(
        [
            node("top:2", "a:2", "c:2", "b:2"),
            node("a:2", "a2:2"),
            node("a2:2", "z:2"),
            node("b:2", "z:2"),
            node("c:2", "z:2"),
            node("z:2", version="2"),
        ]
    )
    causes = causes_of(base, head)
    assert names_on(causes, head, "top:2") == ["top", "b", "z"]
    assert [it[0].name for it in causes.paths(all_rows(head))] == head.frame.packages


def test_long_chains_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies deeper than real graphs are is not followed; the cause says so."""
    monkeypatch.setattr(cause_graph, "MOST_STEPS", 3)

    def chain(side: int) -> Side:
        outside = [
            node(f"p{it}:{side}", f"p{it + 1}:{side}", version=str(side if it == 4 else 1))
            for it in range(1, 5)
        ]
        return side_of([node(f"p0:{side}", f"p1:{side}")], [*outside, node(f"p5:{side}")])

    (cause,) = records(causes_of(chain(1), chain(2)))
    assert (cause.kind, cause.package, cause.why_unknown) == (CauseKind.UNKNOWN, "p3", CUT)
    monkeypatch.setattr(cause_graph, "MOST_STEPS", 10)
    assert [it.title for it in records(causes_of(chain(1), chain(2)))] == [
        "p4 1 → 2",
        "p5 changed, it is not known why",
    ]
