"""The sections of release notes: packages and stacks, causes of replacements, and losses."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import Rows
from snapshots.changes.causes import LAST, MAX_TOGETHER, CauseCount, Causes
from snapshots.changes.coverage import CoverageChangeKind, CoverageChanges
from snapshots.changes.diff import Comparison, SpecChangeKind, SpecChanges
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import FieldChange
from snapshots.changes.reasons import REASONS
from snapshots.changes.sides import Side
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.changes.stored_changes import StoredCause
from snapshots.changes.vocabulary import cause_title
from snapshots.frames.frame import Frame
from snapshots.models import COMPARED_FACTS, CauseKind
from snapshots.recipes.commits import Commit, Links, without_pull_request
from snapshots.recipes.effects import CauseCommit, CommitEffect, CommitLevel, RecipesChange
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.versions import is_older
from snapshots.texts import counted


class ChangedPackage(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package that changed; most fields are those of PackageChange.

    The keys of ``versions_replaced`` are removed versions of which specs were replaced by specs of
    other versions; its values are these versions. ``reasons`` counts the added and removed specs by
    reason, ``changed_facts`` counts the persisting specs of which a fact changed, by fact.
    """

    name: str
    newest_before: str | None
    newest_after: str | None
    versions_before: tuple[str, ...]
    versions_after: tuple[str, ...]
    versions_added: list[str]
    versions_removed: list[str]
    versions_replaced: dict[str, list[str]]
    specs_added: int
    specs_removed: int
    specs_changed: int
    reasons: dict[str, int]
    size_before: int | None
    size_after: int | None
    changed_facts: dict[str, int]

    @classmethod
    def of(
        cls,
        change: PackageChange,
        replaced: dict[str, list[str]],
        reasons: dict[str, int],
        facts: dict[str, int],
    ) -> Self:
        """Return the entry of a change."""
        own: dict[str, Any] = {
            "versions_replaced": replaced,
            "reasons": reasons,
            "changed_facts": facts,
        }
        shared = {name: getattr(change, name) for name in cls.__struct_fields__ if name not in own}
        return cls(**shared, **own)


