"""Revisions, tags, packages, stacks and specs: tables for people, records for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from server.terminal.printing import styles
from server.terminal.printing.layout import Column, numbers, table, wrapped
from snapshots.catalog.publishing import Publication
from snapshots.frames.columns import Mask, Rows, rows_where
from snapshots.frames.frame import Frame
from snapshots.frames.matching import UnknownName
from snapshots.history import History
from snapshots.models import RevisionInfo, Source, Spec, revision_facts
from snapshots.refs import series
from snapshots.sources.reports import Report
from snapshots.spack.names import ROOT_STACK, natural_key
from snapshots.wording import counted, day, minute, proven, short_digest, size


def plain(value: Any) -> Any:
    """Return a record, or a sequence of records, as a program reads it."""
    if isinstance(value, RevisionInfo):
        return revision_facts(value)
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, (list, tuple)):
        return list(map(plain, value))
    return msgspec.to_builtins(value)


# -- revisions


def revision_lines(
    revisions: Sequence[RevisionInfo], history: History, width: int | None
) -> Iterator[str]:
    """Yield a table with one line a revision; narrow terminals show fewer columns."""
    seen = map(history.confirmed_at, revisions)
    return table(
        [
            Column("tag", [row.tag for row in revisions], 0, style=styles.name),
            digests(revisions, 1),
            Column("taken at", [minute(row.taken_at) for row in revisions], 2),
            Column("last seen", list(map(minute, seen)), 7),
            numbers("packages", [row.num_packages for row in revisions], 5),
            numbers("specs", [row.num_specs for row in revisions], 3),
            Column(
                "stacks", [num_stacks(row.known_stacks) for row in revisions], 6, is_number=True
            ),
            Column("source", list(map(_source, revisions)), 4),
            Column("hashes", list(map(proof_text, revisions)), 9),
            Column("read from", [row.source.location for row in revisions], 8, style=styles.quiet),
        ],
        width,
    )


def digests(revisions: Sequence[RevisionInfo], rank: int) -> Column:
    """Return the column of the digests of revisions, shortened."""
    shortened = [short_digest(revision.digest) for revision in revisions]
    return Column("digest", shortened, rank, style=styles.digest)


def listed_facts(revision: RevisionInfo, history: History) -> dict[str, Any]:
    """Return a revision as a program reads it, with the time that it was last seen at."""
    confirmed_at = msgspec.to_builtins(history.confirmed_at(revision))
    return revision_facts(revision) | {"confirmed_at": confirmed_at}


def num_stacks(count: int | None) -> str:
    """Return how many stacks there are; None where no source lists any."""
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
        "skipped": [
            {name: getattr(error, name) for name in ("location", "line", "key", "reason")}
            for error in report.skipped
        ],
        "warnings": report.warnings,
    }


# -- packages, stacks and tags


class PackageLine(msgspec.Struct, frozen=True):
    """A package of a revision; ``versions`` are newest first, ``total_size`` is in bytes.

    ``num_stacks`` leaves out root, the union of all stacks; None where the source lists none.
    """

    name: str
    versions: list[str]
    num_specs: int
    num_stacks: int | None
    total_size: int | None


class StackLine(msgspec.Struct, frozen=True):
    """A stack of a revision; ``total_size`` is in bytes."""

    name: str
    num_packages: int
    num_specs: int
    total_size: int | None


def package_listing(frame: Frame, stack: str | None, search: str | None) -> list[PackageLine]:
    """Return the packages by name: only of a stack, only with a text in their name, if given."""
    rows = np.arange(len(frame), dtype=np.int32)
    if stack is not None:
        rows = rows_where(frame.in_stack(stack))
    codes = frame.package.codes[rows]
    text = (search or "").lower()
    bounds = np.searchsorted(codes, np.arange(len(frame.packages) + 1)).tolist()
    return [
        _package_line(frame, name, rows[begin:end])
        for name, begin, end in zip(frame.packages, bounds, bounds[1:], strict=False)
        if begin < end and text in name.lower()
    ]


def _package_line(frame: Frame, name: str, rows: Rows) -> PackageLine:
    stacks = [stack for stack, _ in frame.stacks.item_counts(rows)]
    return PackageLine(
        name=name,
        versions=frame.version.present(rows)[::-1],
        num_specs=len(rows),
        num_stacks=sum(stack != ROOT_STACK for stack in stacks) if stacks else None,
        total_size=frame.size.total(rows),
    )


def package_lines(packages: Sequence[PackageLine], width: int | None) -> Iterator[str]:
    """Yield a table with one line a package."""
    return table(
        [
            Column("package", [package.name for package in packages], 0, style=styles.name),
            Column("newest", [package.versions[0] for package in packages], 1),
            numbers("versions", [len(package.versions) for package in packages], 3),
            numbers("specs", [package.num_specs for package in packages], 2),
            Column(
                "stacks",
                [num_stacks(package.num_stacks) for package in packages],
                4,
                is_number=True,
            ),
            Column("size", [size(package.total_size) for package in packages], 5, is_number=True),
        ],
        width,
    )


def stack_listing(frame: Frame) -> list[StackLine]:
    """Return the stacks by name, root among them."""
    masks = {name: frame.in_stack(name) for name in frame.stacks.items}
    return [
        StackLine(
            name=name,
            num_packages=int(frame.packages_having(mask).sum()),
            num_specs=int(mask.sum()),
            total_size=frame.size.total(rows_where(mask)),
        )
        for name, mask in masks.items()
        if mask.any()
    ]


def stack_lines(stacks: Sequence[StackLine], width: int | None) -> Iterator[str]:
    """Yield a table with one line a stack."""
    return table(
        [
            Column("stack", [stack.name for stack in stacks], 0, style=styles.name),
            numbers("packages", [stack.num_packages for stack in stacks], 2),
            numbers("specs", [stack.num_specs for stack in stacks], 1),
            Column("size", [size(stack.total_size) for stack in stacks], 3, is_number=True),
        ],
        width,
    )


def tag_facts(history: History) -> list[dict[str, Any]]:
    """Return each tag with its series, how many revisions it has, and the newest of them."""
    return [
        {
            "tag": tag,
            "series": series(tag),
            "num_revisions": len(history.of_tag(tag)),
            "latest": revision_facts(history.of_tag(tag)[0]),
        }
        for tag in history.tags
    ]


def tag_lines(history: History, width: int | None) -> Iterator[str]:
    """Yield a table with one line a tag: its newest revision, and how many there are."""
    newest = [history.of_tag(tag)[0] for tag in history.tags]
    counts = [len(history.of_tag(tag)) for tag in history.tags]
    return table(
        [
            Column("tag", history.tags, 0, style=styles.name),
            Column("series", list(map(series, history.tags)), 4),
            numbers("revisions", counts, 3),
            digests(newest, 2),
            Column("taken at", [minute(revision.taken_at) for revision in newest], 1),
            Column("last seen", [minute(history.confirmed_at(revision)) for revision in newest], 7),
            numbers("packages", [revision.num_packages for revision in newest], 6),
            numbers("specs", [revision.num_specs for revision in newest], 5),
        ],
        width,
    )


def packages_document(
    revision: RevisionInfo, packages: Sequence[PackageLine], stack: str | None, search: str | None
) -> dict[str, Any]:
    """Return the packages of a revision for programs, with what limits them."""
    return {
        "revision": revision_facts(revision),
        "stack": stack,
        "search": search,
        "packages": plain(packages),
    }


def stacks_document(revision: RevisionInfo, stacks: Sequence[StackLine]) -> dict[str, Any]:
    """Return the stacks of a revision for programs."""
    return {"revision": revision_facts(revision), "stacks": stack_facts(revision, stacks)}


def stack_facts(revision: RevisionInfo, stacks: Sequence[StackLine]) -> list[dict[str, Any]] | None:
    """Return stacks for programs; None where the source of the revision lists none."""
    return None if revision.num_specs and not stacks else plain(stacks)


# -- specs


def in_natural_order(frame: Frame, mask: Mask) -> list[int]:
    """Return the rows of a mask: packages as people sort them, else in the frame's order."""
    names = sorted(range(len(frame.packages)), key=lambda code: natural_key(frame.packages[code]))
    rank = np.empty(len(names), np.int32)
    rank[names] = np.arange(len(names), dtype=np.int32)
    rows = np.flatnonzero(mask)
    in_order: list[int] = rows[np.argsort(rank[frame.package.codes[rows]], kind="stable")].tolist()
    return in_order


