"""From forms to addresses: what a form asks for becomes the path of the page that shows it."""

import re
from collections.abc import Mapping, Sequence

from server.pages.addresses import path_of

_NAME = re.compile(r"\{(\w+)\}")
_AROUND = " \t\r\n/"
"""What people paste around a name: Spack writes a hash with a slash before it."""


def filled(pattern: str, given: Mapping[str, Sequence[str]]) -> str | None:
    """Return the path that a pattern stands for, ``/hash/{hash}`` say; None where a name lacks.

    ``given`` is what an address gives, name by name; of several values the last counts.
    """
    names = _NAME.findall(pattern)
    values = {name: given[name][-1].strip(_AROUND) for name in names if given.get(name)}
    if len(values) < len(names) or not all(values.values()):
        return None
    parts = pattern.removeprefix("/").split("/")
    return path_of(*(_NAME.sub(lambda it: values[it[1]], part) for part in parts))
