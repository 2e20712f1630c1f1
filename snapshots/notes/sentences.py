"""Sentences about the content of a build cache, rendered as Markdown, HTML or plain text.

A sentence consists of pieces. Plain strings are cachelog's own words; texts from outside are
marked, so that each format escapes them by its own rules.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from urllib.parse import quote

from snapshots.texts import counted, size, visible

_BACKTICKS = re.compile(r"`+")
# Words separated by single dots, dashes, pluses and underscores; www. would begin a link.
_HARMLESS = re.compile(r"(?!www\.)[A-Za-z0-9]+(?:[._+-][A-Za-z0-9]+)*", re.IGNORECASE)

_OF_URLS = "/:?#[]@!$&*+,;=%~"
"""Characters in URLs, besides letters, digits, dots and dashes, that do not end a Markdown link."""


def markdown_code(text: str) -> str:
    """Return a text as a Markdown code span, which the text cannot end or break into lines."""
    if _HARMLESS.fullmatch(text):
        return f"`{text}`"
    text = visible(text)
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    # Markdown strips one space at each end, unless the code span has only spaces.
    needs_spaces = not text or text[0] in "` " or text[-1] in "` "
    padded = f" {text} " if needs_spaces else text
    return f"{fence}{padded}{fence}"


def markdown_text(text: str) -> str:
    """Return a text unchanged if Markdown has no special meaning for it, else as a code span."""
    return text if _HARMLESS.fullmatch(text) else markdown_code(text)


def number(count: int) -> str:
    """Return a number with commas as thousands separators."""
    return f"{count:,}"


def size_delta(before: int | None, after: int | None) -> str:
    """Return the difference of two sizes with its sign; empty if one is unknown."""
    if before is None or after is None:
        return ""
    return f"{'-' if after < before else '+'}{size(abs(after - before))}"


def long_day(moment: datetime) -> str:
    """Return a date in the form "20 January 2025"."""
    return f"{moment.day} {moment:%B %Y}"


SYNTHETIC = "Synthetic data, made up for demonstration: no real build cache ever held this."
"""What is said of generated data."""

_WORDS = (
    "no one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
)


class Name(str):
    """A name from outside, such as a package's, that is rendered as code."""

    __slots__ = ()


class Value(str):
    """Another text from outside, such as a version."""

    __slots__ = ()


class Reference(str):
    """A text that names something anywhere, such as spack-packages#5277, and its ``url`` if known.

    As a link, which leads there itself, it shows only the ``short`` form.
    """

    __slots__ = ("short", "url")
    short: str
    url: str | None

    def __new__(cls, text: str, url: str | None, short: str | None = None) -> "Reference":
        """Return a text with its URL."""
        reference = super().__new__(cls, text)
        reference.url, reference.short = url, short or text
        return reference


Pieces = Sequence[str]


class Sentence:
    """A sentence: its ``pieces`` are texts; those of type Name, Value and Reference are marked."""

    def __init__(self, *pieces: str) -> None:
        self.pieces: Pieces = pieces

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sentence) and plain(self) == plain(other)

    def __repr__(self) -> str:
        return f"Sentence({plain(self)!r})"


def plain(sentence: Sentence) -> str:
    """Return the sentence as plain text, with invisible characters escaped."""
    return visible("".join(sentence.pieces))


def markdown(sentence: Sentence) -> str:
    """Return the sentence in Markdown."""
    return "".join(map(_in_markdown, sentence.pieces))


def html(sentence: Sentence) -> str:
    """Return the sentence in HTML."""
    return "".join(map(_in_html, sentence.pieces))


def enumerated(items: Iterable[Pieces], limit: int | None = None) -> list[str]:
    """Return the pieces of "a, b and c", or of "a, b and 2 more" if ``limit`` is 2.

    A single item beyond the limit is named as well.
    """
    listed = list(items)
    if limit is not None and len(listed) > limit + 1:
        listed[limit:] = [[f"{len(listed) - limit:,} more"]]
    pieces: list[str] = []
    for number, item in enumerate(listed):
        if number:
            pieces.append(" and " if number == len(listed) - 1 else ", ")
        pieces.extend(item)
    return pieces


def listed(values: Iterable[str]) -> list[str]:
    """Return the pieces of values that are separated by commas."""
    return [piece for value in values for piece in (", ", Value(value))][1:]


def spelled(count: int, noun: str) -> str:
    """Return a number with its noun, spelled out up to twelve: five changes."""
    text = counted(count, noun)
    return f"{_WORDS[count]} {text.partition(' ')[2]}" if count < len(_WORDS) else text


def _in_markdown(piece: str) -> str:
    if isinstance(piece, Name):
        return markdown_code(piece)
    if isinstance(piece, Reference):
        text = piece.short if piece.url else str(piece)
        if not _HARMLESS.fullmatch(text.replace("#", "", 1)):
            text = markdown_code(text)
        return f"[{text}]({quote(piece.url, safe=_OF_URLS)})" if piece.url else text
    return markdown_text(piece) if isinstance(piece, Value) else piece


def _in_html(piece: str) -> str:
    if isinstance(piece, Reference) and piece.url:
        text = escape(visible(piece.short))
        return f'<a href="{escape(quote(piece.url, safe=_OF_URLS))}">{text}</a>'
    text = escape(visible(piece))
    return f"<code>{text}</code>" if isinstance(piece, Name) else text
