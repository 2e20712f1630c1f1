"""Spack's version order, and version constraints as written after ``@``.

Sources: Spack's documentation of versions and version specifiers, the order in which Spack sorts
versions, and its results for ranges. An upper bound includes every version before the one with
its last part incremented: ``:1.4`` is everything before 1.5, so it includes 1.4.9 and also
1.5rc1. A lower bound is exact: ``1.2:`` begins with 1.2, after its pre-releases. ``1.2`` alone is
the range from 1.2 to 1.2, and ``=1.2`` is that single version.
"""

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from itertools import product
from typing import NoReturn, TypeVar

import msgspec

from snapshots.errors import ConstraintSyntaxError

# -- the scanner

_SPACE = re.compile(r"\s*")


class Scanner:
    """Scans a text from left to right; ``position`` is the number of characters read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def peek(self) -> str:
        """Skip white space; return the next character, or an empty text at the end."""
        self.accept(_SPACE)
        return self.text[self.position : self.position + 1]

    def sees(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match the pattern at the position, without moving; None if it does not match."""
        return pattern.match(self.text, self.position)

    def accept(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match the pattern at the position and move past it; None if it does not match."""
        match = self.sees(pattern)
        if match is not None:
            self.position = match.end()
        return match

    def expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Match the pattern at the position and move past it; fail if it does not match."""
        return self.accept(pattern) or self.fail_expecting(what)

    def fail_expecting(self, what: str) -> NoReturn:
        """Raise ConstraintSyntaxError: the expected text is not at the position."""
        if self.position == len(self.text):
            self.fail(f"unexpected end, {what} is missing")
        self.fail(f"unexpected {self.text[self.position]!r}")

    def refuse(self, what: str, position: int | None = None) -> NoReturn:
        """Raise ConstraintSyntaxError: Spack supports this, cachelog does not."""
        self.fail(f"not supported: {what}", position)

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        """Raise ConstraintSyntaxError, for the current position by default."""
        raise ConstraintSyntaxError(
            self.text, self.position if position is None else position, reason
        )


# -- bounded caches

Result = TypeVar("Result")

_LONG_RESULTS = 64
"""Number of cached results for long texts: those of one query, which is applied to many specs."""


def remembered(
    most: int, longest: int = 64
) -> Callable[[Callable[[str], Result]], Callable[[str], Result]]:
    """Cache the results for ``most`` texts, and for a few texts longer than ``longest``.

    Clients also send texts: a version of 4,000 characters is not a real one, but its sort key takes
    150 kB. So a cache must not contain many long ones.
    """

    def decorate(function: Callable[[str], Result]) -> Callable[[str], Result]:
        usual, long = lru_cache(most)(function), lru_cache(_LONG_RESULTS)(function)

        @wraps(function)
        def cached(text: str) -> Result:
            return usual(text) if len(text) <= longest else long(text)

        return cached

    return decorate


# -- the order of versions


_VERSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=/:@~-]{0,254}")
_SEGMENT = re.compile(r"[0-9]+|[A-Za-z]+")

_INFINITY = ("stable", "nightly", "trunk", "head", "master", "main", "develop")
_PRERELEASES = ("alpha", "beta", "rc")
_FINAL = len(_PRERELEASES)

_WORD, _NUMBER, _NAMED = range(3)

Component = tuple[int, int, str]
VersionKey = tuple[tuple[Component, ...], tuple[int | str, ...]]


def is_version(text: str) -> bool:
    """Return whether the text can be a version: one word, possibly a git version."""
    return _VERSION.fullmatch(text) is not None


@remembered(1 << 14)
def version_key(version: str) -> VersionKey:
    """Return a sort key in Spack's version order.

    Versions are split at ``.``, ``-``, ``_`` and between letters and digits. Numbers are compared
    as numbers. Letters sort before numbers, and the infinity versions (develop, main ...) after
    them. A trailing alpha, beta or rc, with or without a number, sorts before the release itself. A
    git version (``git.COMMIT=VERSION``) sorts as the version that it represents.
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


def total_order(version: str) -> tuple[VersionKey, str]:
    """Return a sort key in Spack's version order that is distinct for distinct texts."""
    return version_key(version), version


