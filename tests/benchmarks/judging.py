"""``gate``: judge a comparison by 20 rules, beside a plain way over records and sets.

The comparison is made, and explained, before: who judges a comparison has mostly looked at it, and
other lines measure that. Both ways have to find as many breaches of each rule.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

from snapshots import demo
from snapshots.catalog.asking.judging import judged
from snapshots.catalog.asking.library import Library
from snapshots.changes.rules.measures import Judged
from snapshots.changes.rules.rules import Demand, Forbid, Forbidden, Limit, Only, Rule, read_amount
from snapshots.changes.rules.verdict import judge
from snapshots.models import Spec
from tests.benchmarks.measuring import Measurement, Target, measure, milliseconds, set_aside
from tests.benchmarks.plans import Plan
from tests.snapshots.changes.rules import plainly

TARGET = Target(300, of="median")
"""Milliseconds for all of the rules."""

_PLAINLY = "Python: records and sets"
_OURS = "cachelog: every breach counted"
_SCOPES = (Only(), Only(stack="e4s"), Only(except_packages=("py-*", "r-*")))
_LIMITS: tuple[tuple[Demand, Only], ...] = (
    (Limit("specs-removed", read_amount("5 %")), Only()),
    (Limit("specs-rebuilt", read_amount(100)), Only(stack="e4s")),
)


def _rules() -> list[Rule]:
    forbidding = ((Forbid(what), only) for only, what in product(_SCOPES, Forbidden))
    every: list[tuple[Demand, Only]] = [*forbidding, *_LIMITS]
    return [
        Rule(name=f"rule {number}", demand=demand, only=only)
        for number, (demand, only) in enumerate(every)
    ]


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure, and check that both ways agree."""
    before, after = plan.data.digests()
    library = Library(plan.data.opened())
    library.explain(before, after)
    what = judged(library, before, after)
    sizes: dict[str, Any] = {"packages": plan.data.packages, "specs": plan.data.specs}
    base, head = (list(it.content.specs()) for it in demo.history(revisions=2, **sizes))
    expected = _found_plainly(base, head)
    rules = _rules()
    yield from measure(
        "gate",
        f"{len(rules)} rules on a comparison of {plan.data.specs:,} specs",
        {
            _PLAINLY: partial(_plain_turn, base, head),
            _OURS: partial(_turn, rules, what, expected),
        },
        unit="ms",
        rounds=plan.rounds,
        targets={_OURS: TARGET},
    )


def _turn(rules: Sequence[Rule], what: Judged, expected: Sequence[int]) -> float:
    set_aside()
    found: list[int] = []

    def work() -> None:
        found.extend(len(it.breaches) for it in judge(rules, what).results)

    elapsed = milliseconds(work)
    if found[: len(expected)] != [*expected]:
        raise SystemExit(f"gate: found {found}, where {expected} was expected")
    return elapsed


def _plain_turn(base: Sequence[Spec], head: Sequence[Spec]) -> float:
    set_aside()
    return milliseconds(lambda: _found_plainly(base, head))


def _found_plainly(base: Sequence[Spec], head: Sequence[Spec]) -> list[int]:
    """Return how much of each kind happened, in each scope; the limits are left out."""
    found = []
    for only in _SCOPES:
        before, after = (plainly.in_scope(side, only, lambda _: True) for side in (base, head))
        found += [len(plainly.forbidden(it, before, after, only.stack)) for it in Forbidden]
    return found
