"""Facts that differ, as people read them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from snapshots import wording

RECIPE = "recipe"
"""What a package's hash is of."""


class Difference(NamedTuple):
    """A fact that differs between two specs, as texts; None where a side has nothing of it."""

    name: str
    before: str | None
    after: str | None


def difference(field: Mapping[str, Any]) -> Difference:
    """Return a difference that the API tells; of lists what only one of them has."""
    path, before, after = field["path"], field["before"], field["after"]
    if isinstance(before, list) and isinstance(after, list):
        return of_lists(wording.in_words(path), before, after)
    if path == "package_hash":
        return of_recipes(before, after)
    return Difference(wording.in_words(path), _text(before), _text(after))


def of_lists(name: str, before: Sequence[Any], after: Sequence[Any]) -> Difference:
    """Return what only one of two lists has, of each."""
    gone = [str(it) for it in before if it not in after]
    new = [str(it) for it in after if it not in before]
    return Difference(name, " ".join(gone) or None, " ".join(new) or None)


def of_recipes(before: str | None, after: str | None) -> Difference:
    """Return two recipes that differ, by as much of their hashes as people need."""
    return Difference(RECIPE, *(it and wording.short_hash(it) for it in (before, after)))


def _text(value: Any) -> str | None:
    """Return a value of a fact as a text."""
    if isinstance(value, list):
        return " ".join(map(str, value)) or None
    return None if value is None else wording.single_value(value)
