"""Sets of versions as Spack's ``@`` writes them: ranges, exact versions, lists of both.

Sources: Spack's documentation of version specifiers and of version order. A bound stands for all
versions that it is a prefix of: ``1.2`` is 1.2 and 1.2.x, ``1.2:1.4`` ends with the last 1.4.x,
``=1.2`` alone means 1.2 and nothing else. A lower bound that is a release leaves its pre-releases
out, an upper bound those of the next release: neither ``1.2.0:`` nor ``:1.1`` has 1.2.0rc1.
"""

import re

import msgspec

from snapshots.spack.scanner import Scanner
from snapshots.spack.versions import VersionKey, version_key

VERSION_LENGTH_MAX = 255
"""How many characters one version may have."""

_VERSION = r"[A-Za-z0-9_][A-Za-z0-9_.-]*\b"
_ITEM = re.compile(
    # What looks like an upper bound is none where it is the key of the next KEY=VALUE.
    rf"(?P<exact>=)?(?P<low>{_VERSION})?(?:(?P<colon>:)(?P<high>(?![\w.-]+:?=){_VERSION})?)?",
    re.ASCII,
)
_GIT = re.compile(r"git\..*|[0-9A-Fa-f]{40}")
_COMMA = re.compile(r"\s*,\s*")
_RELEASE_STAGE = version_key("0")[1]


class ExactVersion(msgspec.Struct, frozen=True):
    """One version, whatever its separators are (1.2-3 is 1.2.3) and no other."""

    version: str

    def includes(self, version: str) -> bool:
        """Tell whether it is the version. A git version stands for one without being it."""
        return "=" not in version and version_key(version) == version_key(self.version)

    def __str__(self) -> str:
        return f"={self.version}"


class VersionRange(msgspec.Struct, frozen=True):
    """The versions between two bounds, both with what they are a prefix of; None sets no bound."""

    low: str | None
    high: str | None

    def includes(self, version: str) -> bool:
        """Tell whether a version lies in the range, a git version by the one it stands for."""
        key = version_key(version)
        if self.low is not None and key < version_key(self.low):
            return False
        return self.high is None or _is_within(key, version_key(self.high))

    def __str__(self) -> str:
        if self.low is not None and self.low == self.high:
            return self.low
        return f"{self.low or ''}:{self.high or ''}"


class VersionList(msgspec.Struct, frozen=True):
    """Versions and ranges, any of which will do."""

    items: tuple[ExactVersion | VersionRange, ...]

    def includes(self, version: str) -> bool:
        """Tell whether the version is one of the items or in one of them."""
        return any(item.includes(version) for item in self.items)

    def __str__(self) -> str:
        return ",".join(map(str, self.items))


def parse_versions(text: str) -> VersionList:
    """Parse what stands behind an ``@``, such as ``1.2``, ``=1.2.3``, ``1.2:1.4`` or ``:1,1.6:``.

    Raises ConstraintSyntaxError, for git versions too: their text does not tell their order.
    """
    scanner = Scanner(text)
    versions = read_versions(scanner)
    if scanner.peek():
        scanner.fail_expecting("the end")
    return versions


def read_versions(scanner: Scanner) -> VersionList:
    """Read versions for as long as commas go on with them. Raises ConstraintSyntaxError."""
    items = [_read_item(scanner)]
    while scanner.accept(_COMMA):
        items.append(_read_item(scanner))
    return VersionList(tuple(dict.fromkeys(items)))


def _read_item(scanner: Scanner) -> ExactVersion | VersionRange:
    scanner.peek()
    match = scanner.expect(_ITEM, "a version")
    low, colon, high = match.group("low", "colon", "high")
    if low is None and colon is None:
        scanner.fail_expecting("a version")
    for bound in ("low", "high"):
        _check(scanner, match, bound)
    if match["exact"] is None:
        versions = VersionRange(low, high if colon else low)
        if low and not versions.includes(low):
            scanner.fail(f"{versions} is an empty range: {high} is older", match.start())
        return versions
    if colon:
        scanner.fail("'=' asks for one version, ':' for a range", match.start("colon"))
    return ExactVersion(low)


def _check(scanner: Scanner, match: re.Match[str], bound: str) -> None:
    version = match[bound]
    if version is None:
        return
    if _GIT.fullmatch(version):
        scanner.refuse("git versions", match.start(bound))
    if len(version) > VERSION_LENGTH_MAX:
        reason = f"a version has {VERSION_LENGTH_MAX} characters at the most"
        scanner.fail(reason, match.start(bound))
    if not version_key(version)[0]:
        scanner.fail(f"{version!r} is no version", match.start(bound))


def _is_within(key: VersionKey, high: VersionKey) -> bool:
    if key <= high:
        return True
    release, stage = high
    return stage == _RELEASE_STAGE and key[0][: len(release)] == release