class ChangedStack(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A stack that was added or removed, with its numbers of specs and packages."""

    name: str
    num_specs: int
    num_packages: int


class ChangedSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A hash that was added or removed, and the hash that it replaced or that replaced it.

    ``reason`` is the value of a SpecChangeReason.
    """

    hash: str
    name: str
    version: str
    reason: str
    counterpart: str | None


def changed_specs(
    changes: SpecChanges,
    explanation: Explanation,
    reasons: npt.NDArray[np.int8],
    kind: SpecChangeKind,
) -> list[ChangedSpec]:
    """Return the added or removed specs of some changes; ``reasons`` has the codes of all."""
    mask = changes.of_kinds([kind])
    chosen, frame, others = changes.take(mask), changes.head, changes.base
    rows = chosen.after
    if kind is SpecChangeKind.REMOVED:
        rows, frame, others = chosen.before, changes.base, changes.head
    columns = (
        frame.hashes.texts_at(rows),
        frame.package.values_at(rows),
        frame.version.values_at(rows),
        reasons[mask].tolist(),
        explanation.counterpart_rows(chosen).tolist(),
    )
    return [
        ChangedSpec(
            hash=text,
            name=name,
            version=version,
            reason=REASONS[reason].value,
            counterpart=None if other < 0 else others.hashes.at(other),
        )
        for text, name, version, reason, other in zip(*columns, strict=True)
    ]


def _differ_in_knowledge(base: Side, head: Side) -> bool:
    names = [name for name, fact in COMPARED_FACTS.items() if fact.may_be_unknown]
    known = ([getattr(side.frame, name).is_known for name in names] for side in (base, head))
    return len({*map(tuple, known)}) > 1


_LEFT_OUT: Mapping[str, Callable[[Side, Side], bool]] = {
    f"the stack {ROOT_STACK}, which is the union of all others": lambda *sides: any(
        ROOT_STACK in side.frame.stacks.items for side in sides
    ),
    "facts that only one of the two revisions knows, "
    "such as sizes that were read for one of them": _differ_in_knowledge,
    "tarball URLs, which name the tag and stack that a binary was fetched for": lambda *sides: all(
        side.frame.tarball.is_known for side in sides
    ),
    "dependencies and patches, which are the same as long as the hash is": lambda base, head: (
        base.graph.is_known != head.graph.is_known
    ),
    "the order of lists, and the two spellings of compilers and variants": lambda *sides: (
        not all(side.graph.is_known for side in sides)
    ),
}
"""Differences that a comparison does not count as changes, and whether two sides can have them.

All but the first are differences of specs on both sides.
"""

LEFT_OUT = tuple(_LEFT_OUT)
"""Differences that a comparison does not count as changes."""


def left_out_of(explanation: Explanation) -> tuple[str, ...]:
    """Return the items of ``LEFT_OUT`` that apply to the two contents."""
    texts = LEFT_OUT if explanation.comparison.pairing.persisting.size else LEFT_OUT[:1]
    return tuple(text for text in texts if _LEFT_OUT[text](explanation.base, explanation.head))


_SHOWN = 10
_FEW = 2
_NEVER_HIDDEN = frozenset({CauseKind.DEPENDENCY_REMOVED.value})


class CauseEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A cause, identified by its ``key``; the numbers and packages are those of the specs in scope.

    ``kind`` is the value of a CauseKind. ``num_specs`` is the number of specs whose main cause it
    is, so these numbers add up; ``num_involved`` is the number of specs in which it is involved.
    ``together`` has the keys of causes that are involved in the same specs: the first MAX_TOGETHER
    of ``num_together``, those that explain the most specs in scope first. ``facts`` are the facts
    of the package itself that differ.
    """

    key: str
    kind: str
    package: str | None
    before: str | None
    after: str | None
    title: str
    facts: list[FieldChange] = []
    why_unknown: str | None = None
    together: list[str] = []
    num_together: int = 0
    num_specs: int
    num_involved: int
    packages: list[str] = []
    commits: list["CommitEntry"] | None = None


class SpackEntry(msgspec.Struct, frozen=True):
    """The commits of Spack before and after, None if unknown, and the URL of their comparison."""

    before: str | None
    after: str | None
    url: str | None


class CommitEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that explains a cause; ``level`` is the value of a CommitLevel.

    ``reference`` names its pull request, or else the commit itself: spack-packages#5277. ``spack``
    is None unless the commit changed the version of Spack that is used.
    """

    oid: str
    subject: str
    committed_at: datetime
    level: str
    taken_back: bool
    url: str | None
    pull_request: int | None
    pull_request_url: str | None
    reference: str
    num_packages: int
    sweeping: bool
    spack: SpackEntry | None

    @property
    def title(self) -> str:
        """The subject without the pull request at its end."""
        return without_pull_request(self.subject)

    @property
    def is_doubtful(self) -> bool:
        """Whether something else may explain the cause."""
        return self.sweeping or self.level != CommitLevel.OWN_RECIPE.value

    @classmethod
    def of(cls, explaining: CauseCommit | CommitEffect, links: Links, **more: Any) -> Self:
        """Return the entry of a commit, with its links."""
        commit, number = explaining.commit, explaining.commit.pull_request
        spack = commit.spack
        return cls(
            oid=commit.oid,
            subject=commit.subject,
            committed_at=commit.committed_at,
            level=explaining.level.value,
            taken_back=explaining.taken_back,
            url=links.commit(commit.oid),
            pull_request=number,
            pull_request_url=None if number is None else links.pull_request(number),
            reference=links.reference(commit),
            num_packages=len(commit.packages),
            sweeping=commit.is_sweeping,
            spack=None
            if spack is None
            else SpackEntry(spack.before, spack.after, links.spack(spack)),
            **more,
        )


class EffectEntry(CommitEntry, frozen=True, kw_only=True):
    """The effect of a commit: ``causes`` has the keys of the causes that it explains at its level.

    If several commits explain a cause, the numbers of each of them include the entire cause.
    """

    causes: list[str]
    num_specs: int
    num_involved: int


def commits_of(recipes: RecipesChange, number: int) -> list[CommitEntry] | None:
    """Return the commits that explain a cause; None if unknown."""
    if recipes.attribution is None:
        return None
    return [CommitEntry.of(one, recipes.links) for one in recipes.attribution.of_cause(number)]


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
        key=cause.name.key,
        kind=cause.kind.value,
        package=cause.package,
        before=cause.before,
        after=cause.after,
        title=cause_title(cause.name),
        num_specs=cause.num_specs,
        num_involved=cause.num_involved,
        commits=[CommitEntry.of(commit, links) for commit in explaining],
    )


