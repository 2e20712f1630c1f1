"""Single values of a spec's entry in a page, checked and in their canonical form."""

import re
from collections.abc import Iterable

from snapshots.models import SIZE_MAX
from snapshots.spack.names import checked_items, is_name
from snapshots.wording import quoted

_SIZE = re.compile(r"[0-9]{1,16}")
_UNKNOWN_SIZES = ("-", "", None)


def canonical_stacks(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of stacks, sorted, each once. Raises ValueError for what is no name."""
    return checked_items(sorted(set(names)), _checked_stack)


def _checked_stack(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{quoted(name)} cannot name a stack")
    return name


def size_in_bytes(value: object) -> int | None:
    """Return a size; None for ``-``, as pages write an unknown one. Raises ValueError."""
    if value in _UNKNOWN_SIZES:
        return None
    if type(value) is str and _SIZE.fullmatch(value):
        value = int(value)
    if type(value) is int and 0 <= value <= SIZE_MAX:
        return value
    raise ValueError("no number of bytes")
