"""The judgement of rules on a comparison: what ``cachelog gate`` says of it."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
import strawberry

from schema.comparisons.changes import LoadedComparison
from schema.comparisons.rule_input import MOST_RULES, RULES, RuleInput, RuleLevel, rules_of
from schema.context import Context, Info, LoadedRevision
from schema.execution.loading import NotLoaded
from schema.fields.cost import EXPLAINING, ITEMS_OF_PAGE, Cost, ItemsOf, NumberOf, texts
from schema.fields.many import Interleaved, LazyList, for_many
from schema.revisions.spec import Spec, SpecRows
from snapshots.changes.rules import verdict
from snapshots.changes.rules.measures import Judged
from snapshots.changes.rules.verdict import Searched, finder, judge
from snapshots.errors import InvalidArgument

BREACHES_DEFAULT = 50
"""How many breaches of a rule are listed unless a number is given."""

BREACHES_MAX = 1_000
"""How many breaches of a rule may be asked for."""

CHECK = Cost(weight=1_000, once=EXPLAINING, arguments={"rules": RULES}, page=ItemsOf("rules"))
"""Rules are judged; their argument says what each costs."""

BREACHES = Cost(weight=200, items=NumberOf("first", default=BREACHES_DEFAULT), each=100)
"""The first breaches of a rule, each of which looks for its specs."""


class BreachRows(LazyList["Breach"]):
    """Breaches of a rule; each becomes an object only where somebody asks for it."""

    def __init__(self, comparison: LoadedComparison, breaches: Sequence[verdict.Breach]) -> None:
        self.comparison = comparison
        self.breaches = breaches

    def __len__(self) -> int:
        return len(self.breaches)

    def __getitem__(self, place: Any) -> Any:
        return Breach(rows=BreachRows(self.comparison, [self.breaches[place]]))


def _specs(rows: BreachRows) -> Interleaved:
    """Return the first spec of each breach, of the side that it is of."""
    sides = rows.comparison.changes.base, rows.comparison.changes.head
    choices, numbers = [], ([], [])  # type: tuple[list[int], tuple[list[int], list[int]]]
    for breach in rows.breaches:
        if breach.rows is None or not len(breach.rows):
            choices.append(-1)
            continue
        side = 0 if breach.frame is sides[0] else 1
        choices.append(side)
        numbers[side].append(int(breach.rows[0]))
    loaded = rows.comparison.base, rows.comparison.head
    lists = [SpecRows(it, np.array(own, np.int32)) for it, own in zip(loaded, numbers, strict=True)]
    return Interleaved(lists, choices)


@strawberry.type(description="What breaks a rule.")
class Breach:
    """A breach: the only one of its rows."""

    rows: strawberry.Private[BreachRows]

    message: str = for_many(
        lambda rows: [it.message for it in rows.breaches], "In one line.", cost=texts(100)
    )
    package: str | None = for_many(
        lambda rows: [it.package for it in rows.breaches],
        "The package that it is about; null where it is not about a single one.",
    )
    num_specs: int = for_many(
        lambda rows: [it.num_specs for it in rows.breaches], "How many specs it is about."
    )
    spec: Spec | None = for_many(
        _specs,
        "The first of these specs, by package, newest version first: of base, or of head for what "
        "was added; null where it is in neither.",
    )

    def alone(self) -> BreachRows:
        """Return the list of this breach alone."""
        return self.rows


@strawberry.type(description="What became of a rule.")
class RuleResult:
    """The result of a rule on a comparison."""

    result: strawberry.Private[verdict.RuleResult]
    comparison: strawberry.Private[LoadedComparison]

    @strawberry.field(description="What the rule is called.")
    def name(self) -> str:
        return self.result.rule.name

    @strawberry.field(description="How much it weighs.")
    def level(self) -> RuleLevel:
        return self.result.rule.level

    @strawberry.field(description="Whether it holds.")
    def passed(self) -> bool:
        return self.result.passed

    @strawberry.field(description="What was found, in one line.", metadata=texts(100).metadata)
    def message(self) -> str:
        return self.result.message

    @strawberry.field(description="How many breaches there are.")
    def num_breaches(self) -> int:
        return len(self.result.breaches)

    @strawberry.field(description="The first breaches.", metadata=BREACHES.metadata)
    def breaches(
        self,
        first: Annotated[
            int, strawberry.argument(description=f"How many; {BREACHES_MAX:,} at most.")
        ] = BREACHES_DEFAULT,
    ) -> list[Breach]:
        if not 0 <= first <= BREACHES_MAX:
            raise InvalidArgument("first", f"{first} is not from 0 to {BREACHES_MAX:,}")
        shown = list(self.result.breaches[:first])
        return BreachRows(self.comparison, shown)  # type: ignore[return-value]


@strawberry.type(description="The judgement of rules on a comparison.")
class CheckReport:
    """What became of some rules."""

    verdict: strawberry.Private[verdict.Verdict]
    comparison: strawberry.Private[LoadedComparison]

    @strawberry.field(description="Whether no rule of level ERROR is broken.")
    def passed(self) -> bool:
        return self.verdict.passed

    @strawberry.field(
        description="What became of each rule, in the order that they were given in.",
        metadata=Cost(items=ITEMS_OF_PAGE).metadata,
    )
    def rules(self) -> list[RuleResult]:
        return [RuleResult(result=it, comparison=self.comparison) for it in self.verdict.results]


def check(info: Info, comparison: LoadedComparison, given: Sequence[RuleInput]) -> CheckReport:
    """Judge a comparison by rules.

    Raises InvalidArgument for rules that are none or too many, and RuleUnusable for one that what
    is there cannot answer.
    """
    context = info.context
    if len(given) > MOST_RULES:
        raise InvalidArgument("rules", f"there are {len(given):,}; there may be {MOST_RULES}")
    rules = rules_of(given)
    if not context.may_take_long:
        raise NotLoaded  # a rule takes up to 50 ms
    base, head = comparison.base, comparison.head
    find = finder(_searched(base), _searched(head), partial(_names_elsewhere, context))
    what = Judged(head.frame, find, comparison.changes, comparison.explanation)
    return CheckReport(verdict=judge(rules, what, context.budget.check), comparison=comparison)


def _searched(loaded: LoadedRevision) -> Searched:
    return Searched(loaded.frame, loaded.dependencies)


def _names_elsewhere(context: Context) -> frozenset[str]:
    context.is_permanent = False
    if not context.may_load:
        raise NotLoaded  # this can take reading the whole catalog
    return context.library.package_names()
