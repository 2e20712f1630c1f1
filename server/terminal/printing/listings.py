"""Packages, stacks and tags: tables for people, records for programs, in the order of the API."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from server.terminal.printing import styles
from server.terminal.printing.layout import Column, table
from server.terminal.printing.revisions import num_stacks
from snapshots.digests import short_digest
from snapshots.frames.columns import Rows, rows_where
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import RevisionInfo, revision_facts
from snapshots.refs import series
from snapshots.spack.names import ROOT_STACK
from snapshots.wording import minute, size


class PackageLine(msgspec.Struct, frozen=True):
    """A package of a revision; ``versions`` are newest first, ``total_size`` is in bytes.

    ``num_stacks`` leaves out root, the union of all stacks; None where the source told none.
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
    """Return the packages by name: of a stack, with the text in their name, as far as asked."""
    rows = np.arange(len(frame), dtype=np.int32)
    if stack is not None:
        rows = rows_where(frame.in_stack(stack))
    codes = frame.package.codes[rows]
    wanted = (search or "").lower()
    bounds = np.searchsorted(codes, np.arange(len(frame.packages) + 1)).tolist()
    return [
        _package_line(frame, name, rows[begin:end])
        for name, begin, end in zip(frame.packages, bounds, bounds[1:], strict=False)
        if begin < end and wanted in name.lower()
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
            Column("package", [it.name for it in packages], 0, style=styles.name),
            Column("newest", [it.versions[0] for it in packages], 1),
            Column("versions", [f"{len(it.versions):,}" for it in packages], 3, is_number=True),
            Column("specs", [f"{it.num_specs:,}" for it in packages], 2, is_number=True),
            Column("stacks", [num_stacks(it.num_stacks) for it in packages], 4, is_number=True),
            Column("size", [size(it.total_size) for it in packages], 5, is_number=True),
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
            Column("stack", [it.name for it in stacks], 0, style=styles.name),
            Column("packages", [f"{it.num_packages:,}" for it in stacks], 2, is_number=True),
            Column("specs", [f"{it.num_specs:,}" for it in stacks], 1, is_number=True),
            Column("size", [size(it.total_size) for it in stacks], 3, is_number=True),
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
            Column("revisions", [f"{count:,}" for count in counts], 3, is_number=True),
            Column("digest", [short_digest(it.digest) for it in newest], 2, style=styles.digest),
            Column("taken at", [minute(it.taken_at) for it in newest], 1),
            Column("last seen", [minute(history.confirmed_at(it)) for it in newest], 7),
            Column("packages", [f"{it.num_packages:,}" for it in newest], 6, is_number=True),
            Column("specs", [f"{it.num_specs:,}" for it in newest], 5, is_number=True),
        ],
        width,
    )


def stack_facts(revision: RevisionInfo, stacks: Sequence[StackLine]) -> list[dict[str, Any]] | None:
    """Return the stacks of a revision as a program reads them; None where its source told none."""
    return None if revision.num_specs and not stacks else listing_facts(stacks)


def listing_facts(lines: Sequence[PackageLine] | Sequence[StackLine]) -> list[dict[str, Any]]:
    """Return packages or stacks as a program reads them."""
    return [msgspec.to_builtins(line) for line in lines]
