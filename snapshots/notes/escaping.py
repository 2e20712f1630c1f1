"""Texts from outside in Markdown: they are shown as they are, and never become markup.

Source: CommonMark 0.31, 6.1 (code spans), and GitHub's extensions, which make links of bare URLs.
"""

import re

from snapshots.wording import visible

_BACKTICKS = re.compile(r"`+")
# Words with single dots, dashes, pluses and underscores between them; www. begins a link.
_HARMLESS = re.compile(r"(?!www\.)[A-Za-z0-9]+(?:[._+-][A-Za-z0-9]+)*", re.IGNORECASE)


def code_span(text: str) -> str:
    """Return a text as a code span; nothing in it ends the span or begins another line."""
    if _HARMLESS.fullmatch(text):
        return f"`{text}`"
    text = visible(text)
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    # One space at each end is taken off again, where there is something else between them.
    needs_spaces = not text or text[0] in "` " or text[-1] in "` "
    padded = f" {text} " if needs_spaces else text
    return f"{fence}{padded}{fence}"


def inline(text: str) -> str:
    """Return a text as it is where Markdown takes it as it is, else as a code span."""
    return text if _HARMLESS.fullmatch(text) else code_span(text)
