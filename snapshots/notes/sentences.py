"""Sentences that name what a build cache holds, to be written in Markdown, in HTML or as they are.

A sentence is made of pieces. A plain text is of cachelog's own words; what came from outside is
marked, so that each format escapes it by its own rules.
"""

from collections.abc import Iterable, Sequence
from html import escape

from snapshots.notes.escaping import code_span, inline
from snapshots.wording import counted, visible

_WORDS = (
    "no one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
)


class Name(str):
    """A name from outside, such as a package's, that is shown as code."""

    __slots__ = ()


class Value(str):
    """Another text from outside, such as a version."""

    __slots__ = ()


Pieces = Sequence[str]


class Sentence:
    """A sentence: its ``pieces`` are texts, of which Name and Value come from outside."""

    def __init__(self, *pieces: str) -> None:
        self.pieces: Pieces = pieces

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sentence) and plain(self) == plain(other)

    def __hash__(self) -> int:
        return hash(plain(self))

    def __repr__(self) -> str:
        return f"Sentence({plain(self)!r})"


def plain(sentence: Sentence) -> str:
    """Return the sentence as it is, with what is not seen written out."""
    return visible("".join(sentence.pieces))


def markdown(sentence: Sentence) -> str:
    """Return the sentence in Markdown."""
    return "".join(map(_in_markdown, sentence.pieces))


def html(sentence: Sentence) -> str:
    """Return the sentence in HTML."""
    return "".join(map(_in_html, sentence.pieces))


def enumerated(items: Sequence[Pieces], others: str = "") -> list[str]:
    """Return the pieces of "a, b and c"; ``others`` is one more item, in words of our own."""
    every: list[Pieces] = [*items, [others]] if others else list(items)
    pieces: list[str] = []
    for number, item in enumerate(every):
        if number:
            pieces.append(" and " if number == len(every) - 1 else ", ")
        pieces.extend(item)
    return pieces


def names(texts: Iterable[str], limit: int) -> list[str]:
    """Return the pieces of a list of names, of which only the first few are named."""
    every = list(texts)
    shown = every if len(every) <= limit + 1 else every[:limit]
    others = f"{len(every) - len(shown):,} more" if len(shown) < len(every) else ""
    return enumerated([[Name(text)] for text in shown], others)


def spelled(count: int, noun: str) -> str:
    """Return a number with its noun, in words up to twelve: five changes."""
    text = counted(count, noun)
    return f"{_WORDS[count]} {text.partition(' ')[2]}" if count < len(_WORDS) else text


def _in_markdown(piece: str) -> str:
    if isinstance(piece, Name):
        return code_span(piece)
    return inline(piece) if isinstance(piece, Value) else piece


def _in_html(piece: str) -> str:
    text = escape(visible(piece))
    return f"<code>{text}</code>" if isinstance(piece, Name) else text
