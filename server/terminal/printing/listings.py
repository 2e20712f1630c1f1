"""Revisions, tags, packages, stacks and specs, as tables and as records for JSON."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from server.terminal.printing import layout, styles
from snapshots.arrays import Mask
from snapshots.catalog.publication import Publication
from snapshots.frames.columns import rows_where
from snapshots.frames.dependencies import DependencyType
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import (
    RevisionInfo,
    SideInfo,
    Source,
    Spec,
)
from snapshots.refs import series, title
from snapshots.sources.reports import Report
from snapshots.spack.names import ROOT_STACK, natural_key
from snapshots.texts import counted, minute, proven

# -- revisions and tags


def revision_lines(revisions: Sequence[RevisionInfo], history: History) -> Iterator[str]:
    """Yield a table with one line per revision. Narrow terminals show fewer columns."""
    columns = [
        layout.REVISION,
        _last_seen(history),
        layout.number("packages", 5, attrgetter("num_packages")),
        layout.number("specs", 3, attrgetter("num_specs")),
        layout.number("stacks", 6, attrgetter("known_stacks")),
        layout.TableColumn("source", 4, lambda row: _source(row.source)),
        layout.TableColumn("hashes", 9, proof_text),
        layout.TableColumn("read from", 8, attrgetter("source.location"), styles.quiet),
    ]
    return layout.table(revisions, columns)


def tag_lines(history: History, tags: Sequence[str]) -> Iterator[str]:
    """Yield a table with one line per tag: its newest revision, and the number of revisions."""
    columns = [
        layout.TableColumn("tag", 0, attrgetter("tag"), styles.name),
        layout.TableColumn("series", 4, lambda row: series(row.tag)),
        layout.number("revisions", 3, lambda row: len(history.of_tag(row.tag))),
        layout.TableColumn("newest", 2, attrgetter("ref")),
        _last_seen(history),
        layout.number("packages", 6, attrgetter("num_packages")),
        layout.number("specs", 5, attrgetter("num_specs")),
    ]
    return layout.table([history.of_tag(tag)[0] for tag in tags], columns)


def _last_seen(history: History) -> layout.TableColumn:
    return layout.TableColumn("last seen", 7, lambda row: minute(history.confirmed_at(row)))


def place_title(revision: SideInfo, stack: str | None) -> str:
    """Return the title of a revision, or of a stack in it."""
    return title(revision) if stack is None else f"the stack {stack} of {title(revision)}"


def contents_text(revision: RevisionInfo) -> str:
    """Return the size of a revision in words, such as '60 packages, 600 specs, 26 stacks'."""
    count = revision.known_stacks
    stacks = "stacks unknown" if count is None else counted(count, "stack")
    specs = counted(revision.num_specs, "spec")
    return f"{counted(revision.num_packages, 'package')}, {specs}, {stacks}"


def proof_text(revision: RevisionInfo) -> str:
    """Return how many hashes of a revision are proven, such as '221 proven, 2 spliced'."""
    unproven = [(counts.reason.value, counts.num_specs) for counts in revision.unproven or ()]
    return proven(revision.num_proven, unproven)


def source_text(source: Source) -> str:
    """Return the kind and location of a source, such as 'git https://...'."""
    if source.location.startswith(f"{source.kind}:"):
        return source.location
    return f"{source.kind} {source.location}"


def _source(source: Source) -> str:
    return f"{source.kind} (synthetic)" if source.synthetic else source.kind


def publication_lines(publications: Sequence[Publication]) -> Iterator[str]:
    """Yield one line for each revision that an import published or found unchanged."""
    if not publications:
        yield "nothing new, nothing published"
    for publication in publications:
        revision = publication.revision
        facts = contents_text(revision)
        if revision.num_proven is not None:
            facts += f"; hashes: {proof_text(revision)}"
        if publication.is_new:
            synthetic = " (synthetic)" if revision.source.synthetic else ""
            repaired = (
                "; its stored content was damaged, and is replaced"
                if publication.is_repaired
                else ""
            )
            yield f"{revision.ref}: published {facts}{synthetic}{repaired}"
        elif publication.is_repaired:
            yield f"{revision.ref}: its stored content was damaged, and is replaced: {facts}"
        else:
            yield f"{revision.ref}: unchanged, nothing published: {facts}"


def publication_facts(publications: Sequence[Publication], report: Report) -> dict[str, Any]:
    """Return the results of an import in their JSON form."""
    return {
        "revisions": [
            {
                "revision": publication.revision,
                "isNew": publication.is_new,
                "isRepaired": publication.is_repaired,
            }
            for publication in publications
        ],
        "skipped": [
            {"location": it.location, "line": it.line, "key": it.key, "reason": it.reason}
            for it in report.skipped
        ],
        "warnings": report.warnings,
    }


# -- packages and stacks


class PackageLine(msgspec.Struct, frozen=True):
    """A package of a revision; ``versions`` are newest first, ``total_size`` is in bytes.

    ``num_stacks`` excludes root, the union of all stacks; None if the source lists no stacks.
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


