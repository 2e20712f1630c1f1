"""``compare`` and ``explain``: two revisions in memory, compared by cachelog and in other ways.

In every turn, a contender gets its own, unused data, as later comparisons of the same revisions
reuse results. Creating this data is not measured. All contenders must find the same numbers.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from snapshots.catalog.library import Library
from snapshots.changes.coverage import CoverageChangeKind, CoverageDimension, coverage
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.explanation import explain
from snapshots.changes.reasons import SpecChangeReason
from snapshots.frames.dependencies import DependencyGraph
from snapshots.models import Spec
from tests import demo_histories
from tests.benchmarks.measurements import Measurement, measure, milliseconds, set_aside
from tests.benchmarks.plans import Data, Plan
from tests.model import cells
from tests.model.changes import Causes, added_reasons, counterparts, removed_reasons
from tests.model.states import State

_SETS = "Python: difference of two sets of hashes"
_WITH_FACTS = "cachelog: the first comparison, with facts"
_MODEL = "Python: the tests' model"
_FIRST = "cachelog: the first time"
_DIMENSIONS = (CoverageDimension.STACK, CoverageDimension.TARGET)

Work = Callable[[], Mapping[str, int]]
"""The measured part of a turn, which returns numbers of changes."""
Prepare = Callable[[], Work]
"""Creates the data of a turn."""


def run(plan: Plan, name: str) -> Iterator[Measurement]:
    """Measure one of the two, and check that all contenders agree."""
    pair = _Pair(plan.data)
    measured = partial(_measured, plan, name)
    if name == "compare":
        subject = f"two loaded revisions of {plan.data.specs:,} specs"
        yield from measured(subject, {_SETS: pair.sets, _WITH_FACTS: pair.frames})
    else:
        changed = f"{pair.num_changes:,} changes of {plan.data.specs:,} specs"
        subject = f"counterparts, reasons and causes, {changed}"
        contenders = {_MODEL: pair.explain_naively, _FIRST: pair.explain}
        yield from measured(subject, contenders)
        contenders = {_MODEL: pair.cover_naively, _FIRST: pair.cover}
        yield from measured(f"package x stack x target, {changed}", contenders)
    gc.unfreeze()


def _measured(
    plan: Plan, benchmark: str, subject: str, contenders: Mapping[str, Prepare]
) -> list[Measurement]:
    expected = next(iter(contenders.values()))()()  # of the reference
    turns = {name: partial(_turn, prepare, expected) for name, prepare in contenders.items()}
    return measure(benchmark, subject, turns, unit="ms", rounds=plan.rounds)


def _turn(prepare: Prepare, expected: Mapping[str, int]) -> float:
    work = prepare()
    set_aside()
    results: list[Mapping[str, int]] = []
    elapsed = milliseconds(lambda: results.append(work()))
    if results != [expected]:
        raise SystemExit(f"found {results}, expected {expected}")
    return elapsed


class _Pair:
    """Two revisions, in the form that each contender uses."""

    def __init__(self, data: Data) -> None:
        self._data = data

    @property
    def num_changes(self) -> int:
        """Number of hashes that were added, removed or changed."""
        return len(self._load()[0].specs)

    def frames(self) -> Work:
        """Prepare the comparison of two frames."""
        frames = Library(self._data.opened()).frames  # as in servers, which share records
        base, head = map(frames.get, self._data.digests())

        def work() -> Mapping[str, int]:
            specs = Comparison(base, head).specs
            counts = {kind.value: specs.count(kind) for kind in SpecChangeKind}
            del counts[SpecChangeKind.CHANGED.value]  # sets of hashes do not show it
            return counts

        return work

    def sets(self) -> Work:
        """Prepare the difference of two sets."""
        frames = Library(self._data.opened()).frames
        base, head = (set(frames.get(digest).hashes.texts) for digest in self._data.digests())
        return lambda: {"added": len(head - base), "removed": len(base - head)}

    def explain(self) -> Work:
        """Prepare the explanation of a comparison."""
        loaded = self._load()

        def work() -> Mapping[str, int]:
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
        """Prepare the explanation by the model."""
        base, head = self._states()

        def work() -> Mapping[str, int]:
            pairs = counterparts(base, head)
            main = Causes(base, head, pairs).main
            reasons = added_reasons(base, head) | removed_reasons(base, head)
            return Counter(reasons.values()) | {"counterparts": len(main)}

        return work

    def cover(self) -> Work:
        """Prepare the coverage of a comparison."""
        comparison = self._load()[0]

        def work() -> Mapping[str, int]:
            table = coverage(comparison, _DIMENSIONS)
            return {kind.value: table.count(kind) for kind in CoverageChangeKind}

        return work

    def cover_naively(self) -> Work:
        """Prepare the coverage by the model."""
        base, head = self._states()

        def work() -> Mapping[str, int]:
            changes = cells.coverage(base, head, [dimension.value for dimension in _DIMENSIONS])
            return Counter("lost" if change.is_lost else "gained" for change in changes)

        return work

    def _load(self) -> tuple[Comparison, DependencyGraph, DependencyGraph]:
        base, head = self._data.digests()
        library = Library(self._data.opened())
        before, after = map(library.dependencies.get, (base, head))
        return library.comparisons.get((base, head)), before, after

    def _states(self) -> tuple[State, State]:
        """Return both revisions as new states of the model, without cached results."""
        base, head = (State(*records) for records in self._records)
        return base, head

    @cached_property
    def _records(self) -> list[tuple[list[Spec], list[Spec]]]:
        """The specs of both revisions, and those outside of them."""
        sizes: dict[str, Any] = {"packages": self._data.packages, "specs": self._data.specs}
        contents = (snapshot.content for snapshot in demo_histories.history(revisions=2, **sizes))
        return [([*content.specs()], [*content.outside.specs]) for content in contents]
