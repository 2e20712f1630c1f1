"""The filters of templates; those that write texts from outside differ between markups."""

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from snapshots.notes import sentences, units
from snapshots.notes.cause_phrases import noun_phrase
from snapshots.notes.escaping import code_span, inline
from snapshots.notes.rebuilds import CauseEntry
from snapshots.notes.sentences import Sentence, enumerated
from snapshots.wording import counted, in_words, short_digest, size, visible

Filters = dict[str, Callable[..., Any]]

_FEW = 3
_BLANK_LINES = re.compile(r"\n{3,}")


def causes(group: Sequence[CauseEntry]) -> Sentence:
    """Return a group of causes that can't be told apart, in words."""
    first, *others = map(noun_phrase, group)
    if not others:
        return Sentence(*first)
    shown = others if len(others) <= _FEW + 1 else others[:_FEW]
    more = f"{len(others) - len(shown):,} more" if len(shown) < len(others) else ""
    return Sentence(*first, ", together with ", *enumerated(shown, more))


def num_specs(group: Iterable[CauseEntry]) -> int:
    """Return how many specs have one of some causes as their main cause."""
    return sum(cause.num_specs for cause in group)


def fitting(lines: Iterable[str], limit: int) -> list[str]:
    """Return as many of the first lines as have ``limit`` characters, their ends included."""
    shown: list[str] = []
    for line in lines:
        limit -= len(line) + 1
        if limit < 0:
            break
        shown.append(line)
    return shown


def tidy(text: str) -> str:
    """Return a text without blanks at ends of lines and without two blank lines in a row."""
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return _BLANK_LINES.sub("\n\n", lines).strip("\n") + "\n"


def _teller(write: Callable[[Sentence], str]) -> Callable[[Any], str]:
    """Return a filter that writes a sentence, or several one after the other."""

    def told(value: Sentence | Iterable[Sentence]) -> str:
        return write(value) if isinstance(value, Sentence) else " ".join(map(write, value))

    return told


def _each(write: Callable[[str], str]) -> Callable[[str | Iterable[str]], str]:
    """Return a filter that writes a text, or several with commas between them."""

    def written(value: str | Iterable[str]) -> str:
        return write(value) if isinstance(value, str) else ", ".join(map(write, value))

    return written


def _in_html(write: Callable[..., str]) -> Callable[..., Markup]:
    """Return a filter whose text is HTML already."""
    return lambda *arguments: Markup(write(*arguments))  # noqa: S704 - what it writes is escaped


def _code(text: str) -> str:
    return f"<code>{escape(visible(text))}</code>"


_told_in_markdown, _told_in_html = _teller(sentences.markdown), _teller(sentences.html)

_PLAIN: Filters = {
    "counted": counted,
    "day": units.long_day,
    "fact_name": in_words,
    "fitting": fitting,
    "num_specs": num_specs,
    "number": units.number,
    "short_digest": short_digest,
    "size": size,
    "size_delta": units.size_delta,
    "tidy": tidy,
}

MARKDOWN: Filters = _PLAIN | {
    "causes": lambda group: _told_in_markdown(causes(group)),
    "code_span": code_span,
    "inline": _each(inline),
    "told": _told_in_markdown,
}

HTML: Filters = _PLAIN | {
    "causes": _in_html(lambda group: _told_in_html(causes(group))),
    "code_span": _in_html(_code),
    "inline": _in_html(_each(lambda text: escape(visible(text)))),
    "told": _in_html(_told_in_html),
}
