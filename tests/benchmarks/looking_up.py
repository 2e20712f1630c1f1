"""``lookup``: 1,500 specs of a lock file in one revision, and in a hundred, beside plain ways.

In one the plain way is to put its hashes into a set and ask that; in many, to read the hashes of
one after the other and look for the wanted ones. All ways have to find as many. One revision is in
memory, as a frame and as texts; of the hundred nothing is, but where a line says so. What is
nearest to missing specs is measured with all of them missing.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random

from snapshots.catalog.asking.covering import best_covering, candidates
from snapshots.catalog.asking.library import Library
from snapshots.catalog.catalog import Catalog
from snapshots.changes.lookup import Lookup, Wanted
from snapshots.frames.frame import Frame
from snapshots.models import ConcreteSpec
from tests.benchmarks.measuring import Measurement, Target, measure, milliseconds, set_aside
from tests.benchmarks.plans import Plan
from tests.benchmarks.years import catalog_of_years

ONE_TARGET, ALL_TARGET = Target(50, of="median"), Target(2_000, of="median")
"""Milliseconds."""

NUM_WANTED, NUM_REVISIONS = 1_500, 100

_PLAINLY = "Python: a set of all hashes"
_ONE_BY_ONE = "Arrow: one after the other"
_NEAREST = "cachelog: all missing, with what is nearest and differs"
_OURS = "cachelog: found and missing"
_COLD, _WARM = "cachelog: the first time", "cachelog: others asked before"
_FACTS = [name for name in ConcreteSpec.__struct_fields__ if name != "is_root"]

Found = Callable[[], object]


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure, and check that all ways agree."""
    yield from _in_one(plan)
    yield from _in_all(plan)


def _in_one(plan: Plan) -> Iterator[Measurement]:
    base, head = map(Library(plan.data.opened()).frames.get, plan.data.digests())
    texts = head.hashes.texts
    wanted = _some(base, range(len(base)))
    gone = [row for row, text in enumerate(base.hashes.texts) if head.hashes.find(text) is None]
    missing = _some(base, gone)
    expected = len({spec.hash for spec in wanted}.intersection(texts))

    def plainly() -> int:
        return len(set(texts).intersection([spec.hash for spec in wanted]))

    def ours() -> int:
        return Lookup(Wanted(wanted), head).num_found

    def nearest() -> int:
        found = Lookup(Wanted(missing), head)
        num_missing = len([found.differences(number) for number in range(len(found.missing))])
        return found.num_found + expected * (num_missing == len(missing))

    contenders = {_PLAINLY: plainly, _OURS: ours, _NEAREST: nearest}
    yield from measure(
        "lookup",
        f"{len(wanted):,} specs in a revision of {len(head):,}",
        {name: partial(_turn, work, expected) for name, work in contenders.items()},
        unit="ms",
        rounds=plan.rounds,
        targets={_OURS: ONE_TARGET, _NEAREST: ONE_TARGET},
    )


def _in_all(plan: Plan) -> Iterator[Measurement]:
    num_revisions = min(NUM_REVISIONS, plan.revisions)
    folder = catalog_of_years(plan.data.cache, revisions=num_revisions, specs=plan.data.specs)
    catalog = Catalog(str(folder))
    revisions = candidates(catalog.require_history(), "develop")
    frame = catalog.load(revisions[len(revisions) // 2].digest)
    wanted = Wanted(_some(frame, range(len(frame))))
    texts = [spec.hash for spec in wanted.specs]
    warm = Library(catalog)

    def plainly() -> list[int]:
        digests = dict.fromkeys(it.digest for it in revisions)
        held = {it: len(catalog.hashes_in([it], texts)) for it in digests}
        return sorted(held[it.digest] for it in revisions)

    def ours(library: Library | None = None) -> list[int]:
        found = best_covering(library or Library(catalog), revisions, wanted)
        return sorted(it.num_found for it in found)

    expected = plainly()
    contenders: dict[str, Found] = {
        _ONE_BY_ONE: plainly,
        _COLD: ours,
        _WARM: partial(ours, warm),
    }
    yield from measure(
        "lookup",
        f"{len(wanted):,} specs in {len(revisions)} revisions of {plan.data.specs:,}",
        {name: partial(_turn, work, expected) for name, work in contenders.items()},
        unit="ms",
        rounds=plan.rounds,
        targets={_COLD: ALL_TARGET, _WARM: ALL_TARGET},
    )


def _some(frame: Frame, rows: Sequence[int]) -> list[ConcreteSpec]:
    """Return specs of a frame, some of the rows, as they are wanted."""
    chosen = Random(1).sample(rows, min(NUM_WANTED, len(rows)))
    return [
        ConcreteSpec(**{name: getattr(spec, name) for name in _FACTS}, is_root=number % 10 == 0)
        for number, spec in enumerate(map(frame.spec, chosen))
    ]


def _turn(work: Found, expected: object) -> float:
    set_aside()
    found: list[object] = []
    elapsed = milliseconds(lambda: found.append(work()))
    if found != [expected]:
        raise SystemExit(f"lookup: found {found}, where {expected} was expected")
    return elapsed
