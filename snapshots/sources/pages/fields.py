"""Access to the values of a page that expects a type and names the key where there is another."""

from collections.abc import Callable, Mapping
from typing import Any

from snapshots.errors import SourceError
from snapshots.sources.pages.values import size_in_bytes
from snapshots.spack.names import Check
from snapshots.wording import visible

_SHOWN = 40


class Fields:
    """The values of an object by key; every method raises SourceError for a wrong type."""

    def __init__(self, values: Mapping[str, Any], location: str) -> None:
        self._values = values
        self._location = location

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; the default, if there is one, where the key is absent or null."""
        value = self._values.get(key, default)
        if type(value) is str:
            return value
        if value is None and default is not None:
            return default
        raise self._mistyped(key, "a text")

    def checked(self, key: str, check: Check) -> str:
        """Return a text that ``check`` returns."""
        text = self.text(key)
        try:
            return check(text)
        except ValueError as error:
            raise self.wrong(key, str(error)) from None

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        value = self._values.get(key)
        if type(value) is list and all(type(item) is str for item in value):
            return value
        raise self._mistyped(key, "a list of texts")

    def canonical(self, key: str, form: Callable[[list[str]], tuple[str, ...]]) -> tuple[str, ...]:
        """Return a list of texts in the form that ``form`` gives it, or raises ValueError for."""
        try:
            return form(self.texts(key))
        except ValueError as error:
            raise self.wrong(key, str(error)) from None

    def size(self, key: str) -> int | None:
        """Return a number of bytes; None where it is not known."""
        try:
            return size_in_bytes(self._values.get(key))
        except ValueError:
            raise self._mistyped(key, "a number of bytes or '-'") from None

    def wrong(self, key: str, reason: str, line: int | None = None) -> SourceError:
        """Return the error for what is wrong with the value of a key."""
        return SourceError(self._location, reason, line=line, key=key)

    def _mistyped(self, key: str, expected: str) -> SourceError:
        if key not in self._values:
            return self.wrong(key, f"is missing: {expected} is expected")
        found = visible(repr(self._values[key]))
        shown = found if len(found) <= _SHOWN else f"{found[: _SHOWN - 3]}..."
        return self.wrong(key, f"{expected} is expected, not {shown}")
