"""Rules as records: what each asks for, and which specs it is about."""

from enum import Enum
from fnmatch import fnmatchcase

import msgspec

from snapshots.changes.cells import CoverageDimension
from snapshots.changes.rules.amounts import Amount
from snapshots.models import ConcreteSpec


class RuleLevel(Enum):
    """Whether a broken rule refuses what is judged, or only warns."""

    ERROR = "error"
    WARNING = "warning"


class Forbidden(Enum):
    """What a rule can forbid; docs/gates.md defines each."""

    PACKAGE_REMOVED = "package-removed"
    PACKAGE_DOWNGRADED = "package-downgraded"
    VERSION_REMOVED = "version-removed"
    STACK_REMOVED = "stack-removed"
    COVERAGE_LOST = "coverage-lost"
    SPEC_REMOVED = "spec-removed"


class Only(msgspec.Struct, frozen=True, kw_only=True):
    """Which specs a rule is about: those that meet all of it. None and empty set no condition.

    ``packages`` and ``except_packages`` are globs; ``matching`` is a query in Spack's language.
    """

    stack: str | None = None
    packages: tuple[str, ...] = ()
    matching: str | None = None
    except_packages: tuple[str, ...] = ()

    def has_package(self, name: str) -> bool:
        """Tell whether the rule is about a package, as far as its name tells."""
        if self.packages and not any(fnmatchcase(name, glob) for glob in self.packages):
            return False
        return not any(fnmatchcase(name, glob) for glob in self.except_packages)


class Forbid(msgspec.Struct, frozen=True):
    """Nothing of a kind may have happened.

    ``for_each`` are the dimensions of lost coverage; None for the usual ones.
    """

    what: Forbidden
    for_each: tuple[CoverageDimension, ...] | None = None


class Require(msgspec.Struct, frozen=True):
    """Head must have a spec that a query matches, for each of what base had one for."""

    query: str
    for_each: tuple[CoverageDimension, ...] = ()


class Limit(msgspec.Struct, frozen=True):
    """A count or size of what changed may be so high; ``measure`` is its name in a file."""

    measure: str
    at_most: Amount


class Cover(msgspec.Struct, frozen=True):
    """Head must hold so many of some concrete specs; ``title`` says where these are listed."""

    title: str
    wanted: tuple[ConcreteSpec, ...]
    at_least: Amount


Demand = Forbid | Require | Limit | Cover


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule; ``line`` is that of its begin in its file, None where it is from no file."""

    name: str
    level: RuleLevel = RuleLevel.ERROR
    demand: Demand
    only: Only = Only()
    line: int | None = None

    @property
    def needs_base(self) -> bool:
        """Whether the rule says nothing of one revision alone."""
        if isinstance(self.demand, Require):
            return bool(self.demand.for_each)
        return not isinstance(self.demand, Cover)