class Rebuilds(msgspec.Struct, frozen=True):
    """The causes in scope, those that explain the most specs first.

    ``commits`` are those that explain any cause, in their order; None if unknown. ``reached``
    returns the added rows in scope, of the frame ``head``, in which a cause is involved.
    """

    causes: list[CauseEntry]
    commits: list[EffectEntry] | None
    head: Frame
    reached: Callable[[CauseEntry], Rows]

    def reaches_others(self, cause: CauseEntry) -> bool:
        """Return whether a cause is involved in specs of other packages than its own."""
        own = -1 if cause.package is None else self.head.package.index.get(cause.package, -1)
        return bool(np.any(self.head.package.codes[self.reached(cause)] != own))

    def num_shared(self, cause: CauseEntry, other: CauseEntry) -> int:
        """Return the number of specs in which both causes are involved."""
        rows = self.reached(cause), self.reached(other)
        return len(np.intersect1d(*rows, assume_unique=True))


def rebuilds_of(
    causes: Causes,
    changes: SpecChanges,
    recipes: RecipesChange | None = None,
) -> Rebuilds:
    """Return the causes of the added specs among the changes, which may be all changes."""
    rows = changes.select([SpecChangeKind.ADDED]).after
    counts = causes.counted(None if np.isin(causes.head_rows, rows).all() else rows)
    main = causes.main_of(rows)
    packages = _packages_by_cause(changes.head, rows, main)
    numbers = {causes.name_of(count.number).key: count.number for count in counts}
    alike: dict[int, list[str]] = {}
    for key, number in numbers.items():
        alike.setdefault(causes.set_of(number), []).append(key)
    entries = []
    for count in counts:
        number, name = count.number, causes.name_of(count.number)
        together = alike[causes.set_of(number)]
        named = [key for key in together[: MAX_TOGETHER + 1] if key != name.key]
        entries.append(
            CauseEntry(
                key=name.key,
                kind=name.kind.value,
                package=name.package,
                before=name.before,
                after=name.after,
                title=cause_title(name),
                facts=causes.facts_of(number),
                why_unknown=causes.why_unknown(number),
                together=named[:MAX_TOGETHER],
                num_together=len(together) - 1,
                num_specs=count.num_specs,
                num_involved=count.num_involved,
                packages=packages.get(number, []),
                commits=None if recipes is None else commits_of(recipes, number),
            )
        )
    commits = None
    if recipes is not None and recipes.attribution is not None:
        commits = effects_of(recipes, causes, counts)
    in_scope = np.zeros(len(changes.head), np.bool_)
    in_scope[rows] = True

    def reached(cause: CauseEntry) -> Rows:
        involved = causes.rows_of(numbers[cause.key], involved=True)
        return involved[in_scope[involved]]

    return Rebuilds(entries, commits, changes.head, reached)


def effects_of(
    recipes: RecipesChange,
    causes: Causes,
    counts: Iterable[CauseCount] | None = None,
) -> list[EffectEntry]:
    """Return the effects of the commits that explain some causes; of all causes without ``counts``.

    The list is empty if the commits are unknown.
    """
    if recipes.attribution is None:
        return []
    return [
        EffectEntry.of(
            effect,
            recipes.links,
            causes=[causes.name_of(number).key for number in effect.causes],
            num_specs=effect.num_specs,
            num_involved=effect.num_involved,
        )
        for effect in recipes.attribution.effects(counts)
    ]


def why_unknown(causes: Iterable[CauseEntry]) -> str | None:
    """Return a sentence that states why some causes are unknown; None if all are known."""
    unknown = [cause for cause in causes if cause.kind == CauseKind.UNKNOWN.value]
    reasons = dict.fromkeys(cause.why_unknown for cause in unknown if cause.why_unknown)
    if not reasons:
        return None
    count = sum(cause.num_specs for cause in unknown)
    return f"The cause of {counted(count, 'spec')} is unknown: {', or '.join(reasons)}."


def grouped(causes: Sequence[CauseEntry]) -> list[list[CauseEntry]]:
    """Group the causes that are involved in the same specs; the first cause leads its group."""
    groups: dict[str, list[CauseEntry]] = {}
    for cause in causes:
        leader = next((key for key in cause.together if key in groups), cause.key)
        groups.setdefault(leader, []).append(cause)
    return list(groups.values())


