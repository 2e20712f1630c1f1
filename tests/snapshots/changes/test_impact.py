"""Specs that a change of packages rebuilds, against the model and raw indexes."""

from collections.abc import Collection

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.changes.impact import (
    Impact,
    ImpactPart,
    impact,
    largest_impacts,
    outcome,
    rows_above,
)
from tests.expensive import FEWER_EXAMPLES
from tests.model import questions
from tests.model.builds import towers, weeks
from tests.model.changes import Causes, counterparts
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


@FEWER_EXAMPLES
@given(towers, st.integers(0, 5), st.booleans())
def test_largest_impacts(pair: tuple[State, State], most: int, is_part: bool) -> None:
    """The packages of the counted rows, largest first, then by name, up to a number."""
    for state in pair:
        frame, graph = frame_and_graph(state)
        mask = np.arange(len(frame)) % 2 == 1 if is_part else np.ones(len(frame), np.bool_)
        counted = {digest for digest, is_in in zip(frame.hashes.texts, mask, strict=True) if is_in}
        counts = {
            package: len(questions.rebuilt(state, {package}) & counted)
            for package in questions.impacts(state)
        }
        expected = sorted(
            ((package, count) for package, count in counts.items() if count),
            key=lambda item: (-item[1], item[0]),
        )
        for bound in (most, 10_000):
            largest = largest_impacts(frame, graph, mask, bound)
            assert [(entry.package, entry.num_specs) for entry in largest] == expected[:bound]


@FEWER_EXAMPLES
@given(weeks(), st.sets(st.sampled_from(("a", "b", "gcc", "mpich")), max_size=2), st.booleans())
def test_outcome(week: tuple[State, State], packages: set[str], is_part: bool) -> None:
    """The specs that any cause in the packages reached, each once, and only marked ones."""
    model = Causes(*week, counterparts(*week))
    (base, base_graph), (head, head_graph) = map(frame_and_graph, week)
    explanation = explain(Comparison(base, head), base_graph, head_graph)
    mask = np.arange(len(head)) % 2 == 1 if is_part else None
    are_marked = [True] * len(head) if mask is None else mask.tolist()
    marked = {digest for digest, is_in in zip(head.hashes.texts, are_marked, strict=True) if is_in}
    reached = {
        cause: model.involved_in(cause) & marked
        for cause in model.num_involved
        if cause.package in packages and model.involved_in(cause) & marked
    }
    result = outcome(explanation, packages, mask)
    names = [explanation.causes.name_of(number) for number in result.causes]
    assert {(name.kind.name, name.package, name.before, name.after) for name in names} == {
        (cause.kind.name, cause.package, cause.before, cause.after) for cause in reached
    }
    assert result.num_specs == len(set[str]().union(*reached.values()))


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
    largest = largest_impacts(frame, graph, np.ones(len(frame), np.bool_), 2)
    assert [(of.package, of.num_specs) for of in largest] == [("a", 2), ("b", 1)]
    nothing = impact(frame, rows_above(frame, graph, ["d"]))
    assert (nothing.num_specs, nothing.by_stack, nothing.size_label) == (0, [], "0")
    frame, graph = frame_and_graph(State([a_spec("1", name="a", stacks=())]))
    assert impact(frame, rows_above(frame, graph, ["a"])).by_stack is None
