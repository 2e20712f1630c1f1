"""The address of a page: what it says, and the links that lead on from it.

All links are relative, so that they hold behind every proxy and below every prefix.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

_DEEPEST = 50
"""How many slashes of a path links go back: no page's has more, but anybody's may."""

_NAME = re.compile(r"\{(\w+)\}")
_AROUND = " \t\r\n/"
"""What people paste around a name: Spack writes a hash with a slash before it."""

Query = Mapping[str, Iterable[str]]


class Address:
    """Where a page is: its path, and the parameters of its query that count."""

    def __init__(self, path: str, query: Query) -> None:
        self.path = path
        self.query = {name: list(values) for name, values in query.items()}
        # Of the path as the browser has it: a slash within a name is not one that parts names.
        self.root = "../" * min(path.count("/") - 1, _DEEPEST) or "./"

    def to(self, *names: str, **parameters: Any) -> str:
        """Return the link to another page: the names of its path, and what its query says."""
        path = "/".join(quote(name, safe="@~") for name in names)
        return self.root + path + query_string(parameters)

    def same_at(self, *names: str, **changes: Any) -> str:
        """Return the link to what this page shows at another path: its digests, say.

        All that the address says is kept but for the changes.
        """
        return self.to(*names, **(self.query | changes))

    def here(self, **changes: Any) -> str:
        """Return the link to this page with some parameters changed; None takes one away.

        A page within a list belongs to the list as it was: it begins anew where anything else
        changes.
        """
        kept = {it: values for it, values in self.query.items() if it not in ("after", "before")}
        return query_string(kept | changes) or "?"

    def without(self, name: str, value: str) -> str:
        """Return the link to this page without one of the values of a parameter."""
        return self.here(**{name: [it for it in self.query.get(name, ()) if it != value]})

    def having(self, name: str, value: str) -> str:
        """Return the link to this page with one more value of a parameter."""
        return self.here(**{name: [*self.query.get(name, ()), value]})

    def has(self, name: str, value: str | None = None) -> bool:
        """Tell whether the address gives a parameter, or gives it this value."""
        given = self.query.get(name, ())
        return bool(given) if value is None else value in given

    def one(self, name: str) -> str:
        """Return what the address gives a parameter last; an empty text where it does not."""
        given = self.query.get(name)
        return given[-1] if given else ""


def query_string(parameters: Mapping[str, Any]) -> str:
    """Return a query with its question mark; nothing for parameters that say nothing."""
    pairs = []
    for name, value in parameters.items():
        values = [value] if isinstance(value, str | int) else value or ()
        pairs += [(name, it) for it in values]
    return f"?{urlencode(pairs)}" if pairs else ""


def path_of(*names: str) -> str:
    """Return the path of a page from the names in it."""
    return "/" + "/".join(quote(name, safe="@~") for name in names)


def path_filled(pattern: str, given: Mapping[str, Sequence[str]]) -> str | None:
    """Return the path that a pattern stands for, ``/hash/{hash}`` say; None where a name lacks.

    ``given`` is what an address gives, name by name; of several values the last counts.
    """
    names = _NAME.findall(pattern)
    values = {name: given[name][-1].strip(_AROUND) for name in names if given.get(name)}
    if len(values) < len(names) or not all(values.values()):
        return None
    parts = pattern.removeprefix("/").split("/")
    return path_of(*(_NAME.sub(lambda it: values[it[1]], part) for part in parts))
