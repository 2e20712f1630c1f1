"""Causes as records with all of their facts, for comparisons in tests."""

from typing import NamedTuple

from snapshots.changes.causes import Causes
from snapshots.changes.pairings import FieldChange
from snapshots.changes.vocabulary import cause_title
from snapshots.models import CauseKind


class CauseRecord(NamedTuple):
    """A cause: its name, and all values that ``Causes`` has for its number."""

    kind: CauseKind
    package: str | None
    before: str | None
    after: str | None
    title: str
    key: str
    facts: list[FieldChange]
    why_unknown: str | None
    together: tuple[int, ...]
    num_together: int
    num_specs: int
    num_involved: int
    packages: tuple[str, ...]


def records(causes: Causes) -> list[CauseRecord]:
    """Return the records of all causes, by their numbers."""
    return [_record(causes, number) for number in range(len(causes))]


def _record(causes: Causes, number: int) -> CauseRecord:
    name = causes.name_of(number)
    return CauseRecord(
        name.kind,
        name.package,
        name.before,
        name.after,
        title=cause_title(name),
        key=name.key,
        facts=causes.facts_of(number),
        why_unknown=causes.why_unknown(number),
        together=tuple(causes.together_with(number)),
        num_together=causes.num_together(number),
        num_specs=causes.num_specs(number),
        num_involved=causes.num_involved(number),
        packages=causes.packages_of(number),
    )
