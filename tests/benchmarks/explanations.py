"""``explain``: why two revisions differ, beside the naive model of the tests.

Every turn has frames, graphs and a comparison of its own, which nobody has used before. Making them
does not count: who compares has them. The model has records. Both have to pair as many specs, give
as many of them each reason, and find as many cells.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from snapshots import demo
from snapshots.catalog.library import Library
from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension, coverage
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.changes.reasons import SpecChangeReason
from snapshots.frames.dependencies import DependencyGraph
from snapshots.models import Spec
from tests.benchmarks.measurements import Measurement, Target, measure, milliseconds, set_aside
from tests.benchmarks.plans import Plan
from tests.model import cells
from tests.model.changes import Causes, added_reasons, counterparts, removed_reasons
from tests.model.states import State

EXPLAIN_TARGET = Target(0.13)
COVERAGE_TARGET = Target(0.03)

_MODEL = "Python: the tests' model"
_OURS = "cachelog: the first time"
_DIMENSIONS = (CoverageDimension.STACK, CoverageDimension.TARGET)

Found = Mapping[str, int]
Work = Callable[[], Found]


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure, and check that both ways agree."""
    pair = _Pair(plan)
    changed = f"{pair.num_changes:,} changes of {plan.data.specs:,} specs"
    subjects = (
        ("counterparts, reasons and causes", pair.explain_naively, pair.explain, EXPLAIN_TARGET),
        ("package x stack x target", pair.cover_naively, pair.cover, COVERAGE_TARGET),
    )
    for what, naive, ours, target in subjects:
        expected = naive()()
        yield from measure(
            "explain",
            f"{what}, {changed}",
            {
                _MODEL: partial(_turn, naive, expected),
                _OURS: partial(_turn, ours, expected),
            },
            unit="ms",
            rounds=plan.rounds,
            targets={_OURS: target},
        )
    gc.unfreeze()


def _turn(prepare: Callable[[], Work], expected: Found) -> float:
    work = prepare()
    set_aside()
    found: list[Found] = []
    elapsed = milliseconds(lambda: found.append(work()))
    if found != [expected]:
        raise SystemExit(f"explain: found {found}, where {expected} was expected")
    return elapsed


class _Pair:
    """Two revisions, in the form that each contender takes them."""

    def __init__(self, plan: Plan) -> None:
        self._data = plan.data

    @property
    def num_changes(self) -> int:
        """How many hashes were added, removed or changed."""
        comparison, _, _ = self._load()
        return len(comparison.specs)

    def explain(self) -> Work:
        """Prepare what cachelog does."""
        loaded = self._load()

        def work() -> Found:
            comparison = loaded[0]
            explanation = explain(*loaded)
            codes = explanation.reasons(comparison.specs)
            names = [reason.value for reason in SpecChangeReason]
            reasons = Counter(map(names.__getitem__, codes.tolist()))
            reasons.pop(SpecChangeReason.FACTS.value, None)
            causes = explanation.causes
            return reasons | {"counterparts": sum(map(causes.num_specs, range(len(causes))))}

        return work

    def explain_naively(self) -> Work:
        """Prepare what the model does."""
        base, head = self._states()

        def work() -> Found:
            pairs = counterparts(base, head)
            main = Causes(base, head, pairs).main
            reasons = added_reasons(base, head) | removed_reasons(base, head)
            return Counter(reasons.values()) | {"counterparts": len(main)}

        return work

    def cover(self) -> Work:
        """Prepare what cachelog does for coverage."""
        comparison, _, _ = self._load()

        def work() -> Found:
            table = coverage(comparison, _DIMENSIONS)
            return {kind.value: table.count(kind) for kind in CoverageChangeKind}

        return work

    def cover_naively(self) -> Work:
        """Prepare what the model does for coverage."""
        base, head = self._states()

        def work() -> Found:
            changes = cells.coverage(base, head, [dimension.value for dimension in _DIMENSIONS])
            return Counter("lost" if change.is_lost else "gained" for change in changes)

        return work

    def _load(self) -> tuple[Comparison, DependencyGraph, DependencyGraph]:
        base, head = self._data.digests()
        library = Library(self._data.opened())
        before, after = map(library.dependencies.get, (base, head))
        return library.comparisons.get((base, head)), before, after

    def _states(self) -> tuple[State, State]:
        """Return both revisions as the model has them, of which nothing is worked out yet."""
        base, head = (State(*records) for records in self._records)
        return base, head

    @cached_property
    def _records(self) -> list[tuple[list[Spec], list[Spec]]]:
        """The specs of both revisions, and those outside of them."""
        sizes: dict[str, Any] = {"packages": self._data.packages, "specs": self._data.specs}
        contents = (snapshot.content for snapshot in demo.history(revisions=2, **sizes))
        return [([*content.specs()], [*content.outside.specs]) for content in contents]
