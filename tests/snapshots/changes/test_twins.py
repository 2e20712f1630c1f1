"""What is built more than once, and why, beside the model and raw indexes."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes import twins as twins_module
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.changes.twins import Twins
from snapshots.models import Dependency
from tests.expensive import FEWER_EXAMPLES
from tests.model import questions
from tests.model.builds import Build, Need, state_of, towers
from tests.model.changes import Cause, Kind
from tests.model.explained import frame_and_graph
from tests.model.real import STACKS, dates, records
from tests.model.states import State
from tests.snapshots.changes.cause_records import records as cause_records
from tests.snapshots.factories import a_spec, seeded


class Found:
    """The twins of a state, or of some of its specs, in the model's terms."""

    def __init__(self, state: State, some: set[str] | None = None) -> None:
        self.frame, graph = frame_and_graph(state)
        mask = None
        if some is not None:
            mask = np.array([digest in some for digest in self.frame.hashes.texts], np.bool_)
        self.twins = Twins(Side(self.frame, graph), mask)
        self.causes = self.twins.explanation.causes
        self.names = [
            Cause(Kind[record.kind.name], record.package, record.before, record.after)
            for record in cause_records(self.causes)
        ]

    def hashes(self, rows: Any) -> list[str]:
        """Return the hashes of rows."""
        return [self.frame.hashes.at(row) for row in rows.tolist()]

    def groups(self) -> dict[str, list[str]]:
        """Return the groups: the first, and the others."""
        lists = [self.hashes(group.rows) for group in self.twins]
        return {first: others for first, *others in lists}

    def saved(self) -> dict[str, set[str]]:
        """Return what would be one with another if the twins of each group were."""
        saved = map(self.hashes, self.twins.saved(self.twins))
        return {first: set(rows) for first, rows in zip(self.groups(), saved, strict=True)}


def _crowd(random: Random) -> State:
    """Return a state of few packages, each built several times."""
    builds = []
    for number in range(random.randrange(3, 25)):
        needs = [Need(number - random.randint(1, 8), ("link",)) for _ in range(random.randrange(4))]
        builds.append(
            Build(
                name=random.choice("abc"),
                version=random.choice(("1.0", "1.0", "2.0")),
                recipe=random.choice(("r1", "r1", "r2", None)),
                stacks=random.choice((("e4s", "root"), ("e4s", "hep"), ("root",), ())),
                place=random.choice(("cache", "cache", "cache", "stated", "named")),
                is_told=random.random() < 0.9,
                needs=tuple(needs) if number else (),
            )
        )
    return state_of(builds)


CROWDS = seeded(_crowd)


def both_sides(pair: tuple[State, State]) -> State:
    """Return one state of both sides of a change, which is full of twins."""
    base, head = pair
    return State({**base.specs, **head.specs}.values(), {**base.nodes, **head.nodes}.values())


def check(state: State, some: set[str] | None = None) -> None:
    """Assert that the twins of a state are those of the model."""
    found = Found(state, some)
    groups = questions.twins(state, some)
    assert found.groups() == groups
    expected = questions.causes_of_twins(state, groups)
    assert {*found.names} == {*expected.num_involved}
    others = [other for others in groups.values() for other in others]
    assert sum(map(found.causes.num_specs, range(len(found.causes)))) == len(others)
    assert sorted(found.hashes(found.twins.others)) == sorted(others)
    for number, name in enumerate(found.names):
        assert found.causes.num_involved(number) == expected.num_involved[name]
        rows = found.causes.rows_of(number)
        assert set(found.hashes(rows)) == {
            other for other, cause in expected.main.items() if cause == name
        }
    for group, (first, others) in zip(found.twins, found.groups().items(), strict=True):
        names = {found.names[number] for number in found.twins.causes_of(group)}
        assert names == set().union(*(expected.involved[other] for other in others))
        assert found.twins.find(first) == group.number
        assert [found.twins.find(other) for other in others] == [None] * len(others)
    if not any(pair in expected._reached[pair] for pair in expected.below):
        assert found.saved() == {
            first: questions.joined(expected, {first, *others}) for first, others in groups.items()
        }


