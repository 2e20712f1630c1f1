"""Attribution of causes to commits: which commits explain a cause, how closely, and their effects.

docs/causes.md defines the terms. The input is the explanation of a comparison and the commits
between the recipe commits of its two sides.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property

import msgspec
import numpy as np

from snapshots.changes.causes import CauseCount
from snapshots.changes.explanation import Explanation
from snapshots.changes.sides import tools_of
from snapshots.frames.frame import Frame
from snapshots.models import CauseKind
from snapshots.recipes.commits import Between, Commit, Links, Recipes

MAX_DEPENDENTS = 20
"""Maximum number of commits at the level DEPENDENT per cause."""


class CommitLevel(Enum):
    """How closely a commit explains a cause, closest first.

    - OWN_RECIPE: It touched the package's recipe.
    - DEPENDENT: It touched the recipe of a package that depends directly on this one, which may
      require another version or variant.
    - STACK: It touched a stack of the specs, which may require another.
    - SPACK: It changed the Spack in use, which may concretize differently.
    """

    OWN_RECIPE = "own_recipe"
    DEPENDENT = "dependent"
    STACK = "stack"
    SPACK = "spack"


LEVELS = tuple(CommitLevel)


_OF_MACHINES = frozenset({CauseKind.ARCHITECTURE, CauseKind.TARGET})
"""The kinds of causes in what specs are built for, which no recipe determines."""


class CauseCommit(msgspec.Struct, frozen=True):
    """A commit that explains a cause; ``taken_back`` if it is reachable from base only."""

    commit: Commit
    level: CommitLevel
    taken_back: bool


class CommitEffect(msgspec.Struct, frozen=True):
    """The effect of a commit in a comparison.

    ``level`` is the closest level at which the commit explains any cause. ``causes`` are the
    numbers of the causes that it explains at this level, in rank order; ``num_specs`` and
    ``num_involved`` are sums over them. A cause that several commits explain counts for each of
    them.
    """

    commit: Commit
    level: CommitLevel
    taken_back: bool
    causes: Sequence[int]
    num_specs: int
    num_involved: int

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key: by level, then by number of specs, then newest first.

        Dropped commits follow all others, and sweeping commits follow these.
        """
        commit = self.commit
        counts = -self.num_specs, -self.num_involved
        return (
            commit.is_sweeping,
            self.taken_back,
            LEVELS.index(self.level),
            *counts,
            commit.order,
        )


