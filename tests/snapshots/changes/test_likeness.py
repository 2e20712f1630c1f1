"""Similarity of specs: their dependencies, and the distance of their versions."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given

from snapshots.changes.likeness import Below, Walk
from snapshots.models import Spec
from tests.expensive import FEWER_EXAMPLES
from tests.model.builds import weeks
from tests.model.changes import share
from tests.model.states import State
from tests.snapshots.changes.graphs import node, side_of


def check(base: Sequence[Spec], head: Sequence[Spec]) -> None:
    """Assert that numbers and shares of all rows of two contents are those of the model's sets."""
    sides = side_of(base), side_of(head)
    rows = [np.arange(len(side.frame), dtype=np.int32) for side in sides]
    columns = ("package", "version")
    below = Below(Walk(sides[0], rows[0], columns), Walk(sides[1], rows[1], columns), columns)
    sets = [
        [state.below(state.specs[digest]) for digest in side.frame.hashes.texts]
        for state, side in zip(map(State, (base, head)), sides, strict=True)
    ]
    numbers = [*below.base_numbers.tolist(), *below.head_numbers.tolist()]
    by_number = dict(zip(numbers, [*sets[0], *sets[1]], strict=True))
    assert [by_number[number] for number in numbers] == [*sets[0], *sets[1]]
    assert len({*by_number.values()}) == len(by_number)
    ours = np.repeat(below.base_numbers, len(head))
    theirs = np.tile(below.head_numbers, len(base))
    expected = [share(one, other) for one in sets[0] for other in sets[1]]
    assert below.shares(ours, theirs).tolist() == expected


@FEWER_EXAMPLES
@given(weeks())
def test_against_the_model(week: tuple[State, State]) -> None:
    """The model agrees for absent specs and compilers without edges."""
    check(*([*state.specs.values()] for state in week))


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ([], []),
        ([node("a")], []),
        ([node("a")], [node("b")]),
        ([node("a", "b"), node("b")], [node("a", "b", "c"), node("b"), node("c", "b")]),
    ],
)
def test_small_graphs(base: list[Spec], head: list[Spec]) -> None:
    """The model agrees on empty graphs."""
    check(base, head)
