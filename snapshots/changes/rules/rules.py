"""Rules as records: what each asks for, how much it allows, and which specs it is about."""

import re
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from fnmatch import translate
from fractions import Fraction
from typing import ClassVar

import msgspec
import numpy as np

from snapshots.changes.coverage import CoverageDimension
from snapshots.frames.columns import Mask
from snapshots.models import ConcreteSpec
from snapshots.wording import quoted

_NUMBER = r"[0-9]{1,15}(\.[0-9]{1,6})?"
SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
"""The units of sizes, in bytes."""

NUMBER = r"^[0-9]{1,15}$"
PERCENTAGE = rf"^{_NUMBER} ?%$"
SIZE = rf"^{_NUMBER} ?({'|'.join(SIZES)})$"
"""How amounts are written in texts, as regular expressions that are valid in JSON Schema, too."""


class Unit(Enum):
    """What an amount counts: things one by one, hundredths of all of them, or bytes."""

    NUMBER = "number"
    PERCENTAGE = "percentage"
    BYTES = "bytes"


class Amount(msgspec.Struct, frozen=True):
    """An amount, exactly as it was written; ``text`` is for people."""

    value: Decimal
    unit: Unit
    text: str

    def share_of(self, whole: int) -> Fraction:
        """Return how much of a whole the amount is: a percentage of it, else the value itself."""
        value = Fraction(self.value)
        return value * whole / 100 if self.unit is Unit.PERCENTAGE else value


def read_amount(value: int | str) -> Amount:
    """Return a number or a text as an amount; raises ValueError for what is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < 10**15:
            raise ValueError("is no number from 0 to 999,999,999,999,999")
        return Amount(Decimal(value), Unit.NUMBER, f"{value:,}")
    text = str(value)
    if re.fullmatch(NUMBER[1:-1], text):
        return read_amount(int(text))
    if re.fullmatch(PERCENTAGE[1:-1], text):
        return Amount(Decimal(text.rstrip(" %")), Unit.PERCENTAGE, f"{text.rstrip(' %')} %")
    if (match := re.fullmatch(f"(?P<number>{_NUMBER}) ?(?P<unit>{'|'.join(SIZES)})", text)) is None:
        raise ValueError(f"{quoted(text)} is no amount")
    in_bytes = Decimal(match["number"]) * SIZES[match["unit"]]
    return Amount(in_bytes, Unit.BYTES, f"{match['number']} {match['unit']}")


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
        """Return which of some packages the rule is about, by their names."""
        meant = _fitting(names, self.packages) if self.packages else np.ones(len(names), np.bool_)
        return meant & ~_fitting(names, self.except_packages)


class Forbid(msgspec.Struct, frozen=True):
    """Nothing of a kind may have happened.

    ``for_each`` are the dimensions of lost coverage; None for the usual ones.
    """

    key: ClassVar[str] = "forbid"
    what: Forbidden
    for_each: tuple[CoverageDimension, ...] | None = None


class Require(msgspec.Struct, frozen=True):
    """Head must have a spec that a query matches, for each of what base had one for."""

    key: ClassVar[str] = "require"
    query: str
    for_each: tuple[CoverageDimension, ...] = ()


class Limit(msgspec.Struct, frozen=True):
    """A count or size of what changed may be so high; ``measure`` is its name in a file."""

    key: ClassVar[str] = "limit"
    measure: str
    at_most: Amount


class Cover(msgspec.Struct, frozen=True):
    """Head must hold so many of some concrete specs; ``title`` says where these are listed."""

    key: ClassVar[str] = "cover"
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
