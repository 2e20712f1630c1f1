"""Spack's order of versions.

Sources: Spack's documentation of versions, the order that Spack itself sorts them in, and the
answers that it gives about ranges.
"""

import re

from snapshots.spack.remembering import remembered

_VERSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=/:@~-]{0,254}")
_SEGMENT = re.compile(r"[0-9]+|[A-Za-z]+")

_INFINITY = ("stable", "nightly", "trunk", "head", "master", "main", "develop")
_PRERELEASES = ("alpha", "beta", "rc")
_FINAL = len(_PRERELEASES)

_WORD, _NUMBER, _NAMED = range(3)

Component = tuple[int, int, str]
VersionKey = tuple[tuple[Component, ...], tuple[int | str, ...]]


def is_version(text: str) -> bool:
    """Tell whether the text can be a version: one word, that of a git commit included."""
    return _VERSION.fullmatch(text) is not None


@remembered(1 << 14)
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


@remembered(1 << 12)
def end_of_range(version: str) -> VersionKey:
    """Return the key of the first version behind a range that ends with this one.

    That is the version with its last part counted one up: a range ends before 1.3 where it ends
    with 1.2, so it contains 1.2.9 and 1.3rc1. Where it ends with 1.2rc1, it ends before 1.2rc2.
    """
    release, stage = version_key(version)
    if stage != (_FINAL,):
        number = str(int(str(stage[2]) or "0") + 1) if len(stage) > 1 else "0"
        return release, (stage[0], *number_key(number))
    kind, place, text = release[-1]
    if kind == _NUMBER:
        last = (kind, *number_key(str(int(text or "0") + 1)))
    elif kind == _NAMED:
        last = (kind, place + 1, "")
    else:
        last = (kind, 0, _next_word(text))
    return (*release[:-1], last), stage


def _next_word(word: str) -> str:
    """Return the word that Spack counts as the next one; an infinity version is none."""
    while True:
        if word.endswith("z"):
            word += "A"
        else:
            last = "a" if word[-1] == "Z" else chr(ord(word[-1]) + 1)
            word = word[:-1] + last
        if word not in _INFINITY:
            return word


def _component(text: str) -> Component:
    if text.isdigit():
        return _NUMBER, *number_key(text)
    if text in _INFINITY:
        return _NAMED, _INFINITY.index(text), ""
    return _WORD, 0, text


def number_key(digits: str) -> tuple[int, str]:
    """Return a sort key of digits: their order as numbers, however many there are."""
    # Orders as int() would, which refuses a number of more than 4,300 digits.
    digits = digits.lstrip("0")
    return len(digits), digits
