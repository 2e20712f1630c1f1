"""Names as Spack has them: hashes, packages, stacks, and the order people expect of names."""

import re

from snapshots.spack.versions import number_key

ROOT_STACK = "root"
"""The stack that is the union of all others: every spec is in it."""

_HASH = re.compile(r"[a-z2-7]{32}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_DIGITS = re.compile(r"([0-9]+)")


def is_hash(text: str) -> bool:
    """Tell whether the text is a DAG hash: base32 of a sha1, 32 characters of a-z and 2-7."""
    return _HASH.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Tell whether the text can name a package or a stack."""
    return _NAME.fullmatch(text) is not None


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that puts names as people do: lib2 before lib10."""
    return tuple(
        (0, *number_key(part)) if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(name)
    )
