"""What is found to have caused changed hashes, told by small graphs."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from snapshots.changes.cause_facts import CUT
from snapshots.changes.causes import Cause, CauseCount, CauseKind, Causes, find_causes
from snapshots.changes.own_facts import differing_facts
from snapshots.changes.sides import Side
from snapshots.frames.columns import Rows
from snapshots.models import Dependency
from tests.snapshots.changes.graphs import RECIPE, edge, node, side_of

OTHER_RECIPE = "b" * 52 + "===="


def causes_of(base: Side, head: Side, pairs: Iterable[tuple[str, str]] | None = None) -> Causes:
    """Return the causes of counterparts; without ``pairs``, of labels, those of one package are."""
    if pairs is None:
        before, after = (
            {frame.package.at(row): row for row in range(len(frame))}
            for frame in (base.frame, head.frame)
        )
        rows = [
            (before[name], after[name])
            for name in before.keys() & after.keys()
            if base.frame.hashes.at(before[name]) != head.frame.hashes.at(after[name])
        ]
    else:
        rows = [(row_of(base, old), row_of(head, new)) for old, new in pairs]
    ours, theirs = np.array(sorted(rows), np.int32).reshape(-1, 2).T
    return find_causes(base, head, ours, theirs, differing_facts(base, head, ours, theirs))


def row_of(side: Side, label: str) -> int:
    """Return the row of a label."""
    row = side.frame.hashes.find(node(label).hash)
    assert row is not None
    return row


def all_rows(side: Side) -> Rows:
    """Return all rows of a side."""
    return np.arange(len(side.frame), dtype=np.int32)


def told(causes: Sequence[Cause]) -> list[tuple[str, int, int]]:
    """Return the title of each cause, and how many specs it explains and is involved in."""
    return [(it.title, it.num_specs, it.num_involved) for it in causes]


def named(causes: Sequence[Cause]) -> list[tuple[CauseKind, str, str | None, str | None]]:
    """Return the name of each cause."""
    return [(it.kind, it.package, it.before, it.after) for it in causes]


def names_on(causes: Causes, head: Side, label: str) -> list[str]:
    """Return the names of the packages on the path of a label."""
    return [step.name for step in causes.path(row_of(head, label))]


@pytest.mark.parametrize(
    ("before", "after", "expected", "title"),
    [
        (
            {"version": "3.3.1"},
            {"version": "3.4.0", "package_hash": OTHER_RECIPE, "variants": ("+x",)},
            (CauseKind.VERSION, "3.3.1", "3.4.0"),
            "a 3.3.1 → 3.4.0",
        ),
        (
            {"variants": ("+x",)},
            {"variants": (), "package_hash": OTHER_RECIPE},
            (CauseKind.RECIPE, None, None),
            "recipe of a changed",
        ),
        (
            {},
            {"namespace": "mine", "target": "zen4"},
            (CauseKind.RECIPE, None, None),
            "recipe of a changed",
        ),
        (
            {"variants": ("+mpi", "build_type=Debug", "~cxx")},
            {"variants": ("+cxx", "+mpi", "build_type=Release"), "dependencies": ()},
            (CauseKind.VARIANTS, "build_type=Debug ~cxx", "+cxx build_type=Release"),
            "a build_type=Debug ~cxx → +cxx build_type=Release",
        ),
        ({}, {"variants": ("+x",)}, (CauseKind.VARIANTS, None, "+x"), "a now +x"),
        ({"variants": ("+x",)}, {}, (CauseKind.VARIANTS, "+x", None), "a no longer +x"),
        (
            {"compiler": "gcc@12.3.0"},
            {"compiler": "gcc@13.2.0", "target": "zen4"},
            (CauseKind.COMPILER, "gcc@12.3.0", "gcc@13.2.0"),
            "a gcc@12.3.0 → gcc@13.2.0",
        ),
        (
            {},
            {"operating_system": "rhel8"},
            (CauseKind.TARGET, "linux-ubuntu22.04-x86_64_v3", "linux-rhel8-x86_64_v3"),
            "a linux-ubuntu22.04-x86_64_v3 → linux-rhel8-x86_64_v3",
        ),
        ({}, {}, (CauseKind.UNKNOWN, None, None), "a changed, it is not known why"),
    ],
)
def test_a_cause_of_its_own(
    before: dict[str, object],
    after: dict[str, object],
    expected: tuple[CauseKind, str | None, str | None],
    title: str,
) -> None:
    """All own facts that differ are one cause, named by the first of them."""
    base = side_of([replace(node("a:1", "z"), **before)])
    head = side_of([replace(node("a:2", "z"), **after)])
    (cause,) = causes = causes_of(base, head)
    kind, *texts = expected
    assert named(causes) == [(kind, "a", *texts)]
    assert (cause.title, cause.num_specs, cause.num_involved) == (title, 1, 1)
    assert (cause.packages, cause.together) == (("a",), ())
    assert names_on(causes, head, "a:2") == ["a"]


ADDED, REMOVED = CauseKind.DEPENDENCY_ADDED, CauseKind.DEPENDENCY_REMOVED


def by(label: str, *virtuals: str) -> Dependency:
    """Return an edge that provides virtual packages."""
    return edge(label, ("link",), virtuals)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], ["z"], [(ADDED, None, "z")]),
        (["z"], [], [(REMOVED, "z", None)]),
        (["y"], ["x", "z"], [(ADDED, None, "x"), (ADDED, None, "z"), (REMOVED, "y", None)]),
        ([by("y", "v")], [by("z", "v")], [(CauseKind.PROVIDER, "y", "z")]),
        ([by("y", "v")], [by("z", "w")], [(ADDED, None, "z"), (REMOVED, "y", None)]),
        (
            [by("y", "v"), "x"],
            [by("z", "v", "w"), "u"],
            [(ADDED, None, "u"), (REMOVED, "x", None), (CauseKind.PROVIDER, "y", "z")],
        ),
        (
            [by("gcc", "c", "fortran")],
            [by("gcc", "fortran"), by("llvm", "c")],
            [(CauseKind.PROVIDER, "gcc", "llvm")],
        ),
        ([edge("z", ["link"])], [edge("z", ["build", "link"])], [(ADDED, "z", "z")]),
        ([by("z", "v")], [by("z")], [(REMOVED, "z", "z")]),
        (
            [edge("z", ["build"]), edge("z:2", ["link"])],
            [edge("z", ["build"])],
            [(REMOVED, "z", None)],
        ),
    ],
)
def test_other_dependencies(
    before: list[Dependency | str],
    after: list[Dependency | str],
    expected: list[tuple[CauseKind, str | None, str | None]],
) -> None:
    """Each dependency that one side alone has is a cause of the node, but for changed providers."""
    base, head = side_of([node("a:1", *before)]), side_of([node("a:2", *after)])
    causes = causes_of(base, head)
    assert [(it.kind, it.before, it.after) for it in causes] == expected
    assert {it.package for it in causes} == {"a"}
    assert [it.num_specs for it in causes] == [1] + [0] * (len(expected) - 1)
    together = set(range(len(expected)))
    assert [set(it.together) for it in causes] == [together - {n} for n in range(len(expected))]


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
    assert told(causes) == [("zlib 1 → 2", 4, 4)]
    assert causes[0].packages == ("app", "left", "right", "zlib")
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
    assert told(causes) == [
        ("recipe of most changed", 2, 3),
        ("x 1 → 2", 2, 3),
        ("y 1 → 2", 1, 3),
        ("own 1 → 2", 1, 2),
    ]
    titles = [it.title for it in causes]
    rows = np.array([row_of(head, f"{name}:2") for name, _, _ in specs], np.int32)
    mains = [titles[number] for number in causes.main_of(rows)]
    assert mains == [titles[0], titles[3], titles[1], titles[0], titles[2], titles[1]]
    offsets, numbers = causes.involved_in(rows)
    lists = [it.tolist() for it in np.split(numbers, offsets[1:-1])]
    assert lists == [[0, 1, 2, 3], [3, 0], [1, 2], [0], [2], [1]]
    assert [it.together for it in causes] == [(), (), (), ()]
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
    assert [(it.title, it.num_specs, it.together) for it in causes] == [
        ("gcc 1 → 2", 1, (2,)),
        ("a now +x", 1, ()),
        ("wrapper 1 → 2", 0, (0,)),
    ]


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
    assert told(causes) == [("recipe of y changed", 2, 2), ("z 1 → 2", 2, 2)]
    (fact,) = causes[0].facts
    least = min(pairs[:2], key=lambda pair: node(pair[0]).hash)
    assert (fact.before, fact.after) == (RECIPE, least[1][3] * 52 + "====")


def test_outside_the_cache() -> None:
    """A node that the index states is like others; where a side does not, the cause is external."""
    gcc = node("gcc:1", version="12"), node("gcc:2", version="13")
    base = [node("a:1", "gcc:1")]
    head = [node("a:2", "gcc:2")]
    expected = {
        (True, True): (CauseKind.VERSION, "gcc", "12", "13"),
        (True, False): (CauseKind.EXTERNAL, "gcc", "12", None),
        (False, True): (CauseKind.EXTERNAL, "gcc", None, "13"),
        (False, False): (CauseKind.EXTERNAL, "gcc", None, None),
    }
    for (in_base, in_head), cause in expected.items():
        sides = side_of(base, [gcc[0]] * in_base), side_of(head, [gcc[1]] * in_head)
        causes = causes_of(*sides)
        assert named(causes) == [cause]
        assert names_on(causes, sides[1], "a:2") == ["a", "gcc"]
        step = causes.path(row_of(sides[1], "a:2"))[-1]
        assert (step.base_node, step.head_node) == (1, 1)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, "nothing that the source tells of it differs"),
        ({"dependencies": None}, "the source tells no dependencies"),
        ({"package_hash": None}, "the source tells no package hashes"),
        (
            {"package_hash": None, "dependencies": None},
            "the source tells neither dependencies nor package hashes",
        ),
    ],
)
def test_why_it_is_not_known(facts: dict[str, None], reason: str) -> None:
    """Where nothing is found, it is said what the source does not tell."""
    (cause,) = causes_of(side_of([node("a:1", **facts)]), side_of([node("a:2")]))
    assert (cause.kind, cause.why_unknown, cause.facts) == (CauseKind.UNKNOWN, reason, [])


def test_circles() -> None:
    """Pairs that lead to each other share their causes; without any, all of them are unknown."""
    base = [node("a:1", "b:1"), node("b:1", "a:1"), node("top:1", "a:1")]
    head = [node("a:2", "b:2"), node("b:2", "a:2"), node("top:2", "a:2")]
    causes = causes_of(side_of(base), side_of(head))
    assert told(causes) == [
        ("a changed, it is not known why", 3, 3),
        ("b changed, it is not known why", 0, 3),
    ]
    changed = [head[0], node("b:2", "a:2", version="2"), head[2]]
    causes = causes_of(side_of(base), side_of(changed))
    assert told(causes) == [("b 1 → 2", 3, 3)]
    assert names_on(causes, side_of(changed), "top:2") == ["top", "a", "b"]

    itself = causes_of(side_of([node("a:1", "a:1")]), side_of([node("a:2", "a:2")]))
    assert named(itself) == [(CauseKind.UNKNOWN, "a", None, None)]


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
    assert sum(it.num_specs for it in causes) == 1
    reasons = {it.kind: it.why_unknown for it in causes}
    assert reasons.pop(CauseKind.VERSION, None) is None
    assert reasons in ({}, {CauseKind.UNKNOWN: CUT})
    assert reasons or num_versions == 2


def test_a_dependency_that_stands_twice() -> None:
    """Edges of one name pair by their types; there equal hashes first, then by version."""
    build, link = ["build"], ["link"]
    base = side_of(
        [
            node("a:1", edge("z:b1", build), edge("z:l1", link), edge("z:k", link)),
            node("z:b1"),
            node("z:l1", variants=("+x",)),
            node("z:k"),
        ]
    )
    head = side_of(
        [
            node("a:2", edge("z:l2", link), edge("z:b2", build), edge("z:k", link)),
            node("z:b2", version="2"),
            node("z:l2", variants=("+y",)),
            node("z:k"),
        ]
    )
    causes = causes_of(base, head, [("a:1", "a:2")])
    assert sorted((it.kind.value, it.before, it.after) for it in causes) == [
        ("variants", "+x", "+y"),
        ("version", "1", "2"),
    ]


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


def test_keys_and_choices() -> None:
    """Causes are found by their keys, kinds and packages."""
    base = side_of([node("a:1"), node("b:1", variants=("x=1|2",)), node("c:1")])
    head = side_of([node("a:2", version="2"), node("b:2", variants=("x=%",)), node("c:2")])
    causes = causes_of(base, head)
    keys = [it.key for it in causes]
    assert keys == ["version|a|1|2", "variants|b|x=1%7C2|x=%25", "unknown|c||"]
    assert [causes.find(key) for key in (*keys, "version|a|1|3")] == [0, 1, 2, None]
    assert causes.select() == [0, 1, 2]
    assert causes.select([CauseKind.VERSION, CauseKind.UNKNOWN]) == [0, 2]
    assert causes.select(package="b") == [1]
    assert causes[-1] == causes[2]
    assert causes[1:] == list(causes)[1:]
    with pytest.raises(IndexError):
        causes[3]


def test_no_counterparts() -> None:
    """Nothing to explain has no causes."""
    side = side_of([node("a")])
    causes = causes_of(side, side)
    assert list(causes) == []
    assert causes.counted(all_rows(side)) == []
    assert causes.main_of(all_rows(side)).tolist() == [-1]
    assert causes.path(0) == []
    nothing = side_of([])
    assert len(causes_of(nothing, nothing)) == 0


def test_facts_of_a_cause() -> None:
    """All own facts that differ are told, of lists what one side alone has."""
    before = node("a:1", edge("y", ["link"], ["v"]), "z", variants=("+a", "+b"))
    after = node("a:2", "z", "x", variants=("+a", "~b"), version="2", target="zen4")
    (cause,) = causes_of(side_of([before]), side_of([after]))
    assert [(it.path, it.before, it.after) for it in cause.facts] == [
        ("version", "1", "2"),
        ("variants", ["+b"], ["~b"]),
        ("dependencies", ["y link v"], ["x link"]),
        ("target", "x86_64_v3", "zen4"),
    ]
