"""Revisions as a table, and what became of those that were to be published."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from server.terminal.printing import styles
from server.terminal.printing.layout import Column, table
from snapshots.catalog.publishing import Publication
from snapshots.digests import short_digest
from snapshots.errors import SourceError
from snapshots.history import History
from snapshots.models import RevisionInfo, Source, revision_facts
from snapshots.sources.reports import Report
from snapshots.wording import counted, day, minute, proven


def revision_lines(
    revisions: Sequence[RevisionInfo], history: History, width: int | None
) -> Iterator[str]:
    """Yield a table with one line a revision; narrow terminals show fewer columns."""
    seen = map(history.confirmed_at, revisions)
    return table(
        [
            Column("tag", [it.tag for it in revisions], 0, style=styles.name),
            Column("digest", [short_digest(it.digest) for it in revisions], 1, style=styles.digest),
            Column("taken at", [minute(it.taken_at) for it in revisions], 2),
            Column("last seen", list(map(minute, seen)), 7),
            Column("packages", [f"{it.num_packages:,}" for it in revisions], 5, is_number=True),
            Column("specs", [f"{it.num_specs:,}" for it in revisions], 3, is_number=True),
            Column("stacks", [num_stacks(it.known_stacks) for it in revisions], 6, is_number=True),
            Column("source", list(map(_source, revisions)), 4),
            Column("hashes", list(map(proof_text, revisions)), 9),
            Column("read from", [it.source.location for it in revisions], 8, style=styles.quiet),
        ],
        width,
    )


def listed_facts(revision: RevisionInfo, history: History) -> dict[str, Any]:
    """Return a revision as a program reads it, with the time that it was last seen at."""
    confirmed_at = msgspec.to_builtins(history.confirmed_at(revision))
    return revision_facts(revision) | {"confirmed_at": confirmed_at}


def num_stacks(count: int | None) -> str:
    """Return how many stacks there are; None where no source told of any."""
    return "unknown" if count is None else f"{count:,}"


def holds(revision: RevisionInfo) -> str:
    """Return what a revision has: 60 packages, 600 specs, 26 stacks."""
    count = revision.known_stacks
    stacks = "stacks unknown" if count is None else counted(count, "stack")
    specs = counted(revision.num_specs, "spec")
    return f"{counted(revision.num_packages, 'package')}, {specs}, {stacks}"


def proof_text(revision: RevisionInfo) -> str:
    """Return what the hashes of a revision were found to be: 221 proven, 2 spliced."""
    unproven = [(counts.reason.value, counts.num_specs) for counts in revision.unproven or ()]
    return proven(revision.num_proven, unproven)


def source_text(source: Source) -> str:
    """Return what was read, and where: git https://..., or demo: 12 packages ..."""
    if source.location.startswith(f"{source.kind}:"):
        return source.location
    return f"{source.kind} {source.location}"


def _source(revision: RevisionInfo) -> str:
    source = revision.source
    return f"{source.kind} (synthetic)" if source.synthetic else source.kind


def publication_lines(publications: Sequence[Publication]) -> Iterator[str]:
    """Yield one line for each revision that an import was about."""
    if not publications:
        yield "nothing new, nothing published"
    for made in publications:
        revision = made.revision
        digest = short_digest(revision.digest)
        facts = f"{digest} of {day(revision.taken_at)}, {holds(revision)}"
        if revision.num_proven is not None:
            facts += f"; hashes: {proof_text(revision)}"
        if made.is_new:
            synthetic = " (synthetic)" if revision.source.synthetic else ""
            mended = "; its stored content was damaged, and is replaced" if made.is_mended else ""
            yield f"{revision.tag}: published {facts}{synthetic}{mended}"
        elif made.is_mended:
            yield f"{revision.tag}: its stored content was damaged, and is replaced: {facts}"
        else:
            yield f"{revision.tag}: unchanged, nothing published; it stands as {facts}"


def publication_facts(publications: Sequence[Publication], report: Report) -> dict[str, Any]:
    """Return what an import did, for programs."""
    return {
        "revisions": [
            revision_facts(made.revision) | {"published": made.is_new, "replaced": made.is_mended}
            for made in publications
        ],
        "skipped": [_error_facts(error) for error in report.skipped],
        "warnings": report.warnings,
    }


def _error_facts(error: SourceError) -> dict[str, Any]:
    return {
        "location": error.location,
        "line": error.line,
        "key": error.key,
        "reason": error.reason,
    }
