"""A rule from the values of its keys, with every fault that there is.

What reads files and what takes rules from a request share this, so that both allow the same.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from snapshots.changes.rules.amounts import Amount, Unit, read_amount
from snapshots.changes.rules.keys import COMMON, KEYS, KINDS, NEEDED
from snapshots.changes.rules.measures import MEASURES
from snapshots.changes.rules.records import (
    Cover,
    Demand,
    Forbid,
    Forbidden,
    Limit,
    Only,
    Require,
    Rule,
    RuleLevel,
)
from snapshots.models import ConcreteSpec
from snapshots.wording import nearest_hint, nearest_names, quoted

MOST_RULES = 500
"""How many rules a file may have."""

ALL = read_amount("100 %")
"""How much of a lock file must be there where a rule does not say it."""


class Fault(NamedTuple):
    """What is wrong with a rule; ``key`` is None where it is none of its keys."""

    key: str | None
    reason: str


class BadRule(Exception):
    """A rule that cannot be read, with all of its faults."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        super().__init__(faults)


class CoveredSpecs(NamedTuple):
    """The concrete specs that a lock file asks for, and how the file is called."""

    title: str
    wanted: tuple[ConcreteSpec, ...]


_COUNTS = {name for name, measure in MEASURES.items() if not measure.is_size}

Covered = Callable[[Any], CoveredSpecs]
"""Reads what ``cover`` names; raises ValueError with what is wrong."""


def read_rule(keys: Mapping[str, Any], covered: Covered, *, line: int | None = None) -> Rule:
    """Return the rule that some keys with values are; raises BadRule with everything wrong."""
    kinds = [key for key in KINDS if key in keys]
    faults = [_unknown(key) for key in keys if key not in KEYS]
    if len(kinds) > 1 or not (kinds or faults):
        every = ", ".join(KINDS)
        told = f"has {' and '.join(kinds)}" if kinds else "asks for nothing"
        faults.append(Fault(None, f"the rule {told}: each rule has exactly one of {every}"))
    if "name" not in keys:
        faults.append(Fault("name", "is missing: each rule has a name"))
    for kind in kinds[:1]:
        faults += _misplaced(keys, kind) if len(kinds) == 1 else ()
    values: dict[str, Any] = {}
    for key, value in keys.items():
        if key in KEYS:
            try:
                values[key] = KEYS[key].read(value)
            except ValueError as error:
                faults.append(Fault(key, str(error)))
    faults += _mismatched(values)
    if not faults and "cover" in values:
        try:
            values["cover"] = covered(values["cover"])
        except ValueError as error:
            faults.append(Fault("cover", str(error)))
    if faults:
        raise BadRule(faults)
    return Rule(
        name=values["name"],
        level=values.get("level", RuleLevel.ERROR),
        demand=_demand(kinds[0], values),
        only=Only(
            stack=values.get("stack"),
            packages=values.get("package", ()),
            matching=values.get("matching"),
            except_packages=values.get("except", ()),
        ),
        line=line,
    )


def _unknown(key: str) -> Fault:
    hint = nearest_hint(nearest_names(key, KEYS, most=1))
    return Fault(key, f"is no key of a rule{hint}; it may have {', '.join(KEYS)}")


def _misplaced(keys: Mapping[str, Any], kind: str) -> list[Fault]:
    """Return the keys that a rule of a kind cannot have, and the one that it lacks."""
    allowed = (*COMMON, kind, *KINDS[kind])
    misplaced = [key for key in keys if key in KEYS and key not in allowed]
    faults = [
        Fault(key, f"does not go with {kind}, which goes with {', '.join(KINDS[kind])}")
        for key in misplaced
    ]
    needed = NEEDED.get(kind)
    if needed is not None and needed not in keys:
        faults.append(Fault(needed, f"is missing: {kind} needs it"))
    return faults


def _mismatched(values: Mapping[str, Any]) -> list[Fault]:
    """Return the values that do not go with each other."""
    forbidden, measure, most = (values.get(it) for it in ("forbid", "limit", "at-most"))
    faults = []
    if "for-each" in values and forbidden not in (None, Forbidden.COVERAGE_LOST):
        reason = f"goes with forbid = {quoted(Forbidden.COVERAGE_LOST.value)} or with require alone"
        faults.append(Fault("for-each", reason))
    if isinstance(most, Amount) and most.unit is Unit.BYTES and measure in _COUNTS:
        reason = f"{quoted(most.text)} is a size; {measure} takes a number (100) or a percentage"
        faults.append(Fault("at-most", f'{reason} ("5 %")'))
    return faults


def _demand(kind: str, values: Mapping[str, Any]) -> Demand:
    match kind:
        case "forbid":
            return Forbid(values["forbid"], values.get("for-each"))
        case "require":
            return Require(values["require"], values.get("for-each", ()))
        case "limit":
            return Limit(values["limit"], values["at-most"])
    covered: CoveredSpecs = values["cover"]
    return Cover(covered.title, covered.wanted, values.get("at-least", ALL))
