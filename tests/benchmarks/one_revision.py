"""``one``: what a revision lacks, what changes would rebuild, and its twins, beside the model.

Of the newest revision every ninth spec is missing. Frame and graph are there: who asks has them.
Both have to find as much.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial

import numpy as np

from snapshots import demo
from snapshots.changes.holes import Holes
from snapshots.changes.impact import largest_impacts
from snapshots.changes.sides import Side
from snapshots.changes.twins import Twins
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from tests.benchmarks.measurements import Measurement, Target, measure, milliseconds, set_aside
from tests.benchmarks.plans import Plan
from tests.model import questions
from tests.model.explained import frame_and_graph
from tests.model.states import State

_TARGET = Target(300, "median")
_MODEL = "Python: the tests' model"
_OURS = "cachelog: frame and graph loaded"
_ROUNDS = 3
_EVERY = 9


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure, and check that both ways agree."""
    revision = _Revision(plan)
    subjects = (
        ("holes", revision.holes_naively, revision.holes),
        ("what each package would rebuild", revision.impacts_naively, revision.impacts),
        ("twins and their causes", revision.twins_naively, revision.twins),
    )
    for what, naive, ours in subjects:
        expected = naive()
        yield from measure(
            "one",
            f"{what}, {len(revision.frame):,} specs",
            {_MODEL: partial(_turn, naive, expected), _OURS: partial(_turn, ours, expected)},
            unit="ms",
            rounds=min(plan.rounds, _ROUNDS),
            targets={_OURS: _TARGET},
        )


def _turn(work: Callable[[], int], expected: int) -> float:
    set_aside()
    found: list[int] = []
    elapsed = milliseconds(lambda: found.append(work()))
    if found != [expected]:
        raise SystemExit(f"one: found {found}, where {expected} was expected")
    return elapsed


class _Revision:
    """A revision, in the form that each contender takes it; each question returns a sum."""

    def __init__(self, plan: Plan) -> None:
        self._data = plan.data

    @cached_property
    def state(self) -> State:
        """The revision as the model has it."""
        *_, newest = demo.history(revisions=1, packages=self._data.packages, specs=self._data.specs)
        specs = [*newest.content.specs()]
        missing = specs[::_EVERY]
        del specs[::_EVERY]
        return State(specs, [*newest.content.outside.specs, *missing])

    @cached_property
    def _loaded(self) -> tuple[Frame, DependencyGraph]:
        return frame_and_graph(self.state)

    @property
    def frame(self) -> Frame:
        """The frame of the revision."""
        return self._loaded[0]

    def holes(self) -> int:
        """Return how many specs need each hole, in all."""
        return sum(hole.num_affected for hole in Holes(self._loaded[1]))

    def holes_naively(self) -> int:
        """Return the same by a walk from each spec."""
        return sum(map(len, questions.holes(self.state).values()))

    def impacts(self) -> int:
        """Return how many specs each package's change would rebuild, in all."""
        frame, graph = self._loaded
        every = np.ones(len(frame), np.bool_)
        return sum(it.num_specs for it in largest_impacts(frame, graph, every, 1 << 30))

    def impacts_naively(self) -> int:
        """Return the same by a walk from each spec."""
        return questions.impacts(self.state).total()

    def twins(self) -> int:
        """Return how many specs each cause of twins is involved in, in all."""
        causes = Twins(Side(*self._loaded)).explanation.causes
        return sum(map(causes.num_involved, range(len(causes))))

    def twins_naively(self) -> int:
        """Return the same group by group."""
        groups = questions.twins(self.state)
        return questions.causes_of_twins(self.state, groups).num_involved.total()