_COMMIT = re.compile(r"[0-9a-f]{40}")


def place_in_order(version: str) -> VersionKey | None:
    """Return the sort key of a version; None for a git ref that represents none: git.main.

    Such a ref is neither newer nor older than any version.
    """
    is_ref = version.startswith("git.") or _COMMIT.fullmatch(version) is not None
    return None if is_ref and "=" not in version else version_key(version)


def is_older(version: str, other: str) -> bool:
    """Return whether a version is older than another; a git ref without a version is not."""
    key, other_key = place_in_order(version), place_in_order(other)
    return key is not None and other_key is not None and key < other_key


@remembered(1 << 12)
def end_of_range(version: str) -> VersionKey:
    """Return the key of the first version after a range with this upper bound.

    That is the version with its last part incremented: a range up to 1.2 ends before 1.3, so it
    contains 1.2.9 and 1.3rc1. A range up to 1.2rc1 ends before 1.2rc2.
    """
    release, stage = version_key(version)
    if stage != (_FINAL,):
        number = str(int(str(stage[2]) or "0") + 1) if len(stage) > 1 else "0"
        return release, (stage[0], *number_key(number))
    kind, rank, text = release[-1]
    if kind == _NUMBER:
        last = (kind, *number_key(str(int(text or "0") + 1)))
    elif kind == _NAMED:
        last = (kind, rank + 1, "")
    else:
        last = (kind, 0, _next_word(text))
    return (*release[:-1], last), stage


def _next_word(word: str) -> str:
    """Return the successor of a word in Spack's order, which skips the infinity versions."""
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
    """Return a sort key of digits by numeric value, for any number of digits."""
    # int() has the same order, but rejects numbers of more than 4,300 digits.
    digits = digits.lstrip("0")
    return len(digits), digits


# -- sets of versions


VERSION_LENGTH_MAX = 255
"""Maximum length of a version, in characters."""

_ONE_VERSION = r"[A-Za-z0-9_][A-Za-z0-9_.-]*\b"
_ITEM = re.compile(
    # A text that looks like an upper bound is not one if it is the key of the next KEY=VALUE.
    rf"(?P<exact>=)?(?P<low>{_ONE_VERSION})?(?:(?P<colon>:)(?P<high>(?![\w.-]+:?=){_ONE_VERSION})?)?",
    re.ASCII,
)
_GIT = re.compile(
    rf"(?:git\.(?P<branch>\w[\w./-]*)|(?P<commit>[0-9A-Fa-f]{{40}}))(?:=(?P<version>{_ONE_VERSION}))?",
    re.ASCII,
)
_COMMA = re.compile(r"\s*,\s*")


class ExactVersion(msgspec.Struct, frozen=True):
    """One version, regardless of its separators (1.2-3 is 1.2.3)."""

    version: str

    def includes(self, version: str) -> bool:
        """Return whether this is the version; a git version that represents it does not match."""
        return "=" not in version and version_key(version) == version_key(self.version)


class GitVersion(msgspec.Struct, frozen=True):
    """A branch, tag or commit that represents a version: git.main=1.14."""

    ref: str
    version: str

    def includes(self, version: str) -> bool:
        """Return whether the version is this git version."""
        ref, equals, number = version.partition("=")
        if not equals or ref.removeprefix("git.") != self.ref:
            return False
        return version_key(number) == version_key(self.version)


