"""The keys of a rule: what each may hold, how a rule is read from them, and their JSON schema.

What reads files and what takes rules from a request share this, so that both allow the same.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.rules.measures import MEASURES
from snapshots.changes.rules.rules import (
    NUMBER,
    PERCENTAGE,
    SIZE,
    SIZES,
    Amount,
    Cover,
    Demand,
    Forbid,
    Forbidden,
    Limit,
    Only,
    Require,
    Rule,
    RuleLevel,
    Unit,
    read_amount,
)
from snapshots.errors import CachelogError
from snapshots.frames.matching import MAX_LENGTH, read
from snapshots.models import ConcreteSpec
from snapshots.spack.query import ANYTHING
from snapshots.wording import nearest_hint, nearest_names, quoted

LONGEST_TEXT = 200
"""How many characters a name or glob may have."""

LONGEST_PATH = 4_096
"""How many characters a path may have."""

MOST_GLOBS = 500
"""How many globs a list may have."""

DIMENSIONS = {dimension.value.replace("_", "-"): dimension for dimension in CoverageDimension}
"""The dimensions of coverage as files and the command line name them."""


def text_value(value: Any) -> str:
    """Return a text that is neither empty nor too long."""
    if not isinstance(value, str):
        raise ValueError(f"is {_toml_kind(value)}, not a text")
    if not 1 <= len(value) <= LONGEST_TEXT:
        raise ValueError(f"has {len(value):,} characters; it may have 1 to {LONGEST_TEXT}")
    return value


def choice_of(kinds: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a function that reads one of some names as its value."""

    def chosen(value: Any) -> Any:
        if not isinstance(value, str) or value not in kinds:
            raise ValueError(f"{_shown(value)} is none of {', '.join(kinds)}")
        return kinds[value]

    return chosen


def globs_value(value: Any) -> tuple[str, ...]:
    """Return the names or globs of packages: one, or a list of them."""
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= MOST_GLOBS:
        raise ValueError(f"has {len(items):,} items; it may have 1 to {MOST_GLOBS}")
    if not all(isinstance(item, str) for item in items):
        raise ValueError("is no text, nor a list of texts: names of packages, with * for any text")
    return tuple(map(text_value, items))


def query_value(value: Any) -> str:
    """Return a query in Spack's language, which is read to see that it is one."""
    if not isinstance(value, str):
        raise ValueError(f"is {_toml_kind(value)}, not a query in Spack's language")
    if not value:
        raise ValueError("is empty; it may be a query in Spack's language, as hdf5+mpi is")
    try:
        read(value)
    except CachelogError as error:
        raise ValueError(str(error).partition("\n")[0]) from None
    return value


def query_of_package(value: Any) -> str:
    """Return a query in Spack's language that names a package."""
    if read(query_value(value)).name in (None, "", ANYTHING):
        raise ValueError(f"{quoted(value)} names no package; write one in front, as in hdf5+mpi")
    return str(value)


def dimensions_value(value: Any) -> tuple[CoverageDimension, ...]:
    """Return the dimensions that a list names, each once."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"is no list of {', '.join(DIMENSIONS)}")
    chosen = tuple(map(choice_of(DIMENSIONS), value))
    if len({*chosen}) < len(chosen):
        raise ValueError("names something twice")
    return chosen


def amount_of(*units: Unit) -> Callable[[Any], Amount]:
    """Return a function that reads an amount of one of some units."""
    forms = {
        Unit.NUMBER: "a whole number (100)",
        Unit.PERCENTAGE: 'a percentage ("5 %")',
        Unit.BYTES: f'a size ("20 GiB"; {", ".join(SIZES)})',
    }
    allowed = " or ".join(forms[unit] for unit in units)

    def read_one(value: Any) -> Amount:
        try:
            if isinstance(value, bool) or not isinstance(value, int | str):
                raise ValueError(f"is {_toml_kind(value)}")
            amount = read_amount(value)
        except ValueError as error:
            raise ValueError(f"{error}; it may be {allowed}") from None
        if amount.unit not in units:
            raise ValueError(f"{quoted(amount.text)} cannot be; it may be {allowed}")
        return amount

    return read_one


def at_least_value(value: Any) -> Amount:
    """Return a number, or a percentage of 100 or less."""
    amount = amount_of(Unit.NUMBER, Unit.PERCENTAGE)(value)
    if amount.unit is Unit.PERCENTAGE and amount.value > 100:
        raise ValueError(f"{amount.text} is more than 100 %")
    return amount


def path_value(value: Any) -> str:
    """Return the path of a file."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"is {_toml_kind(value)}, not the path of a lock file")
    if len(value) > LONGEST_PATH:
        raise ValueError(f"is longer than {LONGEST_PATH:,} characters")
    return value


def _toml_kind(value: Any) -> str:
    """Return what a value is in TOML's terms."""
    if value == "":
        return "empty"
    kinds = {bool: "a boolean", str: "a text", int: "a whole number", float: "a number"}
    kinds |= {list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else _toml_kind(value)


_INTEGER = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
_TEXT = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
_QUERY = {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH}
_LIST = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MOST_GLOBS}
_GLOBS = {"anyOf": [_TEXT, _LIST]}


class Key(msgspec.Struct, frozen=True):
    """A key: what it is for, the JSON schema of its value, and what reads the value.

    ``read`` raises ValueError with what is wrong and what is allowed.
    """

    about: str
    schema: Mapping[str, Any]
    read: Callable[[Any], Any]


def _choice(about: str, kinds: Mapping[str, Any], **more: Any) -> Key:
    """Return a key whose value is one of some names."""
    return Key(about, {"enum": [*kinds], **more}, choice_of(kinds))


