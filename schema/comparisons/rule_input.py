"""Rules as arguments: as a file of rules has them, in the terms of GraphQL."""

from collections.abc import Mapping, Sequence
from typing import Any

import strawberry

from schema.comparisons.coverage_dimension import CoverageDimension
from schema.documents.argument_values import num_parts
from schema.fields.cost import ArgumentCost
from schema.fields.enums import describe_enum
from schema.fields.scalars import none_if_omitted
from schema.revisions.concrete_spec import CONCRETE_SPECS, ConcreteSpecInput, concrete_specs
from snapshots.changes.rules.keys import BadRule, CoveredSpecs, read_rule
from snapshots.changes.rules.rules import Rule, RuleLevel
from snapshots.errors import InvalidArgument

__all__ = ["MOST_RULES", "RULES", "RuleInput", "RuleLevel", "rules_of"]

MOST_RULES = 50
"""How many rules a request may judge by."""

_UNSET = strawberry.UNSET

describe_enum(
    RuleLevel,
    "How much a broken rule weighs.",
    {
        RuleLevel.ERROR: "It refuses what is judged.",
        RuleLevel.WARNING: "It is only told.",
    },
)


@strawberry.input(
    description="A rule, as a file of `cachelog gate` has it; docs/gates.md says what each means. "
    "It has exactly one of forbid, require, limit and cover."
)
class RuleInput:
    """A rule of a request."""

    name: str = strawberry.field(description="What it is called, in all that is told of it.")
    level: RuleLevel = strawberry.field(default=RuleLevel.ERROR, description="How much it weighs.")
    forbid: str | None = strawberry.field(
        default=_UNSET,
        description="What may not have happened: package-removed, package-downgraded, "
        "version-removed, stack-removed, coverage-lost, spec-removed.",
    )
    require: str | None = strawberry.field(
        default=_UNSET,
        description="A query in Spack's language that names a package: head must have a match.",
    )
    for_each: list[CoverageDimension] | None = strawberry.field(
        default=_UNSET,
        description="With require, for each of these that base had one for; with coverage-lost, "
        "what packages are looked at in combination with.",
    )
    limit: str | None = strawberry.field(
        default=_UNSET,
        description="A count of the summary (specs-removed ...), or size-removed, size-added.",
    )
    at_most: str | None = strawberry.field(
        default=_UNSET, description="The limit: a number, 5 % of what base has, or 20 GiB."
    )
    cover: list[ConcreteSpecInput] | None = strawberry.field(
        default=_UNSET, description="Concrete specs, as a lock file has them: head must hold them."
    )
    at_least: str | None = strawberry.field(
        default=_UNSET, description="How many of them: a number, or 98 %; all unless given."
    )
    stack: str | None = strawberry.field(default=_UNSET, description="Only specs of this stack.")
    packages: list[str] | None = strawberry.field(
        default=_UNSET, description="Only these packages: names or globs."
    )
    matching: str | None = strawberry.field(
        default=_UNSET, description="Only specs that this query in Spack's language matches."
    )
    except_: list[str] | None = strawberry.field(
        name="except", default=_UNSET, description="Not these packages: names or globs."
    )


_KEYS = {
    "forbid": "forbid",
    "require": "require",
    "for-each": "for_each",
    "limit": "limit",
    "at-most": "at_most",
    "cover": "cover",
    "at-least": "at_least",
    "stack": "stack",
    "package": "packages",
    "matching": "matching",
    "except": "except_",
}
"""What a key of a file is called here; name and level are always given."""

_SHOWN = {"for-each": "forEach", "at-most": "atMost", "at-least": "atLeast", "package": "packages"}
_GIVEN = "the given list"


def rules_of(given: Sequence[RuleInput]) -> list[Rule]:
    """Return rules as they are judged. Raises InvalidArgument with the place of what is wrong."""
    rules = []
    for number, rule in enumerate(given):
        try:
            rules.append(_read(rule))
        except BadRule as bad:
            key, reason = bad.faults[0]
            more = f" (and {len(bad.faults) - 1} more)" if len(bad.faults) > 1 else ""
            field = "" if key is None else f".{_SHOWN.get(key, key)}"
            raise InvalidArgument(f"rules[{number}]{field}", f"{reason}{more}") from None
    return rules


def _read(rule: RuleInput) -> Rule:
    keys: dict[str, Any] = {"name": rule.name, "level": rule.level.value}
    for key, field in _KEYS.items():
        value = none_if_omitted(getattr(rule, field))
        if value is not None:
            keys[key] = value
    if "for-each" in keys:
        keys["for-each"] = [it.value.replace("_", "-") for it in keys["for-each"]]
    specs = keys.get("cover", [])
    if "cover" in keys:
        keys["cover"] = _GIVEN

    def covered(title: str) -> CoveredSpecs:
        try:
            return CoveredSpecs(title, tuple(concrete_specs(specs)))
        except InvalidArgument as error:
            raise ValueError(str(error)) from None

    return read_rule(keys, covered)


def _weigh(given: Any) -> float:
    """Return what judging by some rules costs, in thousands of units.

    Of the largest revisions a narrowed rule takes up to 6 ms, once for all that are narrowed alike;
    a query some 2 ms for each package in it, cells 10 ms and more with each dimension, a glob half
    a millisecond.
    """
    rules = [it for it in (given if isinstance(given, list) else [given]) if isinstance(it, dict)]
    scopes = {repr([rule.get(name) for name in _NARROWING]): rule for rule in rules}
    return sum(map(_weigh_demand, rules)) + sum(map(_weigh_scope, scopes.values()))


_NARROWING = ("stack", "packages", "matching", "except")


def _weigh_scope(rule: Mapping[str, Any]) -> float:
    """Return what finding the specs that a rule is about costs."""
    if not any(rule.get(name) for name in _NARROWING):
        return 0
    globs = _size(rule, "packages") + _size(rule, "except")
    return 25 + 3 * globs + _weigh_query(rule.get("matching"))


def _weigh_demand(rule: Mapping[str, Any]) -> float:
    """Return what a rule costs once its specs are found."""
    cells = 50 if "coverage" in f"{rule.get('forbid')} {rule.get('limit')}" else 0
    specs = CONCRETE_SPECS.each * _size(rule, "cover") / 1_000
    return 5 + cells + 25 * _size(rule, "forEach") + specs + _weigh_query(rule.get("require"))


def _weigh_query(query: Any) -> float:
    return 10 * (1 + num_parts(query)) if isinstance(query, str) else 0


def _size(rule: Mapping[str, Any], name: str) -> int:
    value = rule.get(name)
    return len(value) if isinstance(value, list) else 0


RULES = ArgumentCost(each=1_000, parts=_weigh)
"""What the rules cost that a comparison is judged by."""
