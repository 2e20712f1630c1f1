"""Specs that a change of packages rebuilds, against the model and raw indexes."""

from collections.abc import Collection

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.impact import (
    Impact,
    ImpactPart,
    impact,
    rows_above,
)
from tests.expensive import FEWER_EXAMPLES
from tests.model import questions
from tests.model.builds import weeks
from tests.model.explained import frame_and_graph
from tests.model.states import State
from tests.snapshots.factories import a_spec


def rebuilt(state: State, packages: Collection[str]) -> set[str]:
    """Return the hashes of the specs that would be rebuilt."""
    frame, graph = frame_and_graph(state)
    rows = np.flatnonzero(rows_above(frame, graph, packages)).tolist()
    return {frame.hashes.at(row) for row in rows}


@FEWER_EXAMPLES
@given(weeks(), st.sets(st.sampled_from(("a", "b", "gcc", "mpich", "nothing")), max_size=2))
def test_against_the_model(week: tuple[State, State], packages: set[str]) -> None:
    """The model agrees for packages without specs, and for those outside the cache."""
    for state in week:
        assert rebuilt(state, packages) == questions.rebuilt(state, packages)


def test_counts() -> None:
    """Counts by stack and target, largest first, without root; sizes may be unknown."""
    specs = [
        a_spec("1", name="a", stacks=("e4s", "root"), target="zen4", size=100),
        a_spec("2", name="a", stacks=("e4s", "hep", "root"), target="zen4", size=50),
        a_spec("3", name="b", stacks=("e4s", "root"), target="zen3", size=None),
        a_spec("4", name="c", stacks=("hep", "root"), target="zen2", size=1),
    ]
    frame, graph = frame_and_graph(State(specs))
    assert impact(frame, rows_above(frame, graph, ["a", "b"])) == Impact(
        num_specs=3,
        num_packages=2,
        size=150,
        by_stack=[ImpactPart("e4s", 3), ImpactPart("hep", 1)],
        by_target=[ImpactPart("zen4", 2), ImpactPart("zen3", 1)],
    )
    assert impact(frame, rows_above(frame, graph, ["b"])).size is None
    nothing = impact(frame, rows_above(frame, graph, ["d"]))
    assert (nothing.num_specs, nothing.by_stack, nothing.size_label) == (0, [], "0")
    frame, graph = frame_and_graph(State([a_spec("1", name="a", stacks=())]))
    assert impact(frame, rows_above(frame, graph, ["a"])).by_stack is None
