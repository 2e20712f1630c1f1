"""Gates: rules as arguments, and the verdict on a comparison, as by ``cachelog gate``.

The field is named ``check``; what ``cachelog check`` prints is ``Revision.lookup``.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
import strawberry

from schema.comparisons.changes import LoadedComparison, PartRows
from schema.context import Info
from schema.fields import cost, gql, many, relay
from schema.revisions.lookup import ConcreteSpecInput, concrete_specs
from schema.revisions.spec import SpecRows, SpecType
from snapshots.changes.rules.rules import (
    KEYS,
    KINDS,
    BadRule,
    Rule,
    RuleLevel,
    RuleResult,
    Verdict,
    judge,
    read_rule,
    shown,
)
from snapshots.errors import InvalidArgument
from snapshots.models import ConcreteSpec
from snapshots.texts import shortened

MAX_RULES_IN_REQUEST = 50
"""Maximum number of rules in a request."""

gql.describe_enum(RuleLevel)


RuleKind = Enum(  # type: ignore[misc] # its members follow from the kinds
    "RuleKind", {key.upper(): key for key in KINDS}
)
gql.describe_enum(
    RuleKind,
    description="The kind of requirement of a rule.",
    **{key.upper(): (kind.__doc__ or "").partition("\n")[0] for key, kind in KINDS.items()},
)


def rules_of(values: Sequence[Any]) -> list[Rule]:
    """Return the rules of a request: objects with the keys of a rules file, in which ``cover`` is
    a list of concrete specs.

    Raises InvalidArgument with the path of an invalid value.
    """
    rules = []
    for number, value in enumerate(values):
        place = f"rules[{number}]"
        if not isinstance(value, dict):
            raise InvalidArgument(place, f"{shown(value)} is not an object with the keys of a rule")
        if len(value) > len(KEYS):
            raise InvalidArgument(place, f"has {len(value):,} keys; there are {len(KEYS)}")
        try:
            rules.append(_read(gql.without_undefined(value)))
        except BadRule as bad:
            fault, *others = bad.faults
            more = f" (and {len(others)} more)" if others else ""
            place += "" if fault.key is None else f".{shortened(fault.key, 40)}"
            raise InvalidArgument(place, f"{fault.reason}{more}") from None
    return rules


def _read(values: Mapping[str, Any]) -> Rule:
    def load(_title: str) -> Sequence[ConcreteSpec]:
        specs = values["cover"]
        if not isinstance(specs, list):
            raise ValueError(f"{shown(specs)} is not a list of concrete specs")
        try:
            return concrete_specs([_spec(number, spec) for number, spec in enumerate(specs)])
        except InvalidArgument as error:
            raise ValueError(str(error)) from None

    given_list = {"cover": "the given list"} if "cover" in values else {}
    return read_rule({**values, **given_list}, load)


def _spec(number: int, value: Any) -> ConcreteSpecInput:
    try:
        return gql.read_input(ConcreteSpecInput, value)
    except ValueError as error:
        raise InvalidArgument(f"specs[{number}]", str(error)) from None


BREACHES_DEFAULT = 50
"""Default number of breaches in the list of a rule."""

GATE = cost.Cost(weight=1_000, work=cost.Work.EXPLAINING, values=5_000, inner_values=300)
"""Evaluating rules; the budget is checked before each."""


def _specs(rows: PartRows[Any]) -> many.NullableObjects:
    """The first of these specs, ordered by package, newest version first: in base, or in head for
    additions; null if it is in neither.
    """
    choices, firsts = [], ([], [])  # type: tuple[list[int], tuple[list[int], list[int]]]
    for breach in rows.records:
        has_specs = breach.rows is not None and len(breach.rows) > 0
        choices.append(int(breach.frame is not rows.comparison.changes.base) if has_specs else -1)
        if has_specs:
            firsts[choices[-1]].append(int(breach.rows[0]))
    sides = zip((rows.comparison.before, rows.comparison.after), firsts, strict=True)
    lists = [SpecRows(side, np.array(own, np.int32)) for side, own in sides]
    return many.NullableObjects(lists, choices)


@gql.object_type
class BreachType(many.ListedRecord):
    """A breach of a rule.

    - message: A description of the breach, in one line.
    - package_name: The package that it concerns; null if it does not concern a single package.
    - num_specs: Number of specs that it concerns.
    """

    message: str = many.of_record("message")
    package_name: str | None = many.of_record("package")
    num_specs: int = many.of_record("num_specs")
    spec: SpecType | None = many.for_many(_specs)


@gql.object_type
class RuleResultType:
    """The result of a rule.

    - name: The name of the rule.
    - kind: The kind of the rule.
    - level: The level of the rule.
    - has_passed: Whether the rule is satisfied.
    - message: A description of the result, in one line.
    - num_breaches: Number of breaches.
    """

    result: strawberry.Private[RuleResult]
    comparison: strawberry.Private[LoadedComparison]

    name = many.attribute("result.rule.name", str)
    kind = many.attribute("result.rule.key", RuleKind, make=RuleKind)
    level = many.attribute("result.rule.level", RuleLevel)
    has_passed = many.attribute("result.passed", bool)
    message = many.attribute("result.message", str)
    num_breaches = many.attribute("result.breaches", int, make=len)

    @cost.resolver(cost.SMALL)
    def breaches(self, first: relay.FirstArgument = BREACHES_DEFAULT) -> list[BreachType] | None:
        """The first breaches of the rule."""
        relay.check_size("first", first)
        shown = list(self.result.breaches[:first])
        return PartRows(BreachType, self.comparison, shown)  # type: ignore[return-value]


@gql.object_type
class CheckReport:
    """The results of rules on a comparison.

    - has_passed: Whether all rules of level ERROR are satisfied.
    """

    verdict: strawberry.Private[Verdict]
    comparison: strawberry.Private[LoadedComparison]

    has_passed = many.attribute("verdict.passed", bool)

    @cost.resolver()
    def rules(self) -> list[RuleResultType]:
        """The result of each rule, in the given order."""
        return [
            RuleResultType(result=result, comparison=self.comparison)
            for result in self.verdict.results
        ]


def evaluate(info: Info, comparison: LoadedComparison, values: Sequence[Any]) -> CheckReport:
    """Evaluate rules on a comparison.

    Raises InvalidArgument for invalid or too many rules, and RuleUnusable for a rule that cannot be
    evaluated with the available data.
    """
    context = info.context
    if len(values) > MAX_RULES_IN_REQUEST:
        raise InvalidArgument(
            "rules", f"there are {len(values):,}; there may be {MAX_RULES_IN_REQUEST}"
        )
    rules = rules_of(values)
    context.require_time()  # a rule takes up to 50 ms
    rule_context = comparison.rule_context(context.names_elsewhere)
    return CheckReport(
        verdict=judge(rules, rule_context, context.budget.check), comparison=comparison
    )
