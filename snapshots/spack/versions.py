"""Spack's order of versions.

Source: Spack's documentation of versions, and the order that Spack itself sorts them in.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

_VERSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=/:@~-]{0,254}")
_SEGMENT = re.compile(r"[0-9]+|[A-Za-z]+")

_INFINITY = ("stable", "trunk", "head", "master", "main", "develop")
_PRERELEASES = ("alpha", "beta", "rc")
_FINAL = len(_PRERELEASES)

Component = tuple[int, int, str]
VersionKey = tuple[tuple[Component, ...], tuple[int | str, ...]]


def is_version(text: str) -> bool:
    """Tell whether the text can be a version: one word, that of a git commit included."""
    return _VERSION.fullmatch(text) is not None


@lru_cache(maxsize=1 << 16)
def version_key(version: str) -> VersionKey:
    """Return a sort key in Spack's version order.

    Versions split at ``.``, ``-``, ``_`` and between letters and digits. Numbers compare as
    numbers, letters sort before numbers, the infinity versions (develop, main ...) above them; a
    trailing alpha, beta or rc, with a number or without, sorts before the release itself. A git
    version (``git.COMMIT=VERSION``) sorts as the version that it stands for.
    """
    components: list[str] = _SEGMENT.findall(version.rpartition("=")[2])
    prerelease: tuple[int | str, ...] = (_FINAL,)
    if len(components) > 1 and components[-1] in _PRERELEASES:
        prerelease = (_PRERELEASES.index(components[-1]),)
        components = components[:-1]
    elif len(components) > 2 and components[-1].isdigit() and components[-2] in _PRERELEASES:
        prerelease = (_PRERELEASES.index(components[-2]), *number_key(components[-1]))
        components = components[:-2]
    return tuple(map(_component, components)), prerelease


def _component(text: str) -> Component:
    if text.isdigit():
        return 1, *number_key(text)
    if text in _INFINITY:
        return 2, _INFINITY.index(text), ""
    return 0, 0, text


def number_key(digits: str) -> tuple[int, str]:
    """Return a sort key of digits: their order as numbers, however many there are."""
    # Orders as int() would, which refuses a number of more than 4,300 digits.
    digits = digits.lstrip("0")
    return len(digits), digits


def newest_first(versions: Iterable[str]) -> list[str]:
    """Return the versions in falling order; the text decides between equal ones."""
    return sorted(versions, key=lambda version: (version_key(version), version), reverse=True)
