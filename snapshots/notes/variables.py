"""The variables of templates: the JSON notes, and what else their sentences and tables take."""

from typing import Any

from snapshots.changes.cause_names import CauseKind
from snapshots.models import RevisionInfo
from snapshots.notes.document import Changelog
from snapshots.notes.entries import Section
from snapshots.notes.rebuilds import grouped, leading
from snapshots.notes.scope import Only
from snapshots.notes.sentences import Name, Sentence, Value
from snapshots.wording import day, short_digest


def variables(log: Changelog) -> dict[str, Any]:
    """Return the variables of a changelog, by name; docs/notes.md describes them."""
    is_unknown = CauseKind.UNKNOWN.value
    largest, smaller = leading(grouped([it for it in log.causes if it.kind != is_unknown]))
    return {name: getattr(log, name) for name in log.__struct_fields__} | {
        "packages": {section.value: log.packages.get(section.value, []) for section in Section},
        "stacks": {kind: log.stacks.get(kind, []) for kind in ("added", "removed")},
        "is_changed": bool(log.packages or log.stacks),
        "title": _title(log),
        "synthetic": log.base.source.synthetic or log.head.source.synthetic,
        "largest_causes": largest,
        "smaller_causes": smaller,
        "num_unexplained": sum(it.num_specs for it in log.causes if it.kind == is_unknown),
    }


def _title(log: Changelog) -> Sentence:
    base, head = _names(log.base, log.head)
    scope = _scope(log.only)
    return Sentence("Spack build cache: ", *base, " → ", *head, *scope)


def _names(base: RevisionInfo, head: RevisionInfo) -> tuple[list[str], list[str]]:
    """Return how the two revisions are told apart: by tag, else also by day, else by digest."""
    if base.tag != head.tag:
        return [Value(base.tag)], [Value(head.tag)]
    words = day(base.taken_at), day(head.taken_at)
    if words[0] == words[1]:
        words = short_digest(base.digest), short_digest(head.digest)
    return [Value(base.tag), f" ({words[0]})"], [Value(head.tag), f" ({words[1]})"]


def _scope(only: Only) -> list[str]:
    """Return what the notes are narrowed to, as it stands behind the title."""
    pieces: list[str] = []
    if only.stack is not None:
        pieces += [", stack ", Name(only.stack)]
    if only.package is not None:
        pieces += [", package ", Name(only.package)]
    if only.matching is not None:
        pieces += [", specs that match ", Name(only.matching)]
    return pieces
