"""Rule files in TOML: all faults are reported, each with its line and key.

``tomllib`` does not report the lines of keys. In a text that it accepts, a line that starts like a
key or a table header is one, unless it is inside a multi-line string.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snapshots.changes.rules.rules import MAX_RULES_IN_FILE, BadRule, Rule, read_rule
from snapshots.errors import RulesError, SourceError
from snapshots.models import ConcreteSpec
from snapshots.sources import lock_files
from snapshots.sources.inputs import read_regular
from snapshots.texts import quoted

_PART = r"""(?:"(?:[^"\\]|\\.)*+"|'[^']*+'|[\w-]++)"""
_STATEMENT = re.compile(
    rf"[ \t]*(?P<head>\[\[?)?[ \t]*(?P<names>{_PART}(?:[ \t]*\.[ \t]*{_PART})*+)[ \t]*"
    r"(?(head)\]\]?[ \t]*(?:\#|\r?$)|=)"
)
"""The start of a line that sets a key, or a line that is a table header.

The last list in a list of lists, without a comma behind it, looks like a header; no rule has one.
"""

_UP_TO_TEXT = re.compile(
    r"""(?:[^"'#]|"(?!"")(?:[^"\\]|\\.)*+"|'(?!'')[^']*+')*+(?P<opens>\"{3}|'{3})?"""
)
"""The text before a multi-line string, and the quotes that open it, if there is one."""

Place = tuple[int, str | None]
"""The index of a table in an array of tables, -1 for none, and a key; None for its header."""


def lines_of(text: str, array: str) -> dict[Place, int]:
    """Return the line, from 1, of each table in an array of tables and of each of its keys.

    Keys outside the array have the index -1. The text must be valid TOML.
    """
    places: dict[Place, int] = {}
    number, outside, quotes = -1, True, ""
    for line, content in enumerate(text.split("\n"), 1):
        match = None if quotes else _STATEMENT.match(content)
        quotes = _left_open(content, quotes)
        if match is None:
            continue
        names = [part.strip("\"'") for part in re.findall(_PART, match["names"])]
        key: str | None = names[0]
        if match["head"]:
            outside = names[0] != array
            number += not outside and len(names) == 1
            if not outside:
                key = names[1] if len(names) > 1 else None
        places.setdefault((-1 if outside else number, key), line)
    return places


def _left_open(line: str, quotes: str) -> str:
    """Return the quotes of the string that is open after a line; ``quotes`` was open before it."""
    position = 0
    while True:
        if quotes:
            end = line.find(quotes, position)
            if end < 0:
                return quotes
            position = end + len(quotes)
        match = _UP_TO_TEXT.match(line, position)
        if match is None or not match["opens"]:
            return ""
        quotes, position = match["opens"], match.end()


LARGEST_FILE = 1 << 20
"""Maximum size of a rule file in bytes."""

_ARRAY = "rule"
_DEEP_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}"""
)
"""A key with very many parts, for which the TOML parser takes quadratic time."""

_ERROR_PLACE = re.compile(r" ?\(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def read_rules(location: str) -> list[Rule]:
    """Return the rules of a file; paths of lock files are relative to it.

    Raises RulesError with all faults.
    """
    try:
        data = read_regular(location, LARGEST_FILE)
        text = data.decode("utf-8-sig")
    except SourceError as error:
        raise RulesError([error]) from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RulesError([SourceError(location, "is not UTF-8", line=line)]) from None
    return parse_rules(text, location)


def parse_rules(text: str, location: str) -> list[Rule]:
    """Return the rules of a text; paths of lock files are relative to ``location``, its name.

    Raises RulesError with all faults.
    """
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise RulesError([SourceError(location, "nests too deeply", line=line)])
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # a TOML error, or a number with thousands of digits
        raise RulesError([_syntax_error(text, location, error)]) from None
    except RecursionError:
        raise RulesError([SourceError(location, "nests too deeply")]) from None
    return _File(location, document, lines_of(text, _ARRAY)).rules()


def _syntax_error(text: str, location: str, error: ValueError) -> SourceError:
    reason = str(error)
    match = _ERROR_PLACE.search(reason)
    line = int(match["line"]) if match and match["line"] else text.count("\n") + 1
    return SourceError(location, f"is not TOML: {_ERROR_PLACE.sub('', reason)}", line=line)


class _File:
    """The document of a rule file, with the lines of its keys."""

    def __init__(
        self, location: str, document: Mapping[str, Any], lines: Mapping[Place, int]
    ) -> None:
        self._location = location
        self._document = document
        self._lines = lines

    def rules(self) -> list[Rule]:
        """Return the rules; raises RulesError with all faults."""
        errors = list(self._outside())
        tables = self._document.get(_ARRAY, [])
        rules: list[Rule] = []
        if not errors and not tables:
            errors.append(self._error(-1, None, "has no rules: each begins with [[rule]]"))
        elif not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            errors.append(
                self._error(-1, _ARRAY, "is not a list of tables: write [[rule]] above each")
            )
        elif len(tables) > MAX_RULES_IN_FILE:
            reason = f"there are {len(tables):,} rules; there may be {MAX_RULES_IN_FILE}"
            errors.append(self._error(-1, None, reason))
        else:
            errors += self._read(tables, rules)
        if errors:
            raise RulesError(sorted(errors, key=lambda error: error.line or 0))
        return rules

    def _outside(self) -> Iterator[SourceError]:
        """Yield the errors of keys outside of rules."""
        for key in self._document:
            if key != _ARRAY:
                reason = "is outside of a rule: a file of rules contains only [[rule]]"
                yield self._error(-1, key, reason)

    def _read(self, tables: Sequence[Mapping[str, Any]], rules: list[Rule]) -> list[SourceError]:
        """Append each rule to ``rules``; return the errors."""
        errors: list[SourceError] = []
        for number, table in enumerate(tables):
            try:
                rules.append(read_rule(table, self._covered, line=self._line(number, None)))
            except BadRule as bad:
                errors += [self._error(number, fault.key, fault.reason) for fault in bad.faults]
        return [*errors, *self._named_twice(tables)]

    def _named_twice(self, tables: Iterable[Mapping[str, Any]]) -> Iterator[SourceError]:
        seen: set[str] = set()
        for number, table in enumerate(tables):
            name = table.get("name")
            if isinstance(name, str):
                if name in seen:
                    reason = f"another rule is called {quoted(name)} as well"
                    yield self._error(number, "name", reason)
                seen.add(name)

    def _covered(self, path: str) -> Sequence[ConcreteSpec]:
        """Return the specs of a lock file; raise ValueError if it cannot be read."""
        try:
            lock = lock_files.read(str(Path(self._location).parent / path))
        except SourceError as error:
            raise ValueError(str(error)) from None
        return lock.specs

    def _error(self, number: int, key: str | None, reason: str) -> SourceError:
        return SourceError(self._location, reason, line=self._line(number, key), key=key)

    def _line(self, number: int, key: str | None) -> int:
        """Return the line of a key, or else of its rule, or else the first line."""
        places = ((number, key), (number, None), (-1, key), (-1, _ARRAY))
        return next((self._lines[place] for place in places if place in self._lines), 1)
