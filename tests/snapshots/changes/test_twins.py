"""Specs that are built more than once, and why, against the model and raw indexes."""

from random import Random
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.sides import Side
from snapshots.changes.twins import Twins
from tests.expensive import FEWER_EXAMPLES
from tests.model import questions
from tests.model.builds import Build, Need, state_of, towers
from tests.model.explained import frame_and_graph, named
from tests.model.real import STACKS, dates, records
from tests.model.states import State
from tests.snapshots.changes.causes import records as cause_records
from tests.snapshots.factories import seeded


class ComparedTwins:
    """The twins of a state, or of some of its specs, in the model's terms."""

    def __init__(self, state: State, digests: set[str] | None = None) -> None:
        self.frame, graph = frame_and_graph(state)
        mask = None
        if digests is not None:
            mask = np.array([digest in digests for digest in self.frame.hashes.texts], np.bool_)
        self.twins = Twins(Side(self.frame, graph), mask)
        self.causes = self.twins.explanation.causes
        self.names = named(cause_records(self.causes))

    def hashes(self, rows: Any) -> list[str]:
        """Return the hashes of rows."""
        return [self.frame.hashes.at(row) for row in rows.tolist()]

    def groups(self) -> dict[str, list[str]]:
        """Return the groups: the first spec, and the others."""
        lists = [self.hashes(group.rows) for group in self.twins]
        return {first: others for first, *others in lists}

    def saved(self) -> dict[str, set[str]]:
        """Return the builds that would be saved if the twins of each group were equal."""
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
    """Return one state with both sides of a change, which has many twins."""
    base, head = pair
    return State({**base.specs, **head.specs}.values(), {**base.nodes, **head.nodes}.values())


def check(state: State, digests: set[str] | None = None) -> None:
    """Assert that the twins of a state are those of the model."""
    compared = ComparedTwins(state, digests)
    groups = questions.twins(state, digests)
    assert [*compared.groups().items()] == [*groups.items()]
    expected = questions.causes_of_twins(state, groups)
    assert {*compared.names} == {*expected.num_involved}
    others = [other for others in groups.values() for other in others]
    assert sum(map(compared.causes.num_specs, range(len(compared.causes)))) == len(others)
    assert sorted(compared.hashes(compared.twins.others)) == sorted(others)
    for number, name in enumerate(compared.names):
        assert compared.causes.num_involved(number) == expected.num_involved[name]
        rows = compared.causes.rows_of(number)
        assert set(compared.hashes(rows)) == {
            other for other, cause in expected.main.items() if cause == name
        }
    for group, (first, others) in zip(compared.twins, compared.groups().items(), strict=True):
        names = {compared.names[number] for number in compared.twins.causes_of(group)}
        assert names == set().union(*(expected.involved[other] for other in others))
        assert compared.twins.find(first) == group.number
        assert [compared.twins.find(other) for other in others] == [None] * len(others)
    assert compared.saved() == {
        first: questions.joined(expected, {first, *others}) for first, others in groups.items()
    }


@FEWER_EXAMPLES
@given(CROWDS | towers.map(both_sides), st.booleans())
def test_against_the_model(state: State, is_part: bool) -> None:
    """Groups, their order, causes, and savings are the model's, also for some specs."""
    check(state, {*sorted(state.specs)[::2]} if is_part else None)


def test_real_index() -> None:
    """The model agrees on two versions of Python below dozens of twins."""
    check(State(*records(dates()[0], STACKS[-1:])))
