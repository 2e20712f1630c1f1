"""Release notes as a part of a page."""

import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

MOST_CHARACTERS = 70_000
"""How long the notes may be on their page; whole they are had as Markdown."""

_LIST = re.compile(r"<ul>\n(.*?)</ul>", re.DOTALL)


def notes(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the notes as HTML, and whether long lists were shortened.

    Of the notes, which are a page of their own, it is what stands in ``main``.
    """
    whole: str = data["compare"]["releaseNotes"]
    body = whole[whole.index("<main>") + len("<main>") : whole.rindex("</main>")]
    shown = fitting(body, MOST_CHARACTERS)
    # The template of the notes escapes every name that it writes: no markup is of the catalog's.
    return {"notes": Markup(shown), "are_shortened": shown is not body}  # noqa: S704


def fitting(body: str, most: int) -> str:
    """Return notes with as many lines of each list as fit; the same object where all do."""
    if len(body) <= most:
        return body
    shown = body
    for lines in (200, 100, 50, 25, 10, 3):
        shown = _LIST.sub(lambda it, lines=lines: _shortened(it[1], lines), body)
        if len(shown) <= most:
            break
    return shown


def _shortened(items: str, most: int) -> str:
    lines = items.splitlines(keepends=True)
    if len(lines) > most:
        lines[most:] = [f"<li><em>and {len(lines) - most:,} more</em></li>\n"]
    return f"<ul>\n{''.join(lines)}</ul>"
