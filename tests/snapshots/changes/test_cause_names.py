"""The causes of a single pair of nodes, and the keys of causes."""

from itertools import product

import pytest

from snapshots.changes.cause_names import CauseName
from snapshots.models import CauseKind, Dependency
from tests.snapshots.changes.causes import causes_of, records
from tests.snapshots.changes.graphs import edge, node, side_of


def test_keys() -> None:
    """No two names have the same key."""
    texts = (None, "1", "1|2", "1%7C2", "2")
    names = [CauseName(*facts) for facts in product(CauseKind, ("a", "b"), texts, texts)]
    assert len({name.key for name in names}) == len(names)
    assert names[0].key == "version|a||"


ADDED, REMOVED = CauseKind.DEPENDENCY_ADDED, CauseKind.DEPENDENCY_REMOVED


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
