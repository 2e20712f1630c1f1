"""Text that fits the terminal: tables, labelled facts, wrapped lines."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from server.terminal.printing import styles

Style = Callable[[str], str]

_GAP = 2
_INDENT = " " * 4
# Lines part at blanks and between switches (+mpi~cxx), not within what stands in quotes.
_PIECE = re.compile(r"""\s*[+~]?(?:"[^"]*"|'[^']*'|[^\s+~])*""")


def _plain(text: str) -> str:
    return text


class Column(msgspec.Struct, frozen=True):
    """A column of a table; those with the highest ``rank`` are left out first."""

    head: str
    cells: Sequence[str]
    rank: int
    is_number: bool = False
    style: Style = _plain

    @property
    def width(self) -> int:
        """How many characters the widest cell takes."""
        return max(map(len, (self.head, *self.cells)))


def numbers(head: str, counts: Iterable[int], rank: int) -> Column:
    """Return a column of numbers of things."""
    return Column(head, [f"{count:,}" for count in counts], rank, is_number=True)


def table(columns: Sequence[Column], width: int | None) -> Iterator[str]:
    """Yield the lines of a table no wider than ``width``; None is as wide as it takes.

    Columns are left out until the others fit; the one of rank 0 always stays.
    """
    shown = list(columns)
    while width is not None and _width_of(shown) > width and any(column.rank for column in shown):
        shown.remove(max(shown, key=lambda column: column.rank))
    widths = [column.width for column in shown]
    for number in range(-1, len(columns[0].cells)):
        cells = []
        for column, wide in zip(shown, widths, strict=True):
            text = column.head if number < 0 else column.cells[number]
            padded = text.rjust(wide) if column.is_number else text.ljust(wide)
            if column is shown[-1]:
                padded = padded.rstrip()
            cells.append(padded if number < 0 else column.style(padded))
        yield (" " * _GAP).join(cells)


def _width_of(columns: Sequence[Column]) -> int:
    return sum(column.width + _GAP for column in columns) - _GAP


def wrapped(text: str, width: int | None, indent: str = _INDENT) -> list[str]:
    """Return the lines of a text of specs; all but the first are indented.

    Lines are parted at blanks and between the switches of variants. Only a piece that alone is
    wider than ``width`` is left as it is.
    """
    if width is None or len(text) <= width:
        return [text]
    lines = [""]
    for piece in filter(None, _PIECE.findall(text)):
        if lines[-1].strip() and len(lines[-1]) + len(piece) > width:
            lines.append(indent + piece.lstrip())
        else:
            lines[-1] += piece
    return lines


_LABEL_GAP = 2


def labelled(facts: Iterable[tuple[str, str]], width: int | None) -> Iterator[str]:
    """Yield a line for each label and its text, the texts aligned; long ones take more lines."""
    shown = [(f"{label}:", text) for label, text in facts if text]
    widest = max((len(label) for label, _ in shown), default=0) + _LABEL_GAP
    for label, text in shown:
        first, *others = wrapped(label.ljust(widest) + text, width, " " * widest)
        yield styles.quiet(first[:widest]) + first[widest:]
        yield from others
