"""Rules as records: what each asks for, and which specs it is about."""

import re
from collections.abc import Sequence
from enum import Enum
from fnmatch import translate

import msgspec
import numpy as np

from snapshots.changes.cells import CoverageDimension
from snapshots.changes.rules.amounts import Amount
from snapshots.frames.columns import Mask
from snapshots.models import ConcreteSpec

_GLOB = re.compile(r"[*?\[]")


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

    def packages_meant(self, names: Sequence[str]) -> Mask:
        """Return which of some packages the rule is about, as far as their names tell."""
        meant = _fitting(names, self.packages) if self.packages else np.ones(len(names), np.bool_)
        return meant & ~_fitting(names, self.except_packages)


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


def _fitting(names: Sequence[str], globs: Sequence[str]) -> Mask:
    """Return which names fit one of the globs."""
    # fnmatchcase keeps too few patterns for rules of hundreds.
    fits = [re.compile(translate(glob)).match for glob in globs if _GLOB.search(glob)]
    plain = frozenset(globs)
    return np.fromiter(
        (name in plain or any(fit(name) for fit in fits) for name in names), np.bool_, len(names)
    )
