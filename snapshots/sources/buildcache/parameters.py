"""The parameters of a spec, as Spack spells them out as variants."""

import json
import re

from snapshots.spack.spelling import COMPILER_FLAGS

_PATCH_DIGITS = 7
_BARE_VALUE = re.compile(r"[A-Za-z0-9,/_.\-\[\]]+")


def variant(name: str, value: object) -> str | None:
    """Return the variant that a parameter stands for: ``+mpi``, ``cuda_arch=80,90``.

    None for what says nothing: a null, an empty list of flags or values. The values of a list are
    sorted unless they are flags, and patches cut to seven digits. Raises TypeError for a value that
    is none of bool, number, text or list of those.
    """
    if value is None or value == []:
        return None
    if isinstance(value, bool):
        return f"{'+' if value else '~'}{name}"
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int | float) for item in values):
        raise TypeError
    texts = list(map(str, values))
    if name in COMPILER_FLAGS:
        return f"{name}={_quoted(' '.join(texts))}"
    if name == "patches":
        texts = [text[:_PATCH_DIGITS] for text in texts]
    return f"{name}={_quoted(','.join(sorted(set(texts))))}"


def _quoted(value: str) -> str:
    """Quote a value where Spack does."""
    if _BARE_VALUE.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False) if "'" in value else f"'{value}'"