class VersionRange(msgspec.Struct, frozen=True):
    """The versions between two bounds; None is an open bound."""

    low: str | None
    high: str | None

    def includes(self, version: str) -> bool:
        """Return whether a version, or the one that a git version represents, is in the range."""
        key = version_key(version)
        if self.low is not None and key < version_key(self.low):
            return False
        return self.high is None or key < end_of_range(self.high)

    def __str__(self) -> str:
        return f"{self.low or ''}:{self.high or ''}"


VersionItem = ExactVersion | GitVersion | VersionRange


def _intersect(first: VersionItem, second: VersionItem) -> bool:
    """Return whether some version is in both."""
    if isinstance(first, VersionRange) and isinstance(second, VersionRange):
        return _begins_within(first, second) and _begins_within(second, first)
    if isinstance(first, VersionRange):
        first, second = second, first
    if isinstance(first, ExactVersion):
        return second.includes(first.version)
    return isinstance(first, GitVersion) and second.includes(f"git.{first.ref}={first.version}")


def _begins_within(first: VersionRange, second: VersionRange) -> bool:
    """Return whether the first range begins before the end of the second."""
    if first.low is None or second.high is None:
        return True
    return version_key(first.low) < end_of_range(second.high)


class VersionList(msgspec.Struct, frozen=True):
    """Versions and ranges, combined with OR."""

    items: tuple[VersionItem, ...]

    def includes(self, version: str) -> bool:
        """Return whether the version is one of the items or in one of them."""
        return any(item.includes(version) for item in self.items)

    def intersects(self, other: "VersionList") -> bool:
        """Return whether some version is in both lists."""
        return any(_intersect(*pair) for pair in product(self.items, other.items))


def read_versions(scanner: Scanner) -> VersionList:
    """Read a comma-separated list of versions. Raises ConstraintSyntaxError.

    A git version must include the version that it represents (``git.main=1.14``), as only the
    package's repository could resolve it.
    """
    if git := _read_git_version(scanner):
        return VersionList((git,))
    items = [_read_item(scanner)]
    while scanner.accept(_COMMA):
        items.append(_read_item(scanner))
    return VersionList(tuple(dict.fromkeys(items)))


def parse_versions(text: str) -> VersionList:
    """Parse an entire text as versions. Raises ConstraintSyntaxError."""
    scanner = Scanner(text)
    versions = read_versions(scanner)
    if scanner.peek():
        scanner.fail_expecting("the end")
    return versions


def _read_git_version(scanner: Scanner) -> GitVersion | None:
    scanner.peek()
    match = scanner.sees(_GIT)
    if match is None:
        return None
    if match["version"] is None:
        scanner.refuse("git versions that do not say which version they represent")
    _check(scanner, match, "version")
    scanner.accept(_GIT)
    return GitVersion(match["branch"] or match["commit"], match["version"])


def _read_item(scanner: Scanner) -> VersionItem:
    scanner.peek()
    if scanner.sees(_GIT):
        scanner.refuse("git versions in a list")
    match = scanner.expect(_ITEM, "a version")
    low, colon, high = match.group("low", "colon", "high")
    if low is None and colon is None:
        scanner.fail_expecting("a version")
    for bound in ("low", "high"):
        _check(scanner, match, bound)
    if match["exact"] is None:
        versions = VersionRange(low, high if colon else low)
        if low and high and end_of_range(high) < version_key(low):
            scanner.fail(f"{versions} is an empty range: {high} is older", match.start())
        return versions
    if colon:
        scanner.fail("'=' asks for one version, ':' for a range", match.start("colon"))
    return ExactVersion(low)


def _check(scanner: Scanner, match: re.Match[str], part: str) -> None:
    version = match[part]
    if version is None:
        return
    if _GIT.fullmatch(version):
        scanner.refuse("ranges of git versions", match.start(part))
    if len(version) > VERSION_LENGTH_MAX:
        reason = f"a version has at most {VERSION_LENGTH_MAX} characters"
        scanner.fail(reason, match.start(part))
    if not version_key(version)[0]:
        scanner.fail(f"{version!r} is not a version", match.start(part))
