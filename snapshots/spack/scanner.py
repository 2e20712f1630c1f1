"""A text and a place in it: what the readers of spec queries share, and how they fail."""

import re
from typing import NoReturn

from snapshots.errors import ConstraintSyntaxError

_SPACE = re.compile(r"\s*")


class Scanner:
    """Goes through a text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def peek(self) -> str:
        """Go over white space; return the character behind it, or nothing at the end."""
        self.accept(_SPACE)
        return self.text[self.position : self.position + 1]

    def sees(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return what stands here, where it has the pattern, and stay."""
        return pattern.match(self.text, self.position)

    def accept(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return what stands here, where it has the pattern, and go behind it."""
        match = self.sees(pattern)
        if match is not None:
            self.position = match.end()
        return match

    def expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Return what stands here and go behind it; fail where it has not the pattern."""
        return self.accept(pattern) or self.fail_expecting(what)

    def fail_expecting(self, what: str) -> NoReturn:
        """Raise ConstraintSyntaxError: here is something else than what belongs here."""
        if self.position == len(self.text):
            self.fail(f"unexpected end, {what} is missing")
        self.fail(f"unexpected {self.text[self.position]!r}")

    def refuse(self, what: str, position: int | None = None) -> NoReturn:
        """Raise ConstraintSyntaxError: Spack knows this, cachelog does not."""
        self.fail(f"not supported: {what}", position)

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        """Raise ConstraintSyntaxError, at the place reached if no other is given."""
        raise ConstraintSyntaxError(
            self.text, self.position if position is None else position, reason
        )
