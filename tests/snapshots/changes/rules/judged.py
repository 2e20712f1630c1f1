"""What rules are judged over, made of records."""

from collections.abc import Sequence
from functools import cache

from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.rules.measures import Judged
from snapshots.changes.rules.rules import Demand, Only, Rule
from snapshots.changes.rules.verdict import RuleResult, Searched, finder, judge
from snapshots.contents import Content
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from tests.snapshots.factories import NAMES


def judged(base: Sequence[Spec] | None, head: Sequence[Spec]) -> Judged:
    """Return the comparison of two contents, or head alone, ready to be judged."""
    sides = [_loaded(specs) for specs in (base, head) if specs is not None]

    find = finder(sides[0] if base is not None else None, sides[-1], lambda: NAMES)
    if base is None:
        return Judged(sides[-1].frame, find)
    comparison = Comparison(sides[0].frame, sides[1].frame)

    @cache
    def why() -> Explanation:
        return explain(comparison, sides[0].load(), sides[1].load())

    return Judged(comparison.head, find, comparison, why)


def _loaded(specs: Sequence[Spec]) -> Searched:
    content = Content.of(specs)
    table = content.table()
    frame = Frame(table, content.digest)
    return Searched(frame, lambda: DependencyGraph(table, frame.hashes))


def judge_one(
    demand: Demand, base: Sequence[Spec] | None, head: Sequence[Spec], only: Only | None = None
) -> RuleResult:
    """Return what becomes of a rule."""
    rule = Rule(name="a rule", demand=demand, only=only or Only())
    (result,) = judge([rule], judged(base, head)).results
    return result
