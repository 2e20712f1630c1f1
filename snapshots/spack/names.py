"""Names as Spack has them: hashes, packages, stacks, and the order people expect of names."""

import re
from collections.abc import Iterable

from snapshots.spack.versions import number_key

ROOT_STACK = "root"
"""The stack that is the union of all others: every spec is in it."""

_HASH = re.compile(r"[a-z2-7]{32}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_DIGITS = re.compile(r"[0-9]+")


def is_hash(text: str) -> bool:
    """Tell whether the text is a DAG hash: base32 of a sha1, 32 characters of a-z and 2-7."""
    return _HASH.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Tell whether the text can name a package or a stack: 200 characters or fewer."""
    return _NAME.fullmatch(text) is not None


def natural_key(name: str) -> str:
    """Return a sort key that puts names as people do: lib2 before lib10."""
    return _DIGITS.sub(_number_text, name)


def natural_order(names: Iterable[str]) -> list[str]:
    """Return the names as people sort them; those with equal keys (lib1, lib01) by their text.

    Names hold no line breaks, so that one pass makes the keys of all of them.
    """
    ordered = sorted(names)
    keys = natural_key("\n".join(ordered)).split("\n")
    return [name for _, name in sorted(zip(keys, ordered, strict=True))] if ordered else []


def _number_text(digits: re.Match[str]) -> str:
    # Below every character of a name, since "lib2" stands before "lib-x" as "lib" does; then the
    # length, since longer numbers are larger: as a character that is no line break for any length.
    length, text = number_key(digits[0])
    return f"\0{chr(ord('0') + length)}{text}"
