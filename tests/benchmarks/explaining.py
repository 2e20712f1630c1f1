"""``explain``: why two revisions differ, beside a plain way over records and dictionaries.

Every turn gets frames, graphs and a comparison of its own that nothing was asked of before. To make
these does not count: who compares has them. The plain way gets records. Both have to pair as many
specs, give as many of them each reason, and find as many cells.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from snapshots import demo
from snapshots.catalog.asking.library import Library
from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension, coverage
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.changes.reasons import SpecChangeReason
from snapshots.frames.dependencies import DependencyGraph
from snapshots.models import Spec
from tests.benchmarks import explaining_plainly
from tests.benchmarks.measuring import Measurement, Target, measure, milliseconds, set_aside
from tests.benchmarks.plans import Plan

EXPLAIN_TARGET = Target(0.35)
COVERAGE_TARGET = Target(0.25)

_PLAINLY = "Python: records and dictionaries"
_OURS = "cachelog: the first time"
_DIMENSIONS = (CoverageDimension.STACK, CoverageDimension.TARGET)

Found = Mapping[str, int]
Work = Callable[[], Found]


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure, and check that both ways agree."""
    pair = _Pair(plan)
    changed = f"{pair.num_changes:,} changes of {plan.data.specs:,} specs"
    subjects = (
        ("counterparts, reasons and causes", pair.explain_plainly, pair.explain, EXPLAIN_TARGET),
        ("package x stack x target", pair.cover_plainly, pair.cover, COVERAGE_TARGET),
    )
    for what, plainly, ours, target in subjects:
        expected = plainly()()
        yield from measure(
            "explain",
            f"{what}, {changed}",
            {
                _PLAINLY: partial(_turn, plainly, expected),
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

    def explain_plainly(self) -> Work:
        """Prepare the plain way."""
        base, head, outside = self._records

        def work() -> Found:
            found = explaining_plainly.explain(base, head, outside)
            return found.reasons | {"counterparts": sum(found.causes.values())}

        return work

    def cover(self) -> Work:
        """Prepare what cachelog does for coverage."""
        comparison, _, _ = self._load()

        def work() -> Found:
            table = coverage(comparison, _DIMENSIONS)
            return {kind.value: table.count(kind) for kind in CoverageChangeKind}

        return work

    def cover_plainly(self) -> Work:
        """Prepare the plain way to the coverage."""
        base, head, _ = self._records

        def work() -> Found:
            cells = explaining_plainly.coverage(base.values(), head.values())
            return Counter(kind for kind, _ in cells.values())

        return work

    def _load(self) -> tuple[Comparison, DependencyGraph, DependencyGraph]:
        base, head = self._data.digests()
        library = Library(self._data.opened())
        before, after = map(library.dependencies.get, (base, head))
        return library.compare(base, head), before, after

    @cached_property
    def _records(self) -> tuple[dict[str, Spec], dict[str, Spec], dict[str, Spec]]:
        """The specs of both revisions by hash, and those outside of them."""
        sizes: dict[str, Any] = {"packages": self._data.packages, "specs": self._data.specs}
        base, head = (it.content for it in demo.history(revisions=2, **sizes))
        outside = (*base.outside.specs, *head.outside.specs)
        every = (base.specs(), head.specs(), outside)
        before, after, others = ({spec.hash: spec for spec in specs} for specs in every)
        return before, after, others
