"""The JSON schema of a file of rules, made of the table of keys; editors check files by it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snapshots.changes.rules.amounts import NUMBER, PERCENTAGE
from snapshots.changes.rules.keys import COMMON, KEYS, KINDS, NEEDED, texts_like
from snapshots.changes.rules.measures import MEASURES
from snapshots.changes.rules.reading import MOST_RULES
from snapshots.changes.rules.records import Forbidden

SCHEMA_FILE = Path(__file__).with_name("rules.schema.json")
"""The schema as it is committed and published with the package."""


def json_schema() -> dict[str, Any]:
    """Return the schema, in JSON Schema's draft 7, which most editors read."""
    rules = {"type": "array", "minItems": 1, "maxItems": MOST_RULES, "items": _rule()}
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


def _rule() -> dict[str, Any]:
    """Return the schema of a rule: the keys, and one branch for each kind."""
    counted = [name for name, measure in MEASURES.items() if not measure.is_size]
    sized = [name for name, measure in MEASURES.items() if measure.is_size]
    others = [it.value for it in Forbidden if it is not Forbidden.COVERAGE_LOST]
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
