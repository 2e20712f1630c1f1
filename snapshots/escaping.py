"""Texts from outside as they may stand in messages: all of them seen, in one line, and short."""

import re

_LONGEST_QUOTE = 80

# Printable for Python, but blank: Hangul fillers, the braille blank, selectors of variants ...
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def is_plain(text: str) -> bool:
    """Tell whether all of a text is seen where it is shown, and stands in one line.

    It then holds no control characters, line breaks, marks that turn the direction of writing, or
    characters without width.
    """
    return text.isprintable() and (text.isascii() or _BLANK.search(text) is None)


def visible(text: str) -> str:
    r"""Return the text with what is not seen written out: ``\x1b``, ``\u202e``."""
    if is_plain(text):
        return text
    return "".join(char if is_plain(char) else _written_out(char) for char in text)


def shortened(text: str, longest: int) -> str:
    """Return the text, cut in its middle where it is longer than ``longest`` characters."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[:half]}...{text[len(text) - half :]}"


def legible(text: str, longest: int) -> str:
    """Return the text visible, and then cut in its middle to ``longest`` characters.

    It takes no longer for a long text than for a short one.
    """
    return shortened(visible(shortened(text, longest)), longest)


def quoted(text: str) -> str:
    """Return the text in quotes, visible and no longer than a message bears."""
    return legible(repr(shortened(text, _LONGEST_QUOTE)), _LONGEST_QUOTE)


def _written_out(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
