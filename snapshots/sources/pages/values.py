"""Single values of a spec's entry in a page, checked and in their canonical form."""

import re
from collections.abc import Iterable

from snapshots.models import SIZE_MAX
from snapshots.spack.names import is_name

_SIZE = re.compile(r"[0-9]{1,16}")
_UNKNOWN_SIZES = ("-", "", None)


def canonical_stacks(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of stacks, sorted, each once. Raises ValueError for what is no name."""
    stacks = tuple(sorted(set(names)))
    for stack in stacks:
        if not is_name(stack):
            raise ValueError(f"{stack!r} cannot name a stack")
    return stacks


def size_in_bytes(value: object) -> int | None:
    """Return a size; None for ``-``, as pages write an unknown one. Raises ValueError."""
    if value in _UNKNOWN_SIZES:
        return None
    if type(value) is str and _SIZE.fullmatch(value):
        value = int(value)
    if type(value) is int and 0 <= value <= SIZE_MAX:
        return value
    raise ValueError("no number of bytes")
