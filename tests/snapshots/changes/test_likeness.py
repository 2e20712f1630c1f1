"""How alike specs are: what lies below them, and how far their versions are apart."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes import likeness
from snapshots.changes.likeness import Below, version_places
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from tests.model.builds import weeks
from tests.model.states import State
from tests.snapshots.changes.graphs import node, side_of
from tests.snapshots.records import frame_of


def check(base: Sequence[Spec], head: Sequence[Spec]) -> None:
    """Assert that numbers and shares of all rows of two contents are those of the model's sets."""
    sides = side_of(base), side_of(head)
    rows = [np.arange(len(side.frame), dtype=np.int32) for side in sides]
    made = Below(sides[0], rows[0], sides[1], rows[1], ("package", "version"))
    sets = [
        [state.below(state.specs[digest]) for digest in side.frame.hashes.texts]
        for state, side in zip(map(State, (base, head)), sides, strict=True)
    ]
    numbers = [*made.base_numbers.tolist(), *made.head_numbers.tolist()]
    by_number = dict(zip(numbers, [*sets[0], *sets[1]], strict=True))
    assert [by_number[number] for number in numbers] == [*sets[0], *sets[1]]
    assert len({*by_number.values()}) == len(by_number)
    ours = np.repeat(made.base_numbers, len(head))
    theirs = np.tile(made.head_numbers, len(base))
    expected = [
        len(one & other) / len(one | other) if one | other else 1.0
        for one in sets[0]
        for other in sets[1]
    ]
    assert made.shares(ours, theirs).tolist() == expected


@given(weeks(), st.sampled_from((0, 2, 1 << 20)), st.sampled_from((0, 500, 1 << 20)))
def test_against_the_model(week: tuple[State, State], num_bytes: int, kept_bytes: int) -> None:
    """Sets with cycles, absent specs and compilers that are no dependencies; kept or made anew."""
    base, head = ([*state.specs.values()] for state in week)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "_BLOCK_BYTES", num_bytes)
        patch.setattr(likeness, "_KEPT_BYTES", kept_bytes)
        check(base, head)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ([], []),
        ([node("a")], []),
        ([node("a")], [node("b")]),
        ([node("a", "a")], [node("a:2", "a:3"), node("a:3", "a:2")]),
        ([node("a", "b"), node("b", "a")], [node("a", "b", "c"), node("b", "a"), node("c", "b")]),
    ],
)
def test_small_graphs(base: list[Spec], head: list[Spec]) -> None:
    """The model agrees where there is nothing, and where specs depend on themselves."""
    check(base, head)


def test_only_some_rows() -> None:
    """Rows come in any order; what none of them reaches does not count."""
    specs = [node("a", "b"), node("b", "c"), node("c"), node("d", "c")]
    side = side_of(specs)
    rows = np.array([side.frame.hashes.find(specs[it].hash) for it in (1, 0)], np.int32)
    made = Below(side, rows, side, rows[:1], ("package", "version"))
    assert made.base_numbers[0] == made.head_numbers[0] != made.base_numbers[1]
    assert made.shares(made.base_numbers, np.repeat(made.head_numbers, 2)).tolist() == [1.0, 0.5]
    assert made.shares(made.base_numbers[:0], made.head_numbers[:0]).tolist() == []


def places(frame: Frame, found: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, int]:
    """Return the place of each row by its label."""
    names = [f"{frame.package.at(row)} {frame.version.at(row)}" for row in range(len(frame))]
    return dict(zip(names, found.tolist(), strict=True))


def test_places() -> None:
    """What either side has counts, once; other packages do not; the order is Spack's."""
    base = frame_of([node(f"a:{it}", version=it) for it in ("1.9", "1.10", "develop")])
    others = [node(f"b:{it}", version=it) for it in ("1.9.5", "1.9.6")]
    head = frame_of([*(node(f"a:{it}", version=it) for it in ("1.10", "2.0", "1.2")), *others])
    rows = [np.arange(len(it), dtype=np.int32) for it in (base, head)]
    before, after = version_places(base, rows[0], head, rows[1])
    ours, theirs = places(base, before), places(head, after)
    assert ours["a 1.10"] == theirs["a 1.10"]
    assert ours["a 1.10"] - ours["a 1.9"] == 1
    assert ours["a 1.10"] - theirs["a 1.2"] == 2
    assert theirs["a 2.0"] - ours["a 1.9"] == 2
    assert ours["a develop"] - theirs["a 2.0"] == 1
    some = version_places(base, rows[0][1:], head, rows[1][:0])
    assert [it.tolist() for it in some] == [before.tolist()[1:], []]
