"""Release notes as data: what their templates and programs read.

The fields are those of the JSON notes and the variables of templates; docs/notes.md describes them.
"""

from typing import Any

import msgspec

from snapshots.changes.diff import LEFT_OUT
from snapshots.models import RevisionInfo, revision_facts
from snapshots.notes.entries import PackageEntry, StackEntry
from snapshots.notes.losses import Losses
from snapshots.notes.rebuilds import CauseEntry
from snapshots.notes.scope import Only
from snapshots.notes.sentences import Sentence, plain
from snapshots.notes.summary import ExplainedSummary, Totals

FORMAT = 2
"""The version of the document; it rises when a name in it goes or means something else."""


class Changelog(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from base to head, in sections; there are no empty ones.

    Where ``only`` narrows the notes, everything but ``base`` and ``head`` is about the specs in
    scope. ``packages`` are by the values of Section, ``stacks`` by those of StackChangeKind.
    ``causes`` are those that explain most first. ``why_unknown`` says why nothing can be
    told of the causes of some rebuilds; None where all are known.
    """

    format: int = FORMAT
    base: RevisionInfo
    head: RevisionInfo
    only: Only
    before: Totals
    after: Totals
    summary: ExplainedSummary
    highlights: list[Sentence]
    causes: list[CauseEntry]
    why_unknown: str | None
    no_longer_available: Losses
    packages: dict[str, list[PackageEntry]]
    stacks: dict[str, list[StackEntry]]
    stacks_changed: int
    left_out: tuple[str, ...] = LEFT_OUT


def to_json(log: Changelog) -> bytes:
    """Return the changelog as JSON."""
    document = msgspec.to_builtins(log, enc_hook=_plain_value)
    revisions = {"base": revision_facts(log.base), "head": revision_facts(log.head)}
    return msgspec.json.format(msgspec.json.encode(document | revisions))


def _plain_value(value: Any) -> str:
    if isinstance(value, Sentence):
        return plain(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")
