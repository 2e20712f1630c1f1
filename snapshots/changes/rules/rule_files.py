"""A file of rules, in TOML: read whole, and every fault with its line and key.

``tomllib`` reports no lines of what it reads. But each statement of TOML ends with a line, and is
TOML by itself, while the begin of one that goes on in the next line is not. So the shortest run of
lines that can be read is one statement, and there is no second reader of the syntax here.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snapshots.changes.rules.rules import MOST_RULES, BadRule, Rule, read_rule
from snapshots.errors import RulesError, SourceError
from snapshots.models import ConcreteSpec
from snapshots.sources import lock_files
from snapshots.sources.inputs import read_regular
from snapshots.texts import quoted

_ENDS = ("]", "}", '"""', "'''")
"""What the last line of a value of several lines has one of."""

_MOST_READ = 20_000_000
"""Characters that are read to find ends of statements, a second's work; later lines are unknown.

It takes thousands of lines in one value, each of which could be its last.
"""

Place = tuple[int, str | None]
"""The number of a table of an array of tables, -1 for none, and a key in it; None for its head."""


def lines_of(text: str, array: str) -> dict[Place, int]:
    """Return the line, from 1, of each table of an array of tables and of each key in it.

    The keys outside the array have the number -1. The text must be TOML. Those of texts that take
    too long are left out from some line on.
    """
    places: dict[Place, int] = {}
    number, outside = -1, True
    for line, statement in _statements(text):
        names = _names(tomllib.loads(statement))
        if not names:
            continue
        is_head = statement.lstrip().startswith("[")
        if is_head:
            outside = names[0] != array
            number += not outside and len(names) == 1
            key = names[1] if len(names) > 1 else None
            places.setdefault((-1, names[0]) if outside else (number, key), line)
        else:
            places.setdefault((-1 if outside else number, names[0]), line)
    return places


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement with the line that it begins on."""
    start, left, lines = 1, _MOST_READ, text.replace("\r\n", "\n").split("\n")
    held: list[str] = []
    for number, line in enumerate(lines, 1):
        if not held:
            start = number
        held.append(line)
        if len(held) == 1 or any(end in line for end in _ENDS):
            statement = "\n".join(held)
            left -= len(statement)
            if left < 0:
                return
            if _is_toml(statement):
                yield start, statement
                held = []


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _names(table: object) -> list[str]:
    """Return the keys on the way down to the only value of a statement."""
    names: list[str] = []
    while isinstance(table, dict) and table:
        name, table = next(iter(table.items()))
        names.append(name)
        if isinstance(table, list) and table == [{}]:
            break
    return names


LARGEST_FILE = 1 << 20
"""How many bytes a file of rules may have."""

_ARRAY = "rule"
_DEEP_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}"""
)
"""A key of very many parts, which takes the reader of TOML time by the square of them."""

_ERROR_PLACE = re.compile(r" ?\(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def read_rules(location: str) -> list[Rule]:
    """Return the rules of a file; lock files are read as seen from it.

    Raises RulesError with everything that is wrong.
    """
    try:
        data = read_regular(location, LARGEST_FILE)
        text = data.decode("utf-8-sig")
    except SourceError as error:
        raise RulesError([error]) from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RulesError([SourceError(location, "is no UTF-8", line=line)]) from None
    return parse_rules(text, location)


def parse_rules(text: str, location: str) -> list[Rule]:
    """Return the rules of a text; ``location`` names it, and lock files are as seen from there.

    Raises RulesError with everything that is wrong.
    """
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise RulesError([SourceError(location, "nests too deeply", line=line)])
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # TOML's own, and that of a number with thousands of digits
        raise RulesError([_syntax_error(text, location, error)]) from None
    except RecursionError:
        raise RulesError([SourceError(location, "nests too deeply")]) from None
    return _File(location, document, lines_of(text, _ARRAY)).rules()


def _syntax_error(text: str, location: str, error: ValueError) -> SourceError:
    reason = str(error)
    match = _ERROR_PLACE.search(reason)
    line = int(match["line"]) if match and match["line"] else text.count("\n") + 1
    return SourceError(location, f"is no TOML: {_ERROR_PLACE.sub('', reason)}", line=line)


class _File:
    """The document of a file of rules, with the lines of its keys."""

    def __init__(
        self, location: str, document: Mapping[str, Any], lines: Mapping[Place, int]
    ) -> None:
        self._location = location
        self._document = document
        self._lines = lines

    def rules(self) -> list[Rule]:
        """Return the rules; raises RulesError with everything that is wrong."""
        errors = list(self._outside())
        tables = self._document.get(_ARRAY, [])
        rules: list[Rule] = []
        if not errors and not tables:
            errors.append(self._error(-1, None, "has no rules: each begins with [[rule]]"))
        elif not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            errors.append(
                self._error(-1, _ARRAY, "is no list of tables: write [[rule]] above each")
            )
        elif len(tables) > MOST_RULES:
            reason = f"there are {len(tables):,} rules; there may be {MOST_RULES}"
            errors.append(self._error(-1, None, reason))
        else:
            errors += self._read(tables, rules)
        if errors:
            raise RulesError(sorted(errors, key=lambda error: error.line or 0))
        return rules

    def _outside(self) -> Iterator[SourceError]:
        """Yield the errors of keys that are in no rule."""
        for key in self._document:
            if key != _ARRAY:
                reason = "stands in no rule: a file of rules has nothing but [[rule]]"
                yield self._error(-1, key, reason)

    def _read(self, tables: Sequence[Mapping[str, Any]], rules: list[Rule]) -> list[SourceError]:
        """Read each rule into a list; return the errors."""
        errors: list[SourceError] = []
        for number, table in enumerate(tables):
            try:
                rules.append(read_rule(table, self._covered, line=self._line(number, None)))
            except BadRule as bad:
                errors += [self._error(number, fault.key, fault.reason) for fault in bad.faults]
        return [*errors, *self._named_twice(tables)]

    def _named_twice(self, tables: Iterable[Mapping[str, Any]]) -> Iterator[SourceError]:
        names = [name for table in tables if isinstance(name := table.get("name"), str)]
        counts = Counter(names)
        seen: set[str] = set()
        for number, table in enumerate(tables):
            name = table.get("name")
            if not isinstance(name, str) or counts[name] < 2:
                continue
            if name in seen:
                reason = f"another rule is called {quoted(name)} as well"
                yield self._error(number, "name", reason)
            seen.add(name)

    def _covered(self, path: str) -> Sequence[ConcreteSpec]:
        """Return what the lock file at a path asks for; raises ValueError for what is none."""
        try:
            lock = lock_files.read(str(Path(self._location).parent / path))
        except SourceError as error:
            raise ValueError(str(error)) from None
        return lock.specs

    def _error(self, number: int, key: str | None, reason: str) -> SourceError:
        return SourceError(self._location, reason, line=self._line(number, key), key=key)

    def _line(self, number: int, key: str | None) -> int:
        """Return the line of a key, else that of its rule, else the first."""
        places = ((number, key), (number, None), (-1, key), (-1, _ARRAY))
        return next((self._lines[place] for place in places if place in self._lines), 1)
