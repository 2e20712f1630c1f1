"""The causes of a single pair of nodes, and the keys of causes."""

from itertools import product

import pytest
from msgspec.structs import replace

from snapshots.changes.cause_names import CauseName
from snapshots.models import CauseKind, Dependency
from tests.snapshots.changes.cause_records import records
from tests.snapshots.changes.finding import causes_of, named, names_on, row_of
from tests.snapshots.changes.graphs import OTHER_RECIPE, edge, node, side_of


def test_keys() -> None:
    """No two names have the same key."""
    texts = (None, "1", "1|2", "1%7C2", "2")
    names = [CauseName(*facts) for facts in product(CauseKind, ("a", "b"), texts, texts)]
    assert len({name.key for name in names}) == len(names)
    assert names[0].key == "version|a||"


ADDED, REMOVED = CauseKind.DEPENDENCY_ADDED, CauseKind.DEPENDENCY_REMOVED


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            {"version": "3.3.1"},
            {"version": "3.4.0", "package_hash": OTHER_RECIPE, "variants": ("+x",)},
            (CauseKind.VERSION, "3.3.1", "3.4.0"),
        ),
        (
            {"variants": ("+x",)},
            {"variants": (), "package_hash": OTHER_RECIPE},
            (CauseKind.RECIPE, None, None),
        ),
        ({}, {"namespace": "mine", "target": "zen4"}, (CauseKind.RECIPE, None, None)),
        (
            {"variants": ("+mpi", "build_type=Debug", "~cxx")},
            {"variants": ("+cxx", "+mpi", "build_type=Release"), "dependencies": ()},
            (CauseKind.VARIANTS, "build_type=Debug ~cxx", "+cxx build_type=Release"),
        ),
        ({}, {"variants": ("+x",)}, (CauseKind.VARIANTS, None, "+x")),
        ({"variants": ("+x",)}, {}, (CauseKind.VARIANTS, "+x", None)),
        (
            {"compiler": "gcc@12.3.0"},
            {"compiler": "gcc@13.2.0", "target": "zen4"},
            (CauseKind.COMPILER, "gcc@12.3.0", "gcc@13.2.0"),
        ),
        (
            {},
            {"operating_system": "rhel8"},
            (CauseKind.TARGET, "linux-ubuntu22.04-x86_64_v3", "linux-rhel8-x86_64_v3"),
        ),
        ({}, {}, (CauseKind.UNKNOWN, None, None)),
    ],
)
def test_own_cause(
    before: dict[str, object],
    after: dict[str, object],
    expected: tuple[CauseKind, str | None, str | None],
) -> None:
    """All differing own facts are one cause, named by the first of them."""
    base = side_of([replace(node("a:1", "z"), **before)])
    head = side_of([replace(node("a:2", "z"), **after)])
    causes = causes_of(base, head)
    (cause,) = records(causes)
    kind, *texts = expected
    assert named(causes) == [(kind, "a", *texts)]
    assert (cause.num_specs, cause.num_involved) == (1, 1)
    assert (cause.packages, cause.together) == (("a",), ())
    assert names_on(causes, head, "a:2") == ["a"]


def provided_by(label: str, *virtuals: str) -> Dependency:
    """Return an edge that provides virtual packages."""
    return edge(label, ("link",), virtuals)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], ["z"], [(ADDED, None, "z")]),
        (["z"], [], [(REMOVED, "z", None)]),
        (["y"], ["x", "z"], [(ADDED, None, "x"), (ADDED, None, "z"), (REMOVED, "y", None)]),
        ([provided_by("y", "v")], [provided_by("z", "v")], [(CauseKind.PROVIDER, "y", "z")]),
        (
            [provided_by("y", "v")],
            [provided_by("z", "w")],
            [(ADDED, None, "z"), (REMOVED, "y", None)],
        ),
        (
            [provided_by("y", "v"), "x"],
            [provided_by("z", "v", "w"), "u"],
            [(ADDED, None, "u"), (REMOVED, "x", None), (CauseKind.PROVIDER, "y", "z")],
        ),
        (
            [provided_by("gcc", "c", "fortran")],
            [provided_by("gcc", "fortran"), provided_by("llvm", "c")],
            [(CauseKind.PROVIDER, "gcc", "llvm")],
        ),
        ([edge("z", ["link"])], [edge("z", ["build", "link"])], [(ADDED, "z", "z")]),
        ([provided_by("z", "v")], [provided_by("z")], [(REMOVED, "z", "z")]),
        (
            [edge("z", ["build"]), edge("z:2", ["link"])],
            [edge("z", ["build"])],
            [(REMOVED, "z", None)],
        ),
    ],
)
def test_added_and_removed_dependencies(
    before: list[Dependency | str],
    after: list[Dependency | str],
    expected: list[tuple[CauseKind, str | None, str | None]],
) -> None:
    """A dependency of one side alone is a cause of the node, unless its provider changed."""
    base, head = side_of([node("a:1", *before)]), side_of([node("a:2", *after)])
    causes = records(causes_of(base, head))
    assert [(cause.kind, cause.before, cause.after) for cause in causes] == expected
    assert {cause.package for cause in causes} == {"a"}
    assert [cause.num_specs for cause in causes] == [1] + [0] * (len(expected) - 1)
    together = set(range(len(expected)))
    assert [set(cause.together) for cause in causes] == [
        together - {n} for n in range(len(expected))
    ]


def test_several_dependencies_of_one_name() -> None:
    """Edges of one name pair by their types, then equal hashes first, then by version.

    A single edge of a name pairs with the single edge of that name.
    """
    build, link = ["build"], ["link"]
    base = side_of(
        [
            node("a:1", edge("z:b1", build), edge("z:l1", link), edge("z:k", link), edge("y:1")),
            node("z:b1"),
            node("z:l1", variants=("+x",)),
            node("z:k"),
        ]
    )
    head = side_of(
        [
            node("a:2", edge("z:l2", link), edge("z:b2", build), edge("z:k", link), edge("y:2")),
            node("z:b2", version="2"),
            node("z:l2", variants=("+y",)),
            node("z:k"),
        ]
    )
    causes = causes_of(base, head, [("a:1", "a:2")])
    assert sorted(
        (record.kind.value, record.before, record.after) for record in records(causes)
    ) == [("external", None, None), ("variants", "+x", "+y"), ("version", "1", "2")]


def test_outside_the_cache() -> None:
    """Described nodes outside the cache have usual causes; for others the cause is external."""
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
