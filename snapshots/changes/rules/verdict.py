"""The verdict: of each rule whether it holds, and every breach of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from snapshots.changes.rules.records import Rule, RuleLevel
from snapshots.frames.columns import Rows
from snapshots.frames.frame import Frame


class Breach(msgspec.Struct, frozen=True, gc=False):
    """What breaks a rule, in one line for people.

    ``rows`` are the specs that it is about, as rows of ``frame``: of base, or of head where they
    came. ``missing`` is the hash of a spec that is in neither.
    """

    message: str
    package: str | None = None
    frame: Frame | None = None
    rows: Rows | None = None
    missing: str | None = None

    @property
    def num_specs(self) -> int:
        """How many specs the breach is about."""
        return int(self.missing is not None) if self.rows is None else len(self.rows)

    def hashes(self) -> list[str]:
        """Return the hashes of the specs that the breach is about."""
        if self.missing is not None:
            return [self.missing]
        if self.frame is None or self.rows is None:
            return []
        return [self.frame.hashes.at(row) for row in self.rows.tolist()]


class Breaches(Sequence[Breach]):
    """Breaches, each of which is made where one is asked for."""

    def __init__(self, size: int, make: Callable[[int], Breach]) -> None:
        self._places = range(size)
        self._make = make

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Breach]:
        return map(self._make, self._places)

    def __getitem__(self, place: Any) -> Any:
        """Return the breach at a place, or a list of those of a slice."""
        if isinstance(place, slice):
            return [self._make(number) for number in self._places[place]]
        return self._make(self._places[place])


class RuleResult(msgspec.Struct, frozen=True):
    """What became of a rule; ``message`` says in one line what was found."""

    rule: Rule
    message: str
    breaches: Sequence[Breach]
    passed: bool


class Verdict(msgspec.Struct, frozen=True):
    """What became of all rules, in their order."""

    results: tuple[RuleResult, ...]

    @property
    def passed(self) -> bool:
        """Whether no rule of level error is broken."""
        return not self.broken(RuleLevel.ERROR)

    def broken(self, level: RuleLevel) -> list[RuleResult]:
        """Return what became of the broken rules of a level."""
        return [it for it in self.results if not it.passed and it.rule.level is level]