@FEWER_EXAMPLES
@given(CROWDS | towers.map(both_sides), st.booleans(), st.sampled_from([0, twins_module._FEW]))
def test_against_the_model(state: State, is_part: bool, few: int) -> None:
    """Groups, the first of each, causes, and what would be one; of some of the specs, too.

    What reaches few twins is looked up row by row, what reaches many for all at once.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twins_module, "_FEW", few)
        check(state, {*sorted(state.specs)[::2]} if is_part else None)


def test_a_real_index() -> None:
    """The model agrees where Python is there in two versions, below dozens of twins."""
    check(State(*records(dates()[0], STACKS[-1:])))


def test_what_is_above_would_be_one_too() -> None:
    """Joining what stands lowest joins all that differs in it alone."""
    link = ("link",)
    state = state_of(
        [
            Build(name="lib", recipe="r1"),
            Build(name="lib", recipe="r2"),
            Build(name="mid", needs=(Need(0, link),)),
            Build(name="mid", needs=(Need(1, link),)),
            Build(name="app", needs=(Need(2, link),)),
            Build(name="app", needs=(Need(3, link),)),
            Build(name="tool", needs=(Need(2, link),), recipe="r1"),
            Build(name="tool", needs=(Need(3, link),), recipe="r2"),
        ]
    )
    found = Found(state)
    names = {digest: spec.name for digest, spec in state.specs.items()}
    saved = {
        names[first]: sorted(map(names.__getitem__, rest)) for first, rest in found.saved().items()
    }
    assert saved == {
        "lib": ["app", "lib", "mid"],
        "mid": ["app", "mid"],
        "app": ["app"],
        "tool": ["tool"],
    }
    assert [names[first] for first in found.groups()][:2] == ["lib", "mid"]
    explanation = found.twins.explanation
    changes = explanation.comparison.specs
    reasons = [list(SpecChangeReason)[code].value for code in explanation.reasons(changes).tolist()]
    assert Counter(reasons) == {"rebuilt": 2, "replaces": 2}
    assert {name.kind for name in found.names} == {Kind.RECIPE}


def test_no_twins() -> None:
    """Neither in nothing, nor where all specs differ in a fact."""
    for specs in ([], [a_spec("a", version="1"), a_spec("b", version="2")]):
        found = Found(State(specs))
        assert len(found.twins) == len(found.causes) == 0
        assert found.twins.others.tolist() == []
        assert found.twins.saved(found.twins) == []
        assert found.twins.find("a" * 32) is None


def test_long_chains_of_twins() -> None:
    """Two of them stand side by side; nothing is walked by recursion."""
    size = 150
    builds = [Build(name="p0", recipe="r1"), Build(name="p0", recipe="r2")]
    for number in range(1, size):
        for side in range(2):
            need = Need(2 * number - 2 + side, ("link",))
            builds.append(Build(name=f"p{number}", needs=(need,)))
    found = Found(state_of(builds, rounds=size))
    saved = [len(rows) for rows in found.twins.saved(found.twins)]
    assert saved == [*range(size, 0, -1)]


def test_thousands_of_twins() -> None:
    """One package built 3,000 times, each below a twin of another: the numbers still add up."""
    many = 3_000
    below = [
        a_spec(f"lib {number}", name="lib", package_hash=f"r{number % 7}", dependencies=())
        for number in range(many)
    ]
    above = [
        a_spec(
            f"app {number}",
            name="app",
            dependencies=(Dependency("lib", spec.hash, ("link",), ()),),
        )
        for number, spec in enumerate(below)
    ]
    found = Found(State([*below, *above]))
    assert [len(group.rows) for group in found.twins] == [many, many]
    assert sum(map(found.causes.num_specs, range(len(found.causes)))) == 2 * (many - 1)
    assert {name.kind for name in found.names} == {Kind.RECIPE, Kind.UNKNOWN}
    saved = [len(rows) for rows in found.twins.saved(found.twins)]
    assert saved == [2 * (many - 1), many - 1]
    assert found.twins.num_bytes > 0
