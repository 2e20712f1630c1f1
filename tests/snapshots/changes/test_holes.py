"""Missing dependencies of a cache, against the model and raw indexes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.holes import Holes
from tests.expensive import FEWER_EXAMPLES
from tests.model import questions
from tests.model.builds import Build, Need, state_of, towers, weeks
from tests.model.explained import frame_and_graph
from tests.model.real import STACKS, dates, records
from tests.model.states import State
from tests.snapshots.factories import a_spec, hash_of


def affected_by(state: State, some: set[str] | None = None) -> dict[str, set[str]]:
    """Return the hashes that each hole affects, of some specs or of all, the largest hole first."""
    frame, graph = frame_and_graph(state)
    texts = frame.hashes.texts
    mask = None if some is None else np.array([text in some for text in texts], np.bool_)
    holes = Holes(frame, graph, mask)
    affected = {
        hole.hash: {texts[row] for row in holes.affected(graph, index).tolist()}
        for index, hole in enumerate(holes)
    }
    assert [hole.num_affected for hole in holes] == list(map(len, affected.values()))
    order = [(-hole.num_affected, hole.name) for hole in holes]
    assert order == sorted(order)
    assert holes.num_affected == len(set().union(*affected.values()))
    assert some is not None or holes.num_whole == len(questions.whole(state))
    return affected


@FEWER_EXAMPLES
@given(weeks() | towers, st.booleans())
def test_against_the_model(pair: tuple[State, State], is_part: bool) -> None:
    """The model agrees on all or some specs of states with cycles; the largest hole is first."""
    for state in pair:
        some = {*sorted(state.specs)[::2]} if is_part else None
        assert affected_by(state, some) == questions.holes(state, some)


def test_real_index() -> None:
    """The model agrees if every seventh spec is missing, with real external specs."""
    inside, outside = records(dates()[0], STACKS[:1])
    missing = sorted(inside, key=lambda spec: spec.hash)[::7]
    state = State([spec for spec in inside if spec not in missing], [*outside, *missing])
    assert len(affected_by(state)) > 10
    assert affected_by(state) == questions.holes(state)


def test_spliced_spec() -> None:
    """It needs the binary of the spec that it was built as, listed or not, as do its dependents."""
    builds = [Build(name="p"), Build(name="a", built_as=f"a/{hash_of('old')}")]
    builds.append(Build(name="b", needs=(Need(1, ("link",)),)))
    state = state_of(builds)
    spliced, above = (spec.hash for spec in state.specs.values() if spec.name in "ab")
    assert affected_by(state) == {hash_of("old"): {spliced, above}}
    other = a_spec(hash=hash_of("old"), name="a", dependencies=(), stacks=())
    assert affected_by(State(state.specs.values(), [other])) == {hash_of("old"): {spliced, above}}
    assert not affected_by(State([*state.specs.values(), other]))
