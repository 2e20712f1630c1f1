"""Lines that fit the terminal: tables, labelled facts, and a line for a spec or a change."""

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from shutil import get_terminal_size
from typing import Any

import click
import msgspec

from snapshots.changes.diff import SpecChangeKind
from snapshots.frames.dependencies import DependencyType
from snapshots.models import Source, Spec
from snapshots.spack.names import ROOT_STACK, natural_key
from snapshots.texts import short_hash

Style = Callable[[str], str]

digest = partial(click.style, fg="yellow")
name = partial(click.style, bold=True)
quiet = partial(click.style, dim=True)
added = partial(click.style, fg="green")
removed = partial(click.style, fg="red")
changed = partial(click.style, fg="cyan")

SIGNS: dict[SpecChangeKind, tuple[str, Style]] = {
    SpecChangeKind.ADDED: ("+", added),
    SpecChangeKind.REMOVED: ("-", removed),
    SpecChangeKind.CHANGED: ("≠", changed),
}
"""The sign and the style of each kind of change."""

_GAP = 2


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table. Those with the highest ``rank`` are omitted first.

    ``cell`` returns the content of a row's cell: a text, a number, or None for unknown.
    """

    head: str
    rank: int
    cell: Callable[[Any], str | int | None]
    style: Style = str
    is_number: bool = False

    def texts(self, rows: Iterable[Any]) -> list[str]:
        """Return the head and all cells, padded to equal length."""
        texts = [self.head, *(_cell_text(self.cell(row)) for row in rows)]
        widest = max(map(len, texts))
        return [text.rjust(widest) if self.is_number else text.ljust(widest) for text in texts]


def number(head: str, rank: int, cell: Callable[[Any], str | int | None]) -> TableColumn:
    """Return a column of numbers, which are right-aligned."""
    return TableColumn(head, rank, cell, is_number=True)


def _cell_text(value: str | int | None) -> str:
    if isinstance(value, str):
        return value
    return "unknown" if value is None else f"{value:,}"


def table(rows: Sequence[Any], columns: Sequence[TableColumn]) -> Iterator[str]:
    """Yield the lines of a table, none without rows.

    At a terminal, columns are omitted until the others fit. Those of rank 0 are always shown.
    """
    if not rows:
        return
    shown = [(column, column.texts(rows)) for column in columns]
    limit = get_terminal_size().columns if sys.stdout.isatty() else None
    while limit is not None and _width_of(shown) > limit and any(c.rank for c, _ in shown):
        shown.remove(max(shown, key=lambda pair: pair[0].rank))
    for place in range(len(rows) + 1):
        cells = [texts[place] for _, texts in shown]
        cells[-1] = cells[-1].rstrip()
        if place:
            cells = [column.style(cell) for (column, _), cell in zip(shown, cells, strict=True)]
        yield (" " * _GAP).join(cells)


def _width_of(columns: Sequence[tuple[TableColumn, list[str]]]) -> int:
    return sum(len(texts[0]) + _GAP for _, texts in columns) - _GAP


def labelled(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each label with its text, aligned; labels without text are omitted."""
    shown = [(f"{label}:", text) for label, text in facts if text]
    widest = max((len(label) for label, _ in shown), default=0) + _GAP
    for label, text in shown:
        yield quiet(label.ljust(widest)) + text


def spec_line(spec: Spec, note: str = "", common: Container[str] = ()) -> str:
    """Return a spec: its short hash, short form and stacks, without the ``common`` variants."""
    own = [variant for variant in spec.variants if variant not in common]
    short = msgspec.structs.replace(spec, variants=own).short
    stacks = sorted({*spec.stacks} - {ROOT_STACK}, key=natural_key)
    in_stacks = f" ({' '.join(stacks)})" if stacks else ""
    return f"{digest(short_hash(spec.hash))} {short}{in_stacks}{note and f': {note}'}"


def types_of(mask: int) -> list[str]:
    """Return the names of the types of a dependency."""
    return [str(kind.name).lower() for kind in DependencyType if kind & mask]


def source_text(source: Source) -> str:
    """Return the kind, location and version of a source, such as 'git https://... (abc)'."""
    location = source.location
    if not location.startswith(f"{source.kind}:"):
        location = f"{source.kind} {location}"
    return f"{location} ({source.version})" if source.version else location