def num_specs(group: Iterable[CauseEntry]) -> int:
    """Return the number of specs whose main cause is one of these causes."""
    return sum(cause.num_specs for cause in group)


def explained(causes: Iterable[CauseEntry]) -> tuple[list[list[CauseEntry]], int]:
    """Return the groups of known causes, and the number of specs without a known cause."""
    all_causes = list(causes)
    known = [cause for cause in all_causes if cause.kind != CauseKind.UNKNOWN.value]
    return grouped(known), num_specs(all_causes) - num_specs(known)


def is_most(num_unknown: int, groups: Iterable[Sequence[CauseEntry]]) -> bool:
    """Return whether the specs without a known cause outnumber those of each group of causes."""
    return num_unknown > max(map(num_specs, groups), default=0)


def by_reach(groups: Iterable[list[CauseEntry]]) -> list[list[CauseEntry]]:
    """Return groups of causes by the number of specs they are involved in, largest first.

    Ties keep their order. Architectures and formats are last, because they are involved in nearly
    all specs, and explain only those that no other cause explains.
    """
    last = {kind.value for kind in LAST}
    return sorted(groups, key=lambda group: (group[0].kind in last, -group[0].num_involved))


def leading(
    groups: Sequence[list[CauseEntry]],
) -> tuple[list[list[CauseEntry]], list[list[CauseEntry]]]:
    """Split groups of causes into those to show and the smaller ones.

    If there are smaller ones, the groups are sorted by reach, so that a compiler that is involved
    in nearly all specs, but the main cause of few, is shown. A group in which a dependency was
    removed is always shown. If only a few groups would be hidden, all are shown.
    """
    if len(groups) <= _SHOWN + _FEW:
        return list(groups), []
    groups = by_reach(groups)
    shown: list[list[CauseEntry]] = []
    smaller: list[list[CauseEntry]] = []
    for place, group in enumerate(groups):
        is_shown = place < _SHOWN or any(cause.kind in _NEVER_HIDDEN for cause in group)
        (shown if is_shown else smaller).append(group)
    return shown, smaller


def _packages_by_cause(
    head: Frame, rows: Rows, main: npt.NDArray[np.int32]
) -> dict[int, list[str]]:
    """Return for each cause the packages of the rows whose main cause it is."""
    has_cause, size = main >= 0, len(head.packages)
    keys = main[has_cause].astype(np.int64) * size + head.package.codes[rows[has_cause]]
    packages: dict[int, list[str]] = {}
    for key in np.unique(keys).tolist():
        number, code = divmod(key, size)
        packages.setdefault(number, []).append(head.package.values[code])
    return packages


FEW = 10
"""Maximum number of lost packages for the same values of a cell with nearest specs."""


Reasons = dict[str, int]
"""Number of specs for each SpecChangeReason, by its value."""