PACKAGE_COLUMNS = [
    layout.TableColumn("package", 0, attrgetter("name"), styles.name),
    layout.TableColumn("newest", 1, lambda package: package.versions[0]),
    layout.number("versions", 3, lambda package: len(package.versions)),
    layout.number("specs", 2, attrgetter("num_specs")),
    layout.number("stacks", 4, attrgetter("num_stacks")),
    layout.SIZE,
]
STACK_COLUMNS = [
    layout.TableColumn("stack", 0, attrgetter("name"), styles.name),
    layout.number("packages", 2, attrgetter("num_packages")),
    layout.number("specs", 1, attrgetter("num_specs")),
    layout.SIZE,
]


def package_listing(frame: Frame, stack: str | None, search: str | None) -> list[PackageLine]:
    """Return the packages by name, only those of a stack or with a text in their name, if given."""
    mask = np.ones(len(frame), np.bool_) if stack is None else frame.in_stack(stack)
    packages = []
    for code in np.flatnonzero(frame.packages_having(mask)).tolist():
        name, own = frame.packages[code], frame.slice_of(code)
        if (search or "").lower() not in name.lower():
            continue
        rows = own.start + rows_where(mask[own])
        stacks = [stack for stack, _ in frame.stacks.item_counts(rows)]
        packages.append(
            PackageLine(
                name=name,
                versions=frame.version.present(rows)[::-1],
                num_specs=len(rows),
                num_stacks=sum(stack != ROOT_STACK for stack in stacks) if stacks else None,
                total_size=frame.size.total(rows),
            )
        )
    return packages


def stack_listing(frame: Frame) -> list[StackLine]:
    """Return the stacks by name, including root."""
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


# -- specs


def in_natural_order(frame: Frame, mask: Mask) -> list[int]:
    """Return the rows of a mask: packages in natural order, their specs in the frame's order."""
    keys, codes = list(map(natural_key, frame.packages)), frame.package.codes
    return sorted(np.flatnonzero(mask).tolist(), key=lambda row: keys[codes[row]])


def same_but_for_namespace(specs: Iterable[Spec]) -> set[str]:
    """Return the short forms that specs of several namespaces have."""
    namespaces: defaultdict[str, set[str | None]] = defaultdict(set)
    for spec in specs:
        namespaces[spec.short].add(spec.namespace)
    return {short for short, names in namespaces.items() if len(names) > 1}


def spec_lines(spec: Spec, alike: Collection[str] = ()) -> Iterator[str]:
    """Yield a spec with its hash and stacks, in one line unless the width is limited.

    If its short form is among those that are ``alike``, its namespace precedes it.
    """
    stacks = sorted({*spec.stacks} - {ROOT_STACK}, key=natural_key)
    namespace = f"{spec.namespace}." if spec.namespace and spec.short in alike else ""
    in_stacks = f"  (stacks: {' '.join(stacks)})" if stacks else ""
    first, *others = layout.wrapped(f"{spec.hash} {namespace}{spec.short}{in_stacks}")
    yield styles.digest(first[: len(spec.hash)]) + first[len(spec.hash) :]
    yield from others


def types_of(mask: int) -> list[str]:
    """Return the names of the types of a dependency."""
    return [str(kind.name).lower() for kind in DependencyType if kind & mask]
