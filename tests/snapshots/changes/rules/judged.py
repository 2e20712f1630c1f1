"""What rules are judged over, made of records."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.rules.judging import judge
from snapshots.changes.rules.records import Demand, Only, Rule
from snapshots.changes.rules.scopes import Judged
from snapshots.changes.rules.verdict import RuleResult
from snapshots.contents import Content
from snapshots.frames import matching
from snapshots.frames.columns import Mask
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import Spec


def judged(base: Sequence[Spec] | None, head: Sequence[Spec]) -> Judged:
    """Return the comparison of two contents, or head alone, ready to be judged."""
    sides = [_loaded(specs) for specs in (base, head) if specs is not None]

    def find(query: str) -> tuple[Mask | None, Mask]:
        asked = matching.read(query)
        masks = [matching.select(it.frame, asked, it.dependencies) for it in sides]
        return (masks[0] if base is not None else None), masks[-1]

    if base is None:
        return Judged(sides[-1].frame, find)
    comparison = Comparison(sides[0].frame, sides[1].frame)

    @cache
    def why() -> Explanation:
        return explain(comparison, sides[0].graph, sides[1].graph)

    return Judged(comparison.head, find, comparison, why)


class _Side(NamedTuple):
    frame: Frame
    graph: DependencyGraph

    def dependencies(self) -> DependencyGraph:
        """Return the graph, as one that is loaded on demand."""
        return self.graph


def _loaded(specs: Sequence[Spec]) -> _Side:
    content = Content.of(specs)
    table = content.table()
    frame = Frame(table, content.digest)
    return _Side(frame, DependencyGraph(table, frame.hashes))


def judge_one(
    demand: Demand, base: Sequence[Spec] | None, head: Sequence[Spec], only: Only | None = None
) -> RuleResult:
    """Return what becomes of a rule."""
    rule = Rule(name="a rule", demand=demand, only=only or Only())
    (result,) = judge([rule], judged(base, head)).results
    return result