class LostPackage(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package without specs in head; ``with_stacks`` are removed stacks that had all of them."""

    name: str
    versions: tuple[str, ...]
    num_specs: int
    reasons: Reasons
    with_stacks: list[str]


class LostVersion(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A version that head does not have any more, of a package that it still has.

    ``replaced_by`` has the versions of the specs that replaced some of its specs, newest first;
    ``is_older`` states whether all of them are older.
    """

    package: str
    version: str
    num_specs: int
    reasons: Reasons
    replaced_by: list[str]
    is_older: bool


class NearestSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One of the specs in head that are nearest to a lost cell."""

    hash: str
    version: str
    operating_system: str
    platform: str
    target: str
    stacks: list[str]


class LostCell(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package that is no longer available for these ``values`` of the dimensions.

    ``nearest`` is empty if more than ``FEW`` packages were lost for the same values.
    """

    package: str
    values: tuple[str, ...]
    num_specs: int
    nearest: list[NearestSpec]


class Losses(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Packages, versions and cells that base has and head does not.

    ``by`` has the dimensions of the cells. Cells of packages and stacks that were removed entirely
    are omitted.
    """

    packages: list[LostPackage]
    versions: list[LostVersion]
    by: list[str]
    coverage: list[LostCell]

    def __bool__(self) -> bool:
        return bool(self.packages or self.versions_gone or self.coverage)

    @property
    def versions_gone(self) -> list[LostVersion]:
        """The versions that no other version replaced."""
        return [version for version in self.versions if not version.replaced_by]


def losses_of(
    comparison: Comparison,
    packages: Iterable[PackageChange],
    explanation: Explanation,
    cells: CoverageChanges,
) -> Losses:
    """Return the losses of a comparison, which may be narrowed, with its changes of packages."""
    specs = _LostSpecs(comparison, explanation)
    stacks = {stack.name for stack in comparison.stacks if stack.kind is StackChangeKind.REMOVED}
    gone, versions = [], []
    for change in packages:
        if change.kind is PackageChangeKind.REMOVED:
            gone.append(specs.package(change, stacks))
        else:
            versions += [specs.version(change.name, version) for version in change.versions_removed]
    return Losses(
        packages=gone,
        versions=versions,
        by=[dimension.value for dimension in cells.dimensions],
        coverage=_lost_cells(cells, {package.name for package in gone}, stacks),
    )


def _lost_cells(
    cells: CoverageChanges, packages_gone: set[str], stacks_gone: set[str]
) -> list[LostCell]:
    """Return the lost cells, with the nearest specs for values that few packages lost."""
    lost = cells.select([CoverageChangeKind.LOST])
    cells_lost = [
        (place, package, values)
        for place in range(len(lost))
        if (package := lost.package(place)) not in packages_gone
        and stacks_gone.isdisjoint(values := lost.values(place))
    ]
    num_lost = Counter(values for _, _, values in cells_lost)
    return [
        LostCell(
            package=package,
            values=values,
            num_specs=int(lost.cells.num_specs[place]),
            nearest=[_nearest_spec(lost.head, row) for row in lost.nearest(place).tolist()]
            if num_lost[values] <= FEW
            else [],
        )
        for place, package, values in cells_lost
    ]


class _LostSpecs:
    """The removed specs by package and version, with their reasons and counterparts."""

    def __init__(self, comparison: Comparison, explanation: Explanation) -> None:
        removed = comparison.specs.select([SpecChangeKind.REMOVED])
        self._base, self._head = comparison.base, comparison.head
        frame, rows = removed.base, removed.before
        self._places: dict[tuple[int, int], list[int]] = {}
        keys = zip(
            frame.package.codes[rows].tolist(), frame.version.codes[rows].tolist(), strict=True
        )
        for place, key in enumerate(keys):
            self._places.setdefault(key, []).append(place)
        self._rows = rows.tolist()
        self._reasons = explanation.reasons(removed).tolist()
        self._counterparts = explanation.counterpart_rows(removed).tolist()

    def package(self, change: PackageChange, removed_stacks: set[str]) -> LostPackage:
        """Return the entry of a package of which all specs were removed."""
        places = [
            place for version in change.versions_before for place in self._of(change.name, version)
        ]
        stacks = {stack for place in places for stack in self._base.stacks.at(self._rows[place])}
        stacks -= {ROOT_STACK}
        return LostPackage(
            name=change.name,
            versions=change.versions_before,
            num_specs=len(places),
            reasons=self._count(places),
            with_stacks=sorted(stacks) if stacks and stacks <= removed_stacks else [],
        )

    def version(self, package: str, version: str) -> LostVersion:
        """Return the entry of a version of which all specs were removed."""
        places = self._of(package, version)
        rows = [row for row in (self._counterparts[place] for place in places) if row >= 0]
        column = self._head.version
        # The codes of versions are in Spack's version order.
        codes = sorted({int(column.codes[row]) for row in rows}, reverse=True)
        newest_first = [
            other for other in map(column.values.__getitem__, codes) if other != version
        ]
        return LostVersion(
            package=package,
            version=version,
            num_specs=len(places),
            reasons=self._count(places),
            replaced_by=newest_first,
            is_older=bool(newest_first) and is_older(newest_first[0], version),
        )

    def _of(self, package: str, version: str) -> Sequence[int]:
        key = self._base.package.index[package], self._base.version.index[version]
        return self._places.get(key, ())

    def _count(self, places: Iterable[int]) -> Reasons:
        codes = [self._reasons[place] for place in places]
        return {REASONS[code].value: codes.count(code) for code in sorted({*codes})}


def _nearest_spec(head: Frame, row: int) -> NearestSpec:
    return NearestSpec(
        hash=head.hashes.at(row),
        version=head.version.at(row),
        operating_system=head.operating_system.at(row),
        platform=head.platform.at(row),
        target=head.target.at(row),
        stacks=[stack for stack in head.stacks.at(row) if stack != ROOT_STACK],
    )
