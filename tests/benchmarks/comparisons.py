"""``compare``: two revisions in memory, hash by hash, beside other ways to find what changed.

Every turn gets data of its own that nothing was asked of before, since later comparisons of the
same revisions find much of the work done. To make that data does not count. All ways have to find
the same numbers of changes; those that look at hashes alone find fewer kinds.
"""

import gc
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK
from tests.benchmarks.measurements import (
    Measurement,
    Target,
    Turn,
    measure,
    milliseconds,
    set_aside,
)
from tests.benchmarks.plans import Plan

Record = dict[str, Any]


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
    prepared: dict[str, Callable[[], Compare]] = {
        "Python: difference of two sets of hashes": pair.of_sets,
        "Python: make the sets from lists, difference": pair.of_lists,
        "Python: dicts of hashes to tuples of facts": pair.of_dicts,
    }
    if find_spec("polars"):
        prepared["polars: anti-joins of hashes, facts compared"] = pair.of_polars
    else:
        plan.notes.append("polars is not installed, so it is left out: pip install cachelog[bench]")
    ours = "cachelog: the first comparison, with facts"
    prepared[ours] = pair.of_frames
    prepared["cachelog: the same revisions again"] = pair.of_known_frames
    contenders = {name: _checked(name, make, pair.expected) for name, make in prepared.items()}
    size = min(plan.deepdiff_specs, plan.data.specs)
    scale = plan.data.specs / size
    contenders[f"deepdiff: {size:,} specs, time x {scale:g}"] = pair.deepdiff(size, scale)
    plan.notes.append(
        f"deepdiff compares {size:,} specs of each revision; its time is multiplied by "
        f"{scale:g}, as if it grew in proportion"
    )
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
        self._known = self._load()
        self.expected = _found(*self._known)

    def _load(self) -> tuple[Frame, Frame]:
        frames = Library(self._catalog).frames  # as servers have them, which share records
        base, head = map(frames.get, self._digests)
        return base, head

    @cached_property
    def _records(self) -> tuple[list[Record], list[Record]]:
        base, head = self._known
        return _records(base), _records(head)

    @cached_property
    def _tables(self) -> tuple[Any, Any]:
        polars = import_module("polars")
        base, head = self._records
        return polars.DataFrame(base), polars.DataFrame(head)

    def of_frames(self) -> Compare:
        return partial(_found, *self._load())

    def of_known_frames(self) -> Compare:
        return partial(_found, *self._known)

    def of_lists(self) -> Compare:
        base, head = (frame.hashes.texts for frame in self._load())

        def compare() -> Found:
            before, after = set(base), set(head)
            return Found(len(after - before), len(before - after), None)

        return compare

    def of_sets(self) -> Compare:
        base, head = (set(frame.hashes.texts) for frame in self._load())
        return lambda: Found(len(head - base), len(base - head), None)

    def of_dicts(self) -> Compare:
        base, head = (
            {record["hash"]: tuple(record.values()) for record in records}
            for records in self._records
        )

        def compare() -> Found:
            before, after = base.keys(), head.keys()
            changed = sum(base[digest] != head[digest] for digest in before & after)
            return Found(len(after - before), len(before - after), changed)

        return compare

    def of_polars(self) -> Compare:
        polars = import_module("polars")
        base, head = self._tables
        facts = [name for name in base.columns if name != "hash"]
        differs = [polars.col(name).ne_missing(polars.col(f"{name}_after")) for name in facts]

        def compare() -> Found:
            added = head.join(base, on="hash", how="anti")
            removed = base.join(head, on="hash", how="anti")
            both = base.join(head, on="hash", how="inner", suffix="_after")
            changed = both.filter(polars.any_horizontal(differs))
            return Found(added.height, removed.height, changed.height)

        return compare

    def deepdiff(self, size: int, scale: float) -> Turn:
        from deepdiff import DeepDiff

        base, head = (
            {record["hash"]: record for record in records[:size]} for records in self._records
        )

        def turn() -> float:
            set_aside()
            return scale * milliseconds(lambda: DeepDiff(base, head))

        return turn


def _found(base: Frame, head: Frame) -> Found:
    comparison = Comparison(base, head)
    added, removed, changed = (comparison.specs.count(kind) for kind in SpecChangeKind)
    return Found(added, removed, changed)


def _records(frame: Frame) -> list[Record]:
    """Return every spec with all its facts, without what cachelog does not count as a change."""
    records = []
    for row in range(len(frame)):
        record = msgspec.structs.asdict(frame.spec(row))
        record["stacks"] = [stack for stack in record["stacks"] if stack != ROOT_STACK]
        records.append(record)
    return records
