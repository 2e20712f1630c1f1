"""What caused the rebuilds: causes as release notes tell them, counted over the specs in scope."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.changes.cause_names import MOST_TOGETHER, CauseKind
from snapshots.changes.causes import CauseCount, Causes
from snapshots.changes.diff import SpecChangeKind, SpecChanges
from snapshots.changes.pairings import FieldChange
from snapshots.frames.columns import Rows
from snapshots.frames.frame import Frame
from snapshots.wording import counted

_SHOWN = 10
_FEW = 2
_NEVER_HIDDEN = frozenset({CauseKind.DEPENDENCY_REMOVED.value})


class CauseEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A cause, by its ``key``; the numbers and packages are those of the specs in scope.

    ``kind`` is the value of a CauseKind. ``num_specs`` have it as their main cause, so these
    numbers add up; it is involved in ``num_involved``. ``together`` are the keys of causes that are
    involved in the same specs, what explains most of the scope first and no more than
    MOST_TOGETHER, of ``num_together``. ``facts`` are those of the package itself that differ.
    """

    key: str
    kind: str
    package: str | None
    before: str | None
    after: str | None
    title: str
    facts: list[FieldChange]
    why_unknown: str | None
    together: list[str]
    num_together: int
    num_specs: int
    num_involved: int
    packages: list[str]


class Reach:
    """How far causes reach beyond themselves, worked out for those that are asked for.

    ``rows`` are the added rows in scope, of the frame ``head``; ``numbers`` those of the causes by
    their keys.
    """

    def __init__(self, causes: Causes, head: Frame, rows: Rows, numbers: dict[str, int]) -> None:
        self._causes, self._head, self._numbers = causes, head, numbers
        self._in_scope = np.zeros(len(head), np.bool_)
        self._in_scope[rows] = True

    def num_others(self, cause: CauseEntry) -> int:
        """Return how many specs of other packages a cause is involved in."""
        own = -1 if cause.package is None else self._head.package.index.get(cause.package, -1)
        return int(np.count_nonzero(self._head.package.codes[self._rows(cause)] != own))

    def num_shared(self, cause: CauseEntry, other: CauseEntry) -> int:
        """Return how many specs two causes are involved in."""
        return len(np.intersect1d(self._rows(cause), self._rows(other), assume_unique=True))

    def _rows(self, cause: CauseEntry) -> Rows:
        rows = self._causes.rows_of(self._numbers[cause.key], involved=True)
        return rows[self._in_scope[rows]]


class Rebuilds(NamedTuple):
    """The causes in scope, those that explain most first, and how far they reach."""

    causes: Sequence[CauseEntry]
    reach: Reach


def tell_rebuilds(causes: Causes, changes: SpecChanges) -> Rebuilds:
    """Return the causes of the added specs among the changes, which may be all that there are."""
    rows = changes.select([SpecChangeKind.ADDED]).after
    counts = causes.counted(None if np.isin(causes.head_rows, rows).all() else rows)
    packages = _packages(changes.head, rows, causes.main_of(rows))
    keys = {count.number: causes.name_of(count.number).key for count in counts}
    alike: dict[int, list[str]] = {}
    for count in counts:
        alike.setdefault(causes.set_of(count.number), []).append(keys[count.number])
    entries = [_entry(causes, count, packages.get(count.number, []), alike) for count in counts]
    numbers = {key: number for number, key in keys.items()}
    return Rebuilds(entries, Reach(causes, changes.head, rows, numbers))


def why_unknown(causes: Iterable[CauseEntry]) -> str | None:
    """Return in a sentence why some causes are not known; None where all are."""
    unknown = [cause for cause in causes if cause.kind == CauseKind.UNKNOWN.value]
    reasons = dict.fromkeys(cause.why_unknown for cause in unknown if cause.why_unknown)
    if not reasons:
        return None
    count = sum(cause.num_specs for cause in unknown)
    return f"Of {counted(count, 'spec')} the cause is not known: {', or '.join(reasons)}."


def grouped(causes: Sequence[CauseEntry]) -> list[list[CauseEntry]]:
    """Return the causes with those that no spec tells apart in one group; the first leads it."""
    groups: dict[str, list[CauseEntry]] = {}
    for cause in causes:
        leader = next((key for key in cause.together if key in groups), cause.key)
        groups.setdefault(leader, []).append(cause)
    return list(groups.values())


def leading(
    groups: Sequence[list[CauseEntry]],
) -> tuple[list[list[CauseEntry]], list[list[CauseEntry]]]:
    """Part groups of causes into the first, which are to be shown, and the smaller ones.

    A group in which something was removed is always shown, and so are a few more where no others
    are left.
    """
    if len(groups) <= _SHOWN + _FEW:
        return list(groups), []
    shown: list[list[CauseEntry]] = []
    smaller: list[list[CauseEntry]] = []
    for place, group in enumerate(groups):
        is_shown = place < _SHOWN or any(cause.kind in _NEVER_HIDDEN for cause in group)
        (shown if is_shown else smaller).append(group)
    return shown, smaller


def _entry(
    causes: Causes, count: CauseCount, packages: list[str], alike: dict[int, list[str]]
) -> CauseEntry:
    number, name = count.number, causes.name_of(count.number)
    together = alike[causes.set_of(number)]
    named = [key for key in together[: MOST_TOGETHER + 1] if key != name.key]
    return CauseEntry(
        key=name.key,
        kind=name.kind.value,
        package=name.package,
        before=name.before,
        after=name.after,
        title=name.title,
        facts=causes.facts_of(number),
        why_unknown=causes.why_unknown(number),
        together=named[:MOST_TOGETHER],
        num_together=len(together) - 1,
        num_specs=count.num_specs,
        num_involved=count.num_involved,
        packages=packages,
    )


def _packages(head: Frame, rows: Rows, main: npt.NDArray[np.int32]) -> dict[int, list[str]]:
    """Return for each cause the packages of the rows that it is the main cause of."""
    known, size = main >= 0, len(head.packages)
    keys = main[known].astype(np.int64) * size + head.package.codes[rows[known]]
    found: dict[int, list[str]] = {}
    for key in np.unique(keys).tolist():
        number, code = divmod(key, size)
        found.setdefault(number, []).append(head.package.values[code])
    return found
