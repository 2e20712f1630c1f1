"""The causes of replacements as they are told, with their numbers and the commits behind them."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Self

import msgspec
import numpy as np

from snapshots.arrays import Rows
from snapshots.changes.causes import LAST, CauseName, Causes
from snapshots.changes.diff import SpecChangeKind, SpecChanges
from snapshots.changes.stored_changes import StoredCause
from snapshots.changes.vocabulary import cause_title
from snapshots.frames.frame import Frame
from snapshots.models import CauseKind
from snapshots.recipes.commits import Commit, Links, without_pull_request
from snapshots.recipes.effects import CauseCommit, CommitEffect, CommitLevel, RecipesChange
from snapshots.texts import counted


class CommitEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that explains a cause; ``level`` is the value of a CommitLevel.

    ``title`` is its subject without the pull request. ``reference`` names that, or else the commit
    itself: spack-packages#5277; ``url`` is that of what it names, None if unknown. ``is_doubtful``
    states whether something else may explain the cause, ``taken_back`` whether head lacks the
    commit.
    """

    oid: str
    title: str
    level: str
    is_doubtful: bool
    taken_back: bool
    pull_request: int | None
    reference: str
    url: str | None

    @classmethod
    def of(cls, explaining: CauseCommit | CommitEffect, links: Links) -> Self:
        """Return the entry of a commit, with its link."""
        commit, number = explaining.commit, explaining.commit.pull_request
        return cls(
            oid=commit.oid,
            title=without_pull_request(commit.subject),
            level=explaining.level.value,
            is_doubtful=commit.is_sweeping or explaining.level is not CommitLevel.OWN_RECIPE,
            taken_back=explaining.taken_back,
            pull_request=number,
            reference=links.reference(commit),
            url=links.commit(commit.oid) if number is None else links.pull_request(number),
        )


class CauseEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A cause and its title; the numbers are those of the specs in scope.

    ``num_specs`` is the number of specs whose main cause it is, so these numbers add up;
    ``num_involved`` is the number of specs in which it is involved. ``commits`` explain it; None if
    unknown.
    """

    name: CauseName
    title: str
    why_unknown: str | None = None
    num_specs: int
    num_involved: int
    commits: list[CommitEntry] | None = None


class StoredCauses(msgspec.Struct, frozen=True):
    """The main causes of what a revision changed, as they are stored.

    ``known_since`` is when the commits of any of them became known; None without commits.
    """

    causes: Sequence[CauseEntry] = ()
    known_since: datetime | None = None


def stored_cause(cause: StoredCause, commits: Iterable[Commit], links: Links) -> CauseEntry:
    """Return the entry of a stored cause, with the commits of the package's own recipe."""
    explaining = (CauseCommit(commit, CommitLevel.OWN_RECIPE, False) for commit in commits)
    return CauseEntry(
        name=cause.name,
        title=cause_title(cause.name),
        num_specs=cause.num_specs,
        num_involved=cause.num_involved,
        commits=[CommitEntry.of(commit, links) for commit in explaining],
    )


Group = Sequence[CauseEntry]
"""Causes that are involved in the same specs, so that a comparison cannot tell them apart."""


class Rebuilds(msgspec.Struct, frozen=True):
    """The causes in scope, those that explain the most specs first.

    ``groups`` are the known ones, in the order of their first cause. ``effects`` are those of the
    commits that explain any cause; empty if the commits are unknown. ``reached`` returns the added
    rows in scope, of the frame ``head``, in which a cause is involved.
    """

    causes: list[CauseEntry]
    groups: list[Group]
    effects: list[CommitEffect]
    head: Frame
    reached: Callable[[CauseEntry], Rows]

    @property
    def num_specs(self) -> int:
        """The number of specs that replaced another."""
        return num_specs(self.causes)

    @property
    def num_unknown(self) -> int:
        """The number of specs without a known cause."""
        return self.num_specs - sum(map(num_specs, self.groups))

    @property
    def is_mostly_unknown(self) -> bool:
        """Whether the specs without a known cause outnumber those of each group of causes."""
        return self.num_unknown > max(map(num_specs, self.groups), default=0)

    @property
    def why_unknown(self) -> str:
        """A sentence that states for how many specs, and why, the cause is unknown."""
        reasons = dict.fromkeys(cause.why_unknown for cause in self.causes if cause.why_unknown)
        why = f": {', or '.join(reasons)}" if reasons else ""
        return f"The cause of {counted(self.num_unknown, 'spec')} is unknown{why}."

    def by_reach(self) -> list[Group]:
        """Return the groups by the number of specs that they are involved in, largest first.

        Ties keep their order. Architectures and formats are last, because they are involved in
        nearly all specs, and explain only those that no other cause explains.
        """
        return sorted(
            self.groups, key=lambda group: (group[0].name.kind in LAST, -group[0].num_involved)
        )

    def reaches_others(self, cause: CauseEntry) -> bool:
        """Return whether a cause is involved in specs of other packages than its own."""
        package = cause.name.package
        own = -1 if package is None else self.head.package.index.get(package, -1)
        return bool(np.any(self.head.package.codes[self.reached(cause)] != own))

    def num_shared(self, cause: CauseEntry, other: CauseEntry) -> int:
        """Return the number of specs in which both causes are involved."""
        rows = self.reached(cause), self.reached(other)
        return len(np.intersect1d(*rows, assume_unique=True))


def num_specs(group: Iterable[CauseEntry]) -> int:
    """Return the number of specs whose main cause is one of these causes."""
    return sum(cause.num_specs for cause in group)


def rebuilds_of(
    causes: Causes, changes: SpecChanges, recipes: RecipesChange | None = None
) -> Rebuilds:
    """Return the causes of the added specs among the changes, which may be all changes."""
    rows = changes.select([SpecChangeKind.ADDED]).after
    counts = causes.counted(None if np.isin(causes.head_rows, rows).all() else rows)
    attribution = None if recipes is None else recipes.attribution
    numbers: dict[CauseName, int] = {}
    entries = []
    groups: dict[int, list[CauseEntry]] = {}
    for count in counts:
        number, name = count.number, causes.name_of(count.number)
        commits = None
        if recipes is not None and attribution is not None:
            explaining = attribution.of_cause(number)
            commits = [CommitEntry.of(commit, recipes.links) for commit in explaining]
        entry = CauseEntry(
            name=name,
            title=cause_title(name),
            why_unknown=causes.why_unknown(number),
            num_specs=count.num_specs,
            num_involved=count.num_involved,
            commits=commits,
        )
        numbers[name] = number
        entries.append(entry)
        if name.kind is not CauseKind.UNKNOWN:
            groups.setdefault(causes.set_of(number), []).append(entry)
    in_scope = np.zeros(len(changes.head), np.bool_)
    in_scope[rows] = True

    def reached(cause: CauseEntry) -> Rows:
        involved = causes.rows_of(numbers[cause.name], involved=True)
        return involved[in_scope[involved]]

    effects = [] if attribution is None else attribution.effects(counts)
    return Rebuilds(entries, [*groups.values()], effects, changes.head, reached)
