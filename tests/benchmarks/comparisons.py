"""``compare``: two revisions in memory, hash by hash, beside other ways to find what changed.

Every turn gets data of its own that nothing was asked of before, since later comparisons of the
same revisions find much of the work done. To make that data does not count. All ways have to find
the same numbers of changes; those that look at hashes alone find fewer kinds.
"""

import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.frames.frame import Frame
from tests.benchmarks.measurements import (
    Measurement,
    Target,
    Turn,
    measure,
    milliseconds,
    set_aside,
)
from tests.benchmarks.plans import Plan


class Found(NamedTuple):
    """How many hashes were added, removed and changed; None where a way does not look at facts."""

    added: int
    removed: int
    changed: int | None


Compare = Callable[[], Found]


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure, and check that all contenders agree."""
    catalog = plan.data.opened()
    pair = _Pair(catalog, *plan.data.digests())
    ours = "cachelog: the first comparison, with facts"
    prepared: dict[str, Callable[[], Compare]] = {
        "Python: difference of two sets of hashes": pair.of_sets,
        ours: pair.of_frames,
    }
    contenders = {name: _checked(name, make, pair.expected) for name, make in prepared.items()}
    yield from measure(
        "compare",
        f"two loaded revisions of {plan.data.specs:,} specs",
        contenders,
        unit="ms",
        rounds=plan.rounds,
        targets={ours: Target(1)},
    )
    gc.unfreeze()


def _checked(name: str, prepare: Callable[[], Compare], expected: Found) -> Turn:
    def turn() -> float:
        compare = prepare()
        set_aside()
        found: list[Found] = []
        elapsed = milliseconds(lambda: found.append(compare()))
        (only,) = found
        if only not in (expected, expected._replace(changed=None)):
            raise SystemExit(f"{name} finds {only}, cachelog finds {expected}")
        return elapsed

    return turn


class _Pair:
    """Two revisions, in the form that each contender takes them."""

    def __init__(self, catalog: Catalog, base: str, head: str) -> None:
        self._catalog = catalog
        self._digests = base, head
        self.expected = _found(*self._load())

    def _load(self) -> tuple[Frame, Frame]:
        frames = Library(self._catalog).frames  # as servers have them, which share records
        base, head = map(frames.get, self._digests)
        return base, head

    def of_frames(self) -> Compare:
        return partial(_found, *self._load())

    def of_sets(self) -> Compare:
        base, head = (set(frame.hashes.texts) for frame in self._load())
        return lambda: Found(len(head - base), len(base - head), None)


def _found(base: Frame, head: Frame) -> Found:
    comparison = Comparison(base, head)
    added, removed, changed = (comparison.specs.count(kind) for kind in SpecChangeKind)
    return Found(added, removed, changed)
