"""Judging rules over small contents."""

from collections.abc import Sequence
from functools import cache

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.rules.measures import RuleContext, RuleScope, Searched
from snapshots.changes.rules.rules import (
    DIMENSIONS,
    Dimensions,
    Forbid,
    Forbidden,
    Limit,
    PackageQuery,
    Require,
    Rule,
    RuleResult,
    judge,
)
from snapshots.models import Spec
from tests.snapshots.changes.graphs import side_of
from tests.snapshots.factories import NAMES


def rule_context(base: Sequence[Spec] | None, head: Sequence[Spec]) -> RuleContext:
    """Return the comparison of two contents, or head alone, ready to be judged."""
    sides = [_loaded(specs) for specs in (base, head) if specs is not None]
    if base is None:
        return RuleContext(None, sides[-1], lambda: NAMES)
    comparison = Comparison(sides[0].frame, sides[1].frame)

    @cache
    def why() -> Explanation:
        return explain(comparison, sides[0].load(), sides[1].load())

    return RuleContext(sides[0], sides[1], lambda: NAMES, comparison, why)


def _loaded(specs: Sequence[Spec]) -> Searched:
    side = side_of(specs)
    return Searched(side.frame, lambda: side.graph)


def forbid(change: Forbidden, dimensions: Sequence[CoverageDimension] = ()) -> Forbid:
    """Return a rule that forbids a kind of change."""
    return Forbid(name="a rule", forbid=change, for_each=_dimensions(dimensions))


def require(query: str, dimensions: Sequence[CoverageDimension] = ()) -> Require:
    """Return a rule that requires a match of a query."""
    rule = Require(name="a rule", require=PackageQuery(query))
    return replace(rule, for_each=_dimensions(dimensions))


def limit(measure: str, at_most: int | str) -> Limit:
    """Return a rule that limits a count."""
    return Limit(name="a rule", limit=measure, at_most=at_most)


def _dimensions(dimensions: Sequence[CoverageDimension]) -> Dimensions | UnsetType:
    names = [name for name, value in DIMENSIONS.items() if value in dimensions]
    return Dimensions(names) if names else UNSET


def judge_one(
    rule: Rule, base: Sequence[Spec] | None, head: Sequence[Spec], scope: RuleScope | None = None
) -> RuleResult:
    """Return the result of a rule, optionally about some specs only."""
    if scope is not None:
        rule = type("Narrowed", (type(rule),), {"scope": scope})(**asdict(rule))
    (result,) = judge([rule], rule_context(base, head)).results
    return result