def spec_lines(spec: Spec, width: int | None) -> Iterator[str]:
    """Yield a spec between its hash and its stacks: one line if ``width`` is None."""
    stacks = sorted({*spec.stacks} - {ROOT_STACK}, key=natural_key)
    in_stacks = f"  (stacks: {' '.join(stacks)})" if stacks else ""
    first, *others = wrapped(f"{spec.hash} {spec.short}{in_stacks}", width)
    yield styles.digest(first[: len(spec.hash)]) + first[len(spec.hash) :]
    yield from others


def spec_facts(spec: Spec) -> dict[str, Any]:
    """Return a spec as a program reads it, without its dependencies: they are not read here.

    A spec without any stack, not even root, is of a source that lists none.
    """
    facts: dict[str, Any] = msgspec.to_builtins(spec) | {"stacks": list(spec.stacks) or None}
    del facts["dependencies"]  # a null would say that they are not known
    return {"hash": facts.pop("hash"), "short": spec.short} | facts


def matches_document(
    revision: RevisionInfo,
    query: str,
    stack: str | None,
    total: int,
    specs: Sequence[Spec],
    unknown: Sequence[UnknownName],
) -> dict[str, Any]:
    """Return for programs the first ``specs`` of a ``total`` that a query matches."""
    return {
        "revision": revision_facts(revision),
        "query": query,
        "stack": stack,
        "total": total,
        "specs": list(map(spec_facts, specs)),
        "unknown_names": msgspec.to_builtins(unknown),
    }
