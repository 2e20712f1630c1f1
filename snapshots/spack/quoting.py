"""Values in quotes, as Spack writes and reads them.

Source: Spack's grammar of specs. A quote inside a value is kept from ending it by a backslash;
a backslash before anything else is an ordinary character.
"""

import json
import re

BARE_VALUE = re.compile(r"[A-Za-z0-9,/_.-]+")
"""What needs no quotes. Spack leaves them out around brackets too, but cannot read that back."""

_QUOTED = re.compile(r"""(?P<quote>['"])(?P<value>.*)(?P=quote)""", re.S)


def quote(value: str) -> str:
    """Return the value in quotes where Spack writes it so; ``unquote`` undoes it."""
    if BARE_VALUE.fullmatch(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace('"', r"\"") + '"'


def unquote(value: str) -> str:
    """Return what a value in a query means: without its quotes, where it has any."""
    match = _QUOTED.fullmatch(value)
    if match is None:
        return value
    mark = match["quote"]
    return match["value"].replace(f"\\{mark}", mark)


def recorded_value(value: str) -> str:
    """Return what the value of a variant in a record means, whose quotes are canonical.

    Spack writes a value with a single quote in it as JSON text, any other as it is.
    """
    match = _QUOTED.fullmatch(value)
    if match is None:
        return value
    text = match["value"]
    if "'" in text:
        try:
            return str(json.loads(f'"{text}"'))
        except ValueError:
            return text
    return text
