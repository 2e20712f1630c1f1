"""Release notes as a part of a page."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

MOST_CHARACTERS = 70_000
"""How long the notes may be on their page; whole they are had as Markdown."""

_HEADING = re.compile(r"(</?h)([1-3])(?=>)")
_LIST = re.compile(r"<ul>\n(.*?)</ul>", re.DOTALL)


def notes(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the notes as HTML, and whether long lists were shortened.

    Of the notes, which are a page of their own, it is what stands in ``main``.
    """
    whole: str = data["compare"]["releaseNotes"]
    body = whole[whole.index("<main>") + len("<main>") : whole.rindex("</main>")]
    shown = _HEADING.sub(_deeper, fitting(body, MOST_CHARACTERS))
    # The template of the notes escapes every name that it writes: no markup is of the catalog's.
    return {"notes": Markup(shown), "are_shortened": len(shown) < len(body)}  # noqa: S704


def fitting(body: str, most: int) -> str:
    """Return notes with as many lines of each list as fit."""
    if len(body) <= most:
        return body
    shown = body
    for lines in (200, 100, 50, 25, 10, 3):
        shown = _LIST.sub(partial(_shortened, lines), body)
        if len(shown) <= most:
            break
    return shown


def _deeper(heading: re.Match[str]) -> str:
    """Return a heading one level deeper: the first is the page's own."""
    return f"{heading[1]}{int(heading[2]) + 1}"


def _shortened(most: int, found: re.Match[str]) -> str:
    lines = found[1].splitlines(keepends=True)
    if len(lines) > most:
        lines[most:] = [f"<li><em>and {len(lines) - most:,} more</em></li>\n"]
    return f"<ul>\n{''.join(lines)}</ul>"
