"""What the commands print for programs: release notes as data, and what only the commands tell.

docs/notes.md describes the documents. Their names are those of the API, in snake case.
"""

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import orjson

from server.printing.reports import Report, Told, hash_at
from snapshots.changes.causes import CauseStep
from snapshots.changes.coverage import CoverageChanges
from snapshots.changes.sides import Side
from snapshots.changes.spec_changes import SpecChangeKind
from snapshots.models import revision_facts
from snapshots.notes.document import FORMAT, to_json
from snapshots.notes.scope import Only

if TYPE_CHECKING:
    from server.commands.compared import Compared


def difference_document(compared: "Compared", report: Report) -> dict[str, Any]:
    """Return the release notes as data, with every change of a spec and of a stack."""
    specs = {
        kind.value: [
            spec_change_facts(report, told) for told in report.changes if told.change.kind is kind
        ]
        for kind in SpecChangeKind
    }
    stacks = [msgspec.to_builtins(change) for change in report.comparison.stacks]
    return _notes(compared) | {"specs": specs, "stack_changes": stacks}


def coverage_document(compared: "Compared", cells: CoverageChanges) -> dict[str, Any]:
    """Return the cells that were lost and gained, with the hashes of what is nearest."""
    return _head(compared) | {
        "by": [dimension.value for dimension in cells.dimensions],
        "coverage": [
            msgspec.to_builtins(cell)
            | {"nearest": [cells.head.hashes.at(row) for row in cell.nearest]}
            for cell in cells
        ],
    }


def causes_document(compared: "Compared", report: Report) -> dict[str, Any]:
    """Return the causes of what is in scope, and each of its specs with its path."""
    notes = _notes(compared)
    return _head(compared) | {
        "summary": notes["summary"],
        "causes": notes["causes"],
        "why_unknown": notes["why_unknown"],
        "specs": [spec_change_facts(report, told) for told in report.changes],
    }


def _notes(compared: "Compared") -> dict[str, Any]:
    notes: dict[str, Any] = orjson.loads(to_json(compared.changelog()))
    return notes


def _head(compared: "Compared") -> dict[str, Any]:
    only = compared.scope.only if compared.scope is not None else Only()
    return {
        "format": FORMAT,
        "base": revision_facts(compared.base),
        "head": revision_facts(compared.head),
        "only": msgspec.to_builtins(only),
    }


def spec_change_facts(report: Report, told: Told) -> dict[str, Any]:
    """Return a changed hash with its reason, its counterpart and what set it off."""
    change, why = told.change, report.why
    before, after = report.before(told), report.after(told)
    facts: dict[str, Any] = {
        "hash": change.hash,
        "name": change.name,
        "reason": told.reason.value,
    }
    if change.kind is SpecChangeKind.CHANGED:
        fields = report.comparison.field_changes(change)
        return facts | {"fields": [msgspec.to_builtins(field) for field in fields]}
    other = before if change.kind is SpecChangeKind.ADDED else after
    facts["counterpart"] = None if other is None else other.hash
    if told.head_row is None:
        return facts | {"cause": None, "causes": [], "path": []}
    involved = why.causes.involved_in(np.array([told.head_row], np.int32)).numbers.tolist()
    keys = [why.causes[number].key for number in involved]
    path = [_step(report, step) for step in why.path(told.head_row)]
    return facts | {"cause": keys[0], "causes": keys, "path": path}


def _step(report: Report, step: CauseStep) -> dict[str, Any]:
    return {
        "name": step.name,
        "before": _hash(report.why.base, step.base_node),
        "after": _hash(report.why.head, step.head_node),
    }


def _hash(side: Side, node: int | None) -> str | None:
    return None if node is None else hash_at(side, node)
