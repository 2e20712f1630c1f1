"""Keep lists, and what the rest is: as lines of text and as plain values.

docs/keeping.md describes the document.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from server.terminal.catalogs import OpenedCatalog
from server.terminal.printing import styles
from server.terminal.printing.layout import wrapped
from snapshots.catalog.keep_lists import Rest, keep_list, rest_of
from snapshots.catalog.retention import RetentionRule, choose
from snapshots.models import RevisionInfo
from snapshots.sources import lock_files
from snapshots.texts import counted, size

FORMAT = 1
"""The version of the document that ``keep-list --json`` prints."""

_MOST_CELLS = 10


class CheckedLock(msgspec.Struct, frozen=True):
    """A lock file, how many specs it wants, and how many of them are not kept.

    ``num_lost`` are those that revisions have, ``num_absent`` those that none has.
    """

    file: str
    num_specs: int
    num_lost: int
    num_absent: int


class Kept(msgspec.Struct, frozen=True):
    """The hashes to keep, sorted, of revisions and lock files, and what the rest is, if wanted.

    ``num_unknown`` is as ``KeepList`` has it.
    """

    revisions: Sequence[RevisionInfo]
    locks: Sequence[str]
    hashes: Sequence[str]
    num_unknown: int
    rest: Rest | None
    checked: Sequence[CheckedLock]


def list_kept(
    opened: OpenedCatalog,
    keep: Sequence[RetentionRule],
    locks: Sequence[str],
    *,
    whole_tags: bool,
    whole: bool,
    checked: Sequence[str] | None,
) -> Kept:
    """Return what a policy and lock files keep; with ``checked``, lock files, also the rest.

    Raises SourceError for a lock file that cannot be read, before any content is.
    """
    locked = [spec.hash for file in locks for spec in lock_files.read(file).specs]
    files = {file: lock_files.read(file).specs for file in checked or ()}
    choices = choose(opened.history, keep, whole_tags=whole_tags)
    revisions = [choice.revision for choice in choices if choice.kept_by]
    digests = dict.fromkeys(revision.digest for revision in revisions)
    listed = keep_list(opened.library, digests, locked, whole=whole)
    hashes = listed.hashes
    rest = None
    if checked is not None:
        every = dict.fromkeys(choice.revision.digest for choice in choices)
        rest = rest_of(opened.library, every, hashes)
    broken = []
    for file, specs in files.items():
        if rest is not None:
            left = {spec.hash for spec in specs}.difference(hashes)
            num_lost = len(left & rest.hashes)
            broken.append(CheckedLock(file, len(specs), num_lost, len(left) - num_lost))
    return Kept(revisions, locks, sorted(hashes), listed.num_unknown, rest, broken)


def summary_line(kept: Kept) -> str:
    """Return how much is kept."""
    num_hashes = len(kept.hashes)
    text = f"{num_hashes:,} {'hash' if num_hashes == 1 else 'hashes'}"
    text += f" of {counted(len(kept.revisions), 'revision')}"
    return f"{text} and {counted(len(kept.locks), 'lock file')}" if kept.locks else text


def unknown_line(kept: Kept) -> str:
    """Return what the list may lack because of unknown dependencies; empty where they are known."""
    if not kept.num_unknown:
        return ""
    specs = counted(kept.num_unknown, "spec")
    return f"The dependencies of {specs} are unknown: what only these reach is not on the list."


def impact_lines(kept: Kept, width: int | None) -> Iterator[str]:
    """Yield how much is kept, and what the rest is."""
    yield f"kept: {summary_line(kept)}"
    rest = kept.rest
    if rest is None:
        return
    text = f"rest: {counted(len(rest.hashes), 'spec')} of other revisions"
    if rest.size is not None:
        text += f", {size(rest.size)}"
    if rest.num_unknown and rest.hashes:
        text += f", {counted(rest.num_unknown, 'spec')} of unknown size"
    yield from wrapped(text, width)
    yield f"nothing is left in {counted(len(rest.cells), 'cell')} of package, stack and target"
    for package, stack, target in rest.cells[:_MOST_CELLS]:
        cell = f"{package} {stack or '(no stack)'} {target}"
        yield from wrapped(f"  {styles.removed('-')} {cell}", width)
    if (more := len(rest.cells) - _MOST_CELLS) > 0:
        yield styles.quiet(f"  and {counted(more, 'cell')} more")
    for lock in kept.checked:
        num_left = lock.num_lost + lock.num_absent
        lost = f"{num_left:,} of {counted(lock.num_specs, 'spec')} are not kept"
        if lock.num_absent:
            lost += f", {lock.num_absent:,} of them in no revision"
        yield from wrapped(f"{lock.file}: {lost}", width)


def keep_list_document(kept: Kept) -> dict[str, Any]:
    """Return the same for programs."""
    rest = kept.rest
    return {
        "format": FORMAT,
        "revisions": kept.revisions,
        "lock_files": kept.locks,
        "hashes": kept.hashes,
        "rest": None
        if rest is None
        else {
            "num_specs": len(rest.hashes),
            "size": rest.size,
            "num_unknown": rest.num_unknown,
            "coverage_lost": [
                {"package": package, "stack": stack or None, "target": target}
                for package, stack, target in rest.cells
            ],
            "lock_files": kept.checked,
        },
    }
