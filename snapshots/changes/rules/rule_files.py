"""Rule files in TOML: all faults are reported, each with its line and key.

``tomllib`` does not report the lines of keys. The lines of rules and keys are found by their
beginnings, which may be misled by a text of several lines.
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

_STATEMENT = re.compile(r"""\s*(?P<head>\[*)\s*["']?(?P<name>[\w-]+)[^=]*(?:=|\]\s*(?:#.*)?$)""")

Place = tuple[int, str | None]
"""The index of a table in an array, -1 before the first, and a key; None for its header."""


def lines_of(text: str, array: str) -> dict[Place, int]:
    """Return the line, from 1, of each table in an array of tables and of each of its keys."""
    places: dict[Place, int] = {}
    number = -1
    for line, content in enumerate(text.split("\n"), 1):
        if match := _STATEMENT.match(content):
            is_rule = match["head"] == "[[" and match["name"] == array
            number += is_rule
            places.setdefault((number, None if is_rule else match["name"]), line)
    return places


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
        outside = (place for place in self._lines if number < 0 and place[1] == key)
        places = ((number, key), (number, None), *outside, (-1, _ARRAY))
        return next((self._lines[place] for place in places if place in self._lines), 1)