def texts_like(*patterns: str) -> dict[str, Any]:
    """Return the JSON schema of a number, or of a text of one of some forms."""
    return {"anyOf": [_INTEGER, *({"type": "string", "pattern": pattern} for pattern in patterns)]}


_UP_TO_100 = r"^(100(\.0{1,6})?|[0-9]{1,2}(\.[0-9]{1,6})?) ?%$"

KEYS: Mapping[str, Key] = {
    "name": Key("What the rule is called, in all that is told of it.", _TEXT, text_value),
    "level": _choice(
        "Whether a breach is an error, or only a warning.",
        {level.value: level for level in RuleLevel},
        default=RuleLevel.ERROR.value,
    ),
    "forbid": _choice(
        "What may not have happened from base to head.", {kind.value: kind for kind in Forbidden}
    ),
    "require": Key(
        "A query in Spack's language that names a package: head must have a spec that it matches.",
        _QUERY,
        query_of_package,
    ),
    "limit": _choice(
        "A count of what changed, or the size of what was removed or added.",
        {name: name for name in MEASURES},
    ),
    "cover": Key(
        "A lock file of Spack's, as seen from this file: head must hold its specs.",
        {"type": "string", "minLength": 1, "maxLength": LONGEST_PATH},
        path_value,
    ),
    "for-each": Key(
        "With require: head must have it for each of these values that base had it for. With "
        "coverage-lost: what packages are looked at in combination with.",
        {"type": "array", "items": {"enum": [*DIMENSIONS]}, "minItems": 1, "uniqueItems": True},
        dimensions_value,
    ),
    "at-most": Key(
        'The limit: a number, "5 %" of what base has, or a size as "20 GiB".',
        texts_like(NUMBER, PERCENTAGE, SIZE),
        amount_of(Unit.NUMBER, Unit.PERCENTAGE, Unit.BYTES),
    ),
    "at-least": Key(
        'How many of the specs must be there: a number, or "98 %" of them. All, by default.',
        texts_like(NUMBER, _UP_TO_100) | {"default": "100 %"},
        at_least_value,
    ),
    "stack": Key("Only specs of this stack.", _TEXT, text_value),
    "package": Key("Only these packages: names or globs.", _GLOBS, globs_value),
    "matching": Key("Only specs that this query in Spack's language matches.", _QUERY, query_value),
    "except": Key("Not these packages: names or globs.", _GLOBS, globs_value),
}
"""All keys of a rule, in the order that documents list them in."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "forbid": ("for-each", "stack", "package", "matching", "except"),
    "require": ("for-each", "stack", "matching"),
    "limit": ("at-most", "stack", "package", "matching", "except"),
    "cover": ("at-least", "stack", "package", "except"),
}
"""The kinds of rules by their key, with the keys that go with it; each rule has one kind."""

COMMON = ("name", "level")
"""The keys that every rule may have."""

NEEDED = {"limit": "at-most"}
"""The key that a kind cannot do without."""


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


class CoveredSpecs(msgspec.Struct, frozen=True):
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
        has = f"has {' and '.join(kinds)}" if kinds else "asks for nothing"
        faults.append(Fault(None, f"the rule {has}: each rule has exactly one of {every}"))
    if "name" not in keys:
        faults.append(Fault("name", "is missing: each rule has a name"))
    if len(kinds) == 1:
        faults += _misplaced(keys, kinds[0])
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
    forbidden, measure, most = (values.get(key) for key in ("forbid", "limit", "at-most"))
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


SCHEMA_FILE = Path(__file__).with_name("rules.schema.json")
"""The schema as it is committed and published with the package."""


def json_schema() -> dict[str, Any]:
    """Return the schema, in JSON Schema's draft 7, which most editors read."""
    rules = {"type": "array", "minItems": 1, "maxItems": MOST_RULES, "items": _rule_schema()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Rules of cachelog gate",
        "description": "What a comparison of two revisions of a build cache is judged by.",
        "type": "object",
        "properties": {"rule": rules},
        "required": ["rule"],
        "additionalProperties": False,
    }


def schema_text() -> str:
    """Return the schema as it is written to its file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _rule_schema() -> dict[str, Any]:
    """Return the schema of a rule: the keys, and one branch for each kind."""
    counted = [name for name, measure in MEASURES.items() if not measure.is_size]
    sized = [name for name, measure in MEASURES.items() if measure.is_size]
    others = [kind.value for kind in Forbidden if kind is not Forbidden.COVERAGE_LOST]
    coverage = {"enum": [Forbidden.COVERAGE_LOST.value]}
    return {
        "type": "object",
        "properties": {
            name: {"description": key.about, **key.schema} for name, key in KEYS.items()
        },
        "required": ["name"],
        "additionalProperties": False,
        "oneOf": [
            _branch("forbid", {"forbid": coverage}),
            _branch("forbid", {"forbid": {"enum": others}}, without=["for-each"]),
            _branch("require", {}),
            _branch("limit", {"limit": {"enum": sized}}),
            _branch(
                "limit",
                {"limit": {"enum": counted}, "at-most": texts_like(NUMBER, PERCENTAGE)},
            ),
            _branch("cover", {}),
        ],
    }


def _branch(
    kind: str, properties: Mapping[str, Any], without: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the schema of the rules of a kind: what they need, and what they cannot have."""
    allowed = {*COMMON, kind, *KINDS[kind]} - {*without}
    refused = {name: False for name in KEYS if name not in allowed}
    required = [kind, *([NEEDED[kind]] if kind in NEEDED else [])]
    return {"required": required, "properties": {**properties, **refused}}