class Attribution:
    """The commits of all causes of a comparison without filters."""

    def __init__(self, explanation: Explanation, between: Between) -> None:
        self._explanation = explanation
        self._commits = sorted(
            [
                *((commit, False) for commit in between.reached),
                *((commit, True) for commit in between.taken_back),
            ],
            key=lambda pair: pair[0].order,
        )
        self._of_causes = self._attributed()

    def of_cause(self, number: int) -> Sequence[CauseCommit]:
        """Return the commits that explain a cause, at the closest level that has any.

        They are in the order of ``Commit.order``.
        """
        return self._of_causes.get(number, ())

    def is_external(self, number: int) -> bool:
        """Return whether a cause's package is an external: a machine changed, not a recipe.

        A compiler that is no dependency is one.
        """
        name = self._explanation.causes.name_of(number)
        if name.kind in (CauseKind.EXTERNAL, CauseKind.COMPILER):
            return True
        is_version = name.kind is CauseKind.VERSION
        versions = (name.before, name.after) if is_version else (None, None)
        return any(
            not {(name.package, None), (name.package, version)}.isdisjoint(outside)
            for version, outside in zip(versions, self._outside, strict=True)
        )

    def effects(
        self,
        counts: Iterable[CauseCount] | None = None,
        levels: Collection[CommitLevel] | None = None,
        package: str | None = None,
    ) -> list[CommitEffect]:
        """Return the effects of the commits that explain causes, by ``CommitEffect.order``.

        ``counts`` are the causes of a filtered comparison; without them, all causes count in full.
        ``levels`` and ``package`` restrict the result to these levels and to causes in this
        package.
        """
        causes = self._explanation.causes
        of_commits: dict[tuple[str, bool], list[tuple[CauseCommit, CauseCount]]] = defaultdict(list)
        for count in causes.counted() if counts is None else counts:
            if package not in (None, causes.name_of(count.number).package):
                continue
            for commit in self.of_cause(count.number):
                of_commits[commit.commit.oid, commit.taken_back].append((commit, count))
        effects = [_effect(pairs) for pairs in of_commits.values()]
        if levels is not None:
            effects = [effect for effect in effects if effect.level in levels]
        return sorted(effects, key=lambda effect: effect.order)

    def stacks(self, number: int) -> set[str]:
        """Return the stacks of the specs that a cause is involved in."""
        causes, frame = self._explanation.causes, self._explanation.head.frame
        lists = frame.stacks.present(causes.rows_of(number, involved=True))
        return {stack for stacks in lists for stack in stacks or ()}

    def _attributed(self) -> dict[int, list[CauseCommit]]:
        names = [self._explanation.causes.name_of(n) for n in range(len(self._explanation.causes))]
        of_package = self._touching(lambda commit: commit.packages)
        explanation = self._explanation
        tools = {tool for side in (explanation.base, explanation.head) for tool in tools_of(side)}
        found: dict[int, list[CauseCommit]] = {}
        unexplained: dict[int, str | None] = {}
        for number, name in enumerate(names):
            if name.kind in _OF_MACHINES or self.is_external(number):
                continue  # what a machine has does not follow from any commit
            if name.package in of_package:
                found[number] = _at_level(CommitLevel.OWN_RECIPE, of_package[name.package])
            elif name.package not in tools:
                unexplained[number] = name.package
        dependents = self._dependents({package for package in unexplained.values() if package})
        of_stack = self._touching(lambda commit: commit.stacks)
        bumps = [pair for pair in self._commits if pair[0].spack is not None]
        for number, package in unexplained.items():
            above = self._commits_of_any(of_package, dependents.get(package or "", ()))
            of_stacks = self._commits_of_any(of_stack, self.stacks(number) if of_stack else ())
            if above:
                found[number] = _at_level(CommitLevel.DEPENDENT, above[:MAX_DEPENDENTS])
            elif package and of_stacks:
                found[number] = _at_level(CommitLevel.STACK, of_stacks)
            elif bumps:
                found[number] = _at_level(CommitLevel.SPACK, bumps)
        return found

    def _touching(
        self, names_of: Callable[[Commit], Iterable[str]]
    ) -> dict[str | None, list[tuple[Commit, bool]]]:
        """Return the commits that touch each name."""
        touching: dict[str | None, list[tuple[Commit, bool]]] = defaultdict(list)
        for pair in self._commits:
            for name in names_of(pair[0]):
                touching[name].append(pair)
        return dict(touching)

    def _commits_of_any(
        self, touching: Mapping[str | None, list[tuple[Commit, bool]]], names: Iterable[str]
    ) -> list[tuple[Commit, bool]]:
        pairs = {pair[0].oid: pair for name in names for pair in touching.get(name, ())}
        return sorted(pairs.values(), key=lambda pair: pair[0].order)

    def _dependents(self, packages: Collection[str]) -> dict[str, set[str]]:
        """Return, for each package, the names of its direct dependents in either content."""
        dependents: dict[str, set[str]] = defaultdict(set)
        if not packages:
            return dependents
        for side in (self._explanation.base, self._explanation.head):
            column = side.column("package")
            names, codes = column.values, column.codes
            is_one = np.array([name in packages for name in names], np.bool_)
            targets = codes[side.graph.targets]
            edges = np.flatnonzero(is_one[targets])
            pairs = codes[side.graph.sources[edges]].astype(np.int64) * len(names) + targets[edges]
            for pair in np.unique(pairs).tolist():
                above, below = divmod(pair, len(names))
                dependents[names[below]].add(names[above])
        return dependents

    @cached_property
    def _outside(self) -> list[set[tuple[str | None, str | None]]]:
        """The packages, and the versions of packages, that are only outside each of the caches.

        The first have None in place of the version.
        """
        return [
            _names_and_versions(side.graph.outside) - _names_and_versions(side.frame)
            for side in (self._explanation.base, self._explanation.head)
        ]


def _names_and_versions(frame: Frame) -> set[tuple[str | None, str | None]]:
    columns = frame.package, frame.version
    codes = np.unique(np.stack([column.codes for column in columns], axis=1), axis=0).tolist()
    versions = {(columns[0].values[name], columns[1].values[version]) for name, version in codes}
    return versions | {(name, None) for name, _ in versions}


class RecipesChange(msgspec.Struct, frozen=True):
    """The recipe commits of two revisions, and the attribution of causes to the commits between.

    ``attribution`` is None if the commits are not available; ``why_unknown`` is the reason.
    """

    base: Recipes | None
    head: Recipes | None
    attribution: Attribution | None
    why_unknown: str | None
    links: Links


def _at_level(level: CommitLevel, pairs: Iterable[tuple[Commit, bool]]) -> list[CauseCommit]:
    return [CauseCommit(commit, level, taken_back) for commit, taken_back in pairs]


def _effect(pairs: Sequence[tuple[CauseCommit, CauseCount]]) -> CommitEffect:
    level = min((commit.level for commit, _ in pairs), key=LEVELS.index)
    counts = [count for commit, count in pairs if commit.level is level]
    return CommitEffect(
        pairs[0][0].commit,
        level,
        pairs[0][0].taken_back,
        [count.number for count in counts],
        sum(count.num_specs for count in counts),
        sum(count.num_involved for count in counts),
    )
