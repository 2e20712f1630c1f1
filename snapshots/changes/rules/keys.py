"""The keys of a rule: what each may hold, and which rules may have it.

The reader of rules and their JSON schema both follow from this table.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from snapshots.changes.rules.values import DIMENSIONS, LONGEST_PATH, LONGEST_TEXT, MOST_GLOBS, amount, at_least, choice, dimensions, globs, path, query, query_of_package, text
from snapshots.changes.rules.amounts import NUMBER, PERCENTAGE, SIZE, Unit
from snapshots.changes.rules.measures import MEASURES
from snapshots.changes.rules.records import Forbidden, RuleLevel
from snapshots.frames.matching import MAX_LENGTH

_INTEGER = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
_TEXT = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
_QUERY = {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH}
_GLOBS = {
    "anyOf": [
        _TEXT,
        {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MOST_GLOBS},
    ]
}


class Key(NamedTuple):
    """A key: what it is for, the JSON schema of its value, and what reads the value.

    ``read`` raises ValueError with what is wrong and what is allowed.
    """

    about: str
    schema: Mapping[str, Any]
    read: Callable[[Any], Any]


def texts_like(*patterns: str) -> dict[str, Any]:
    """Return the JSON schema of a number, or of a text of one of some forms."""
    return {"anyOf": [_INTEGER, *({"type": "string", "pattern": it} for it in patterns)]}


_UP_TO_100 = r"^(100(\.0{1,6})?|[0-9]{1,2}(\.[0-9]{1,6})?) ?%$"

KEYS: Mapping[str, Key] = {
    "name": Key("What the rule is called, in all that is told of it.", _TEXT, text),
    "level": Key(
        "Whether a breach is an error, or only a warning.",
        {"enum": [it.value for it in RuleLevel], "default": RuleLevel.ERROR.value},
        choice({it.value: it for it in RuleLevel}),
    ),
    "forbid": Key(
        "What may not have happened from base to head.",
        {"enum": [it.value for it in Forbidden]},
        choice({it.value: it for it in Forbidden}),
    ),
    "require": Key(
        "A query in Spack's language that names a package: head must have a spec that it matches.",
        _QUERY,
        query_of_package,
    ),
    "limit": Key(
        "A count of what changed, or the size of what was removed or added.",
        {"enum": [*MEASURES]},
        choice({it: it for it in MEASURES}),
    ),
    "cover": Key(
        "A lock file of Spack's, as seen from this file: head must hold its specs.",
        {"type": "string", "minLength": 1, "maxLength": LONGEST_PATH},
        path,
    ),
    "for-each": Key(
        "With require: head must have it for each of these values that base had it for. With "
        "coverage-lost: what packages are looked at in combination with.",
        {
            "type": "array",
            "items": {"enum": [*DIMENSIONS]},
            "minItems": 1,
            "uniqueItems": True,
        },
        dimensions,
    ),
    "at-most": Key(
        'The limit: a number, "5 %" of what base has, or a size as "20 GiB".',
        texts_like(NUMBER, PERCENTAGE, SIZE),
        amount(Unit.NUMBER, Unit.PERCENTAGE, Unit.BYTES),
    ),
    "at-least": Key(
        'How many of the specs must be there: a number, or "98 %" of them. All, by default.',
        texts_like(NUMBER, _UP_TO_100) | {"default": "100 %"},
        at_least,
    ),
    "stack": Key("Only specs of this stack.", _TEXT, text),
    "package": Key("Only these packages: names or globs.", _GLOBS, globs),
    "matching": Key(
        "Only specs that this query in Spack's language matches.", _QUERY, query
    ),
    "except": Key("Not these packages: names or globs.", _GLOBS, globs),
}
"""All keys of a rule, in the order that documents list them in."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "forbid": ("for-each", "stack", "package", "matching", "except"),
    "require": ("for-each", "stack", "matching"),
    "limit": ("at-most", "stack", "package", "matching", "except"),
    "cover": ("at-least", "stack", "package", "except"),
}
"""The kinds of rules by their key, with the keys that stand beside it; each rule has one kind."""

COMMON = ("name", "level")
"""The keys that every rule may have."""

NEEDED = {"limit": "at-most"}
"""The key that a kind cannot do without."""
