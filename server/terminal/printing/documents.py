"""What the commands print for programs: release notes as data, and what only the commands tell.

docs/notes.md describes the documents. Their names are those of the API, in snake case.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import orjson

from server.terminal.printing.reports import Report, Told, hash_at
from snapshots.changes.causes import CauseStep
from snapshots.changes.coverage import CoverageChanges
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.sides import Side
from snapshots.models import revision_facts
from snapshots.notes.document import FORMAT, to_json
from snapshots.notes.scope import Only

if TYPE_CHECKING:
    from server.commands.compared import Compared


def difference_document(compared: "Compared", report: Report) -> dict[str, Any]:
    """Return the release notes as data, with every change of a spec and of a stack."""
    specs: dict[str, list[dict[str, Any]]] = {kind.value: [] for kind in SpecChangeKind}
    for told, facts in zip(report.changes, spec_changes_facts(report), strict=True):
        specs[told.change.kind.value].append(facts)
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
        "specs": list(spec_changes_facts(report)),
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


def spec_changes_facts(report: Report) -> Iterator[dict[str, Any]]:
    """Yield each changed hash with its reason, its counterpart and what set it off."""
    causes = report.why.causes
    rows = np.array([told.head_row for told in report.changes if told.head_row is not None], int)
    involved, paths = causes.involved_in(rows), iter(causes.paths(rows))
    keys = [causes.name_of(number).key for number in range(len(causes))]
    bounds = pairwise(involved.offsets.tolist())
    for told in report.changes:
        facts = _known_facts(report, told)
        if told.change.kind is SpecChangeKind.CHANGED:
            yield facts
        elif told.head_row is None:
            yield facts | {"cause": None, "causes": [], "path": []}
        else:
            own = [keys[number] for number in involved.numbers[slice(*next(bounds))].tolist()]
            path = [_step(report, step) for step in next(paths)]
            yield facts | {"cause": own[0], "causes": own, "path": path}


def _known_facts(report: Report, told: Told) -> dict[str, Any]:
    """Return what a change is, why, and what differs of it or stands against it."""
    change = told.change
    facts: dict[str, Any] = {
        "hash": change.hash,
        "name": change.name,
        "reason": told.reason.value,
    }
    if change.kind is SpecChangeKind.CHANGED:
        fields = report.comparison.field_changes(change)
        return facts | {"fields": [msgspec.to_builtins(field) for field in fields]}
    sides = report.why.base, report.why.head
    other = sides[0] if change.kind is SpecChangeKind.ADDED else sides[1]
    row = told.counterpart
    return facts | {"counterpart": None if row is None else other.frame.hashes.at(row)}


def _step(report: Report, step: CauseStep) -> dict[str, Any]:
    return {
        "name": step.name,
        "before": _hash(report.why.base, step.base_node),
        "after": _hash(report.why.head, step.head_node),
    }


def _hash(side: Side, node: int | None) -> str | None:
    return None if node is None else hash_at(side, node)
