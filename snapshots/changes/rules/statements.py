"""On which line a TOML file has what: tables and keys, by cutting the text into its statements.

``tomllib`` tells no lines of what it reads. But each statement of TOML ends with a line, and is
TOML by itself, while the begin of one that goes on in the next line is not. So the shortest run of
lines that can be read is one statement, and there is no second reader of the syntax here.
"""

import tomllib
from collections.abc import Iterator

_ENDS = ("]", "}", '"""', "'''")
"""What the last line of a value of several lines has one of."""

_MOST_READ = 20_000_000
"""Characters that are read to find ends of statements, a second's work: lines beyond are not told.

It takes thousands of lines in one value, each of which could be its last.
"""

Place = tuple[int, str | None]
"""The number of a table of an array of tables, -1 for none, and a key in it; None for its head."""


def lines_of(text: str, array: str) -> dict[Place, int]:
    """Return the line, from 1, of each table of an array of tables and of each key in it.

    The keys beside the array have the number -1. The text must be TOML. Those of texts that take
    too long are left out from some line on.
    """
    found: dict[Place, int] = {}
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
            found.setdefault((-1, names[0]) if outside else (number, key), line)
        else:
            found.setdefault((-1 if outside else number, names[0]), line)
    return found


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
