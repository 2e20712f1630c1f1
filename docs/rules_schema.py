"""The JSON schema of rules, which is committed and published as rules.schema.json."""

from typing import Any

import msgspec

from snapshots.changes.rules.measures import MEASURES
from snapshots.changes.rules.rules import (
    DIMENSIONS,
    KEYS_OF,
    KINDS,
    MAX_RULES_IN_FILE,
    Dimensions,
    Forbidden,
    PackageQuery,
    SpecQuery,
)
from snapshots.frames.queries import MAX_LENGTH

_QUERY = {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH}
_SCHEMAS: dict[type, dict[str, Any]] = {
    SpecQuery: _QUERY,
    PackageQuery: _QUERY,
    Dimensions: {
        "type": "array",
        "items": {"enum": [*DIMENSIONS]},
        "minItems": 1,
        "uniqueItems": True,
    },
}
_TOGETHER: dict[str, dict[str, Any]] = {
    "forbid": {
        "if": {"required": ["for-each"]},
        "then": {"properties": {"forbid": {"const": Forbidden.COVERAGE_LOST.value}}},
    },
    "limit": {
        "if": {"properties": {"at-most": {"type": "string", "pattern": "B$"}}},
        "then": {
            "properties": {
                "limit": {"enum": [name for name, measure in MEASURES.items() if measure.is_size]}
            }
        },
    },
}
"""What ``faults`` of a kind of rules says, by its key."""


def json_schema() -> dict[str, Any]:
    """Return the schema, in JSON Schema's draft 7, which most editors read."""
    branches, definitions = msgspec.json.schema_components(
        KINDS.values(),
        schema_hook=_SCHEMAS.__getitem__,
        ref_template="#/definitions/{name}",
    )
    for definition in definitions.values():  # an enum's members follow in its docstring
        if "description" in definition:
            definition["description"] = definition["description"].partition("\n\n")[0]
    for kind in KINDS.values():
        definition = definitions[kind.__name__]
        properties = definition["properties"]
        definition |= _TOGETHER.get(kind.key, {})
        definition["properties"] = {name: properties[name] for name in KEYS_OF[kind.key]}
    rules = {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_RULES_IN_FILE,
        "items": {"oneOf": [*branches]},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Rules of cachelog gate",
        "description": "What a comparison of two revisions of a build cache is checked with.",
        "type": "object",
        "properties": {"rule": rules},
        "required": ["rule"],
        "additionalProperties": False,
        "definitions": definitions,
    }
