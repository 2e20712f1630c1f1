"""One cause of changed hashes: what it is, and how it is called."""

from enum import Enum
from typing import NamedTuple


class CauseKind(Enum):
    """What of a node differs; the order is that in which causes of one name are told."""

    VERSION = "version"
    RECIPE = "recipe"
    VARIANTS = "variants"
    COMPILER = "compiler"
    TARGET = "target"
    DEPENDENCY_ADDED = "dependency_added"
    DEPENDENCY_REMOVED = "dependency_removed"
    PROVIDER = "provider"
    EXTERNAL = "external"
    FORMAT = "format"
    UNKNOWN = "unknown"


KINDS = tuple(CauseKind)
MOST_TOGETHER = 50
"""So many causes are named at most of those that go together with another.

Where everything changed, thousands may go together, and each would name all others.
"""

_TITLE_VARIANTS = 60
_PLACES = {kind: place for place, kind in enumerate(KINDS)}


class CauseName(NamedTuple):
    """What tells a cause from others.

    ``before`` and ``after`` are None where there was nothing, or where it is not known. They are

    - of VERSION and EXTERNAL the versions;
    - of VARIANTS those that only one side has, with spaces between them;
    - of COMPILER name@version, of TARGET platform-os-target;
    - of DEPENDENCY_ADDED and DEPENDENCY_REMOVED the dependency, on both sides where no more than
      the types or virtuals of the edge to it differ, of PROVIDER what provided and what provides;
    - of FORMAT the versions of Spack's format of specs, which decides what a hash covers;
    - None of RECIPE, so that an edit is one cause whatever versions and variants of the package
      feel it, and of UNKNOWN.

    ``package`` is None of FORMAT alone, which is one cause for all packages.
    """

    kind: CauseKind
    package: str | None
    before: str | None = None
    after: str | None = None

    @property
    def order(self) -> tuple[str, int, str, str]:
        """A sort key: the name, then kind, before and after."""
        return self.package or "", _PLACES[self.kind], self.before or "", self.after or ""

    @property
    def key(self) -> str:
        """The name as one text, for ever the same."""
        parts = (self.kind.value, self.package or "", self.before or "", self.after or "")
        return "|".join(part.replace("%", "%25").replace("|", "%7C") for part in parts)

    @property
    def title(self) -> str:
        """One line for people: openssl 3.3.1 → 3.4.0."""
        package, before, after = self.package or "", self.before, self.after
        match self.kind:
            case CauseKind.RECIPE:
                return f"recipe of {package} changed"
            case CauseKind.VARIANTS:
                return _told(package, _shortened(before), _shortened(after))
            case CauseKind.COMPILER:
                return f"compiler of {package} {before or 'none'} → {after or 'none'}"
            case CauseKind.DEPENDENCY_ADDED if before is None:
                return f"{package} now depends on {after}"
            case CauseKind.DEPENDENCY_REMOVED if after is None:
                return f"{package} no longer depends on {before}"
            case CauseKind.DEPENDENCY_ADDED | CauseKind.DEPENDENCY_REMOVED:
                return f"{package} depends on {after} in another way"
            case CauseKind.PROVIDER:
                return f"{package} with {after} in place of {before}"
            case CauseKind.EXTERNAL:
                known = f"{before or '?'} → {after or '?'}" if before or after else "changed"
                return f"{package} {known} (outside the cache)"
            case CauseKind.FORMAT:
                return f"Spack's format of specs {before} → {after}"
            case CauseKind.UNKNOWN:
                return f"{package} changed, it is not known why"
        return _told(package, before, after)


def _told(package: str, before: str | None, after: str | None) -> str:
    if before is None:
        return f"{package} now {after}"
    return f"{package} {before} → {after}" if after else f"{package} no longer {before}"


def _shortened(variants: str | None) -> str | None:
    """Return as many variants as fit into a line, or the beginning of the first one."""
    if variants is None or len(variants) <= _TITLE_VARIANTS:
        return variants
    kept, _, _ = variants[:_TITLE_VARIANTS].rpartition(" ")
    return f"{kept or variants[:_TITLE_VARIANTS]} …"
