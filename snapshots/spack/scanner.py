"""A text with a position: the basis of the parsers of spec queries and versions."""

import re
from typing import NoReturn

from snapshots.errors import ConstraintSyntaxError

_SPACE = re.compile(r"\s*")


class Scanner:
    """Reads a text from left to right; ``position`` is the number of characters read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def peek(self) -> str:
        """Skip white space; return the next character, or an empty text at the end."""
        self.accept(_SPACE)
        return self.text[self.position : self.position + 1]

    def sees(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match the pattern at the position, without moving; None if it does not match."""
        return pattern.match(self.text, self.position)

    def accept(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match the pattern at the position and move past it; None if it does not match."""
        match = self.sees(pattern)
        if match is not None:
            self.position = match.end()
        return match

    def expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Match the pattern at the position and move past it; fail if it does not match."""
        return self.accept(pattern) or self.fail_expecting(what)

    def fail_expecting(self, what: str) -> NoReturn:
        """Raise ConstraintSyntaxError: something else stands here than what is expected."""
        if self.position == len(self.text):
            self.fail(f"unexpected end, {what} is missing")
        self.fail(f"unexpected {self.text[self.position]!r}")

    def refuse(self, what: str, position: int | None = None) -> NoReturn:
        """Raise ConstraintSyntaxError: Spack knows this, cachelog does not."""
        self.fail(f"not supported: {what}", position)

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        """Raise ConstraintSyntaxError, at the current position unless another is given."""
        raise ConstraintSyntaxError(
            self.text, self.position if position is None else position, reason
        )
