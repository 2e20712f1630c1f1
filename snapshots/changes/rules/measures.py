"""What rules are judged over, and what they can count of it.

A rule is about all of a comparison, or about some specs. One that is narrowed is judged as if both
revisions held nothing but the specs that it is about. So what left a stack is gone for the users of
the stack, although other stacks still have it. What a rule can limit are the counts of a
comparison's summary, and the sizes of what was added and removed. Each measure has its whole: what
base has of the same, which a percentage is of.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cached_property, partial
from typing import Any

import msgspec
import numpy as np

from snapshots.changes.causes import CauseCount
from snapshots.changes.coverage import (
    CoverageChangeKind,
    CoverageChanges,
    CoverageDimension,
    cells_of,
    coverage,
    unstated,
    usual_dimensions,
)
from snapshots.changes.diff import Comparison, SpecChangeKind, SpecChanges
from snapshots.changes.explanation import Explanation
from snapshots.changes.holes import Holes
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import code_of, tells_stacks
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.changes.twins import Twins
from snapshots.errors import InvalidArgument, UnknownPackage
from snapshots.frames import queries
from snapshots.frames.columns import Mask, Rows, rows_where
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame

BY_COMMIT = "specs-rebuilt-by-commit"
"""The measure of what one commit of the recipes rebuilt."""


class CommitRebuild(msgspec.Struct, frozen=True):
    """A commit of the recipes, in words, and the causes that are changes of its own recipes."""

    commit: str
    causes: Sequence[int]


MostRebuilt = Callable[[Sequence[CauseCount]], CommitRebuild | None]
"""Returns the commit that explains most specs of some causes; None where none explains any.

Raises InvalidArgument where the commits are not known.
"""


def no_commits(_counts: Sequence[CauseCount]) -> CommitRebuild | None:
    """Raise InvalidArgument: of what is not published yet no commits are known."""
    raise commits_unknown("the commits of the recipes are known only of published revisions")


def commits_unknown(reason: str | None) -> InvalidArgument:
    """Return the fault of commits that are not known."""
    return InvalidArgument(BY_COMMIT, f"{reason}, so nothing can be judged")


NO_MASK: Mask = np.zeros(0, np.bool_)
"""The mask over a base that there is not."""


class Searched(msgspec.Struct, frozen=True):
    """A revision that is searched; ``load`` returns its graph where a query needs it."""

    frame: Frame
    load: Callable[[], DependencyGraph]


class Judged(msgspec.Struct, frozen=True):
    """What rules are judged on: head, and what changed from base where there is one.

    ``elsewhere`` returns the names of packages of other revisions. ``explain`` and ``most_rebuilt``
    are asked for what they explain only by rules that need it.
    """

    base: Searched | None
    head: Searched
    elsewhere: Callable[[], Collection[str]]
    comparison: Comparison | None = None
    explain: Callable[[], Explanation] | None = None
    most_rebuilt: MostRebuilt = no_commits

    def find(self, query: str) -> tuple[Mask, Mask]:
        """Return masks over base, empty where there is none, and head: what a query matches.

        Where nothing matches on either side it raises UnknownPackage for any unknown name: with a
        typing error behind ``^``, too, a rule would hold whatever is published.
        """
        base, head, parsed = self.base, self.head, queries.read(query)
        before = NO_MASK if base is None else queries.select(base.frame, parsed, base.load)
        after = queries.select(head.frame, parsed, head.load)
        if not after.any() and not before.any():
            packages = () if base is None else base.frame.packages
            question = parsed, head.frame, head.load, lambda: {*packages, *self.elsewhere()}
            queries.require_known(*question)
            for unknown in queries.unknown_names(*question):
                raise UnknownPackage(unknown.name, unknown.nearest)
        return before, after


_GLOB = re.compile(r"[*?\[]")


class RuleSubject(msgspec.Struct, frozen=True, kw_only=True):
    """Which specs a rule is about: those that meet all of it. None and empty set no condition.

    ``package`` and ``except_`` are globs; ``matching`` is a query in Spack's language.
    """

    stack: str | None = None
    package: tuple[str, ...] = ()
    matching: str | None = None
    except_: tuple[str, ...] = ()

    def packages_meant(self, names: Sequence[str]) -> Mask:
        """Return which of some packages the rule is about, by their names."""
        meant = _fitting(names, self.package) if self.package else np.ones(len(names), np.bool_)
        return meant & ~_fitting(names, self.except_)


def _fitting(names: Sequence[str], globs: Sequence[str]) -> Mask:
    """Return which names fit one of the globs."""
    # fnmatchcase keeps too few patterns for rules of hundreds.
    fits = [re.compile(translate(glob)).match for glob in globs if _GLOB.search(glob)]
    plain = frozenset(globs)
    return np.fromiter(
        (name in plain or any(fit(name) for fit in fits) for name in names), np.bool_, len(names)
    )


class Scope:
    """The specs of head that a rule is about, and where there is a base those of base.

    What follows from the difference of both raises TypeError where there is no base.
    """

    def __init__(self, judged: Judged, only: RuleSubject) -> None:
        self._judged = judged
        self.only = only
        self.head = judged.head.frame
        self.base = None if judged.comparison is None else judged.comparison.base
        self._cells: dict[tuple[CoverageDimension, ...], CoverageChanges] = {}

    @cached_property
    def masks(self) -> tuple[Mask, Mask]:
        """The rows of base, none where there is no base, and of head that the rule is about."""
        before = NO_MASK if self.base is None else _meeting(self.base, self.only)
        after = _meeting(self.head, self.only)
        if self.only.matching is None:
            return before, after
        in_base, in_head = self._judged.find(self.only.matching)
        return before & in_base, after & in_head

    def find(self, query: str) -> tuple[Mask, Mask]:
        """Return those of the rows that a query in Spack's language means."""
        in_base, in_head = self._judged.find(query)
        return self.masks[0] & in_base, self.masks[1] & in_head

    def holes(self) -> tuple[DependencyGraph, Holes]:
        """Return what the specs of head that the rule is about lack, and the graph of head.

        Raises InvalidArgument where the source of head states the dependencies of none of them.
        """
        graph, rows = self._judged.head.load(), self.masks[1]
        known = graph.known[rows] if rows.any() else graph.known
        if len(known) and not known.any():
            reason = "head does not list dependencies of these specs, so nothing can be judged"
            raise InvalidArgument("forbid", reason)
        return graph, Holes(graph, rows)

    def twins(self) -> Twins:
        """Return which of the specs of head that the rule is about are built more than once."""
        return Twins(Side(self.head, self._judged.head.load()), self.masks[1])

    # -- the difference from base

    @property
    def _whole(self) -> Comparison:
        """What changed, whatever the rule is about."""
        if self._judged.comparison is None:
            raise TypeError("judged without a base")
        return self._judged.comparison

    @cached_property
    def comparison(self) -> Comparison:
        """What changed, of these specs alone."""
        if self.only == RuleSubject():
            return self._whole
        pairing = self._whole.pairing.within(*self.masks)
        return Comparison(self._whole.base, self._whole.head, pairing)

    def explain(self) -> Explanation:
        """Return why what changed did so, in scope or not."""
        if self._judged.explain is None:
            raise TypeError("a comparison is judged without what explains it")
        return self._judged.explain()

    def most_rebuilt(self, counts: Sequence[CauseCount]) -> CommitRebuild | None:
        """Return the commit that rebuilt most; raises InvalidArgument where none are known."""
        return self._judged.most_rebuilt(counts)

    @property
    def usual_dimensions(self) -> tuple[CoverageDimension, ...]:
        """The dimensions of cells where a rule does not name any.

        Stacks are among them where one side alone states them: then no cell can be judged.
        """
        if self._who_tells_no_stacks():
            return (CoverageDimension.STACK, CoverageDimension.TARGET)
        return tuple(usual_dimensions(self._whole))

    def _who_tells_no_stacks(self) -> str | None:
        return silent_side(self._whole.base, self._whole.head)

    # -- what base has: the wholes of percentages

    @cached_property
    def base_rows(self) -> Rows:
        """The rows of base that the rule is about."""
        return rows_where(self.masks[0])

    @property
    def num_specs(self) -> int:
        """How many specs base has."""
        return len(self.base_rows)

    @property
    def num_packages(self) -> int:
        """How many packages base has."""
        return int(np.count_nonzero(self._whole.base.packages_having(self.masks[0])))

    @property
    def num_stacks(self) -> int:
        """How many stacks base has."""
        before, _ = self.comparison.stacks.num_stacks
        return before if self.only.stack is None else min(before, 1)

    def num_cells(self, dimensions: Sequence[CoverageDimension]) -> int:
        """Return how many cells base has."""
        if self.only.stack is not None:  # all of the specs are in it, and it alone counts
            dimensions = [
                dimension for dimension in dimensions if dimension is not CoverageDimension.STACK
            ]
        return len(cells_of(self._whole.base, self.base_rows, dimensions).packages)

    # -- what changed, but of no stack that the rule is not about

    def stacks(self, kind: StackChangeKind) -> list[StackChange]:
        """Return the stacks that changed so; raises InvalidArgument where one side states none."""
        if who := self._who_tells_no_stacks():
            raise InvalidArgument("stack", f"{who} tells none, so nothing can be judged")
        changes = (change for change in self.comparison.stacks if change.kind is kind)
        return [change for change in changes if self.only.stack in (None, change.name)]

    def cells(self, dimensions: tuple[CoverageDimension, ...]) -> CoverageChanges:
        """Return the cells that were lost and gained; raises as ``require_told`` does."""
        self.require_told(dimensions)
        if dimensions not in self._cells:
            cells = coverage(self.comparison, dimensions)
            self._cells[dimensions] = cells.of_stack(self.only.stack)
        return self._cells[dimensions]

    def require_told(self, dimensions: Sequence[CoverageDimension]) -> None:
        """Raise InvalidArgument where a side does not state a dimension, so that no cell counts."""
        for who, frame in (("base", self._whole.base), ("head", self._whole.head)):
            for dimension in unstated(frame, dimensions):
                name = dimension.value.replace("_", "-")
                raise InvalidArgument(name, f"{who} tells it of no spec, so nothing can be judged")

    def lost_for_query(
        self, query: str, dimensions: tuple[CoverageDimension, ...]
    ) -> CoverageChanges:
        """Return the cells of specs that a query means which head has no longer.

        Raises as ``require_told`` does.
        """
        self.require_told(dimensions)
        lost = coverage(self._whole, dimensions, self.find(query)).select([CoverageChangeKind.LOST])
        return lost.of_stack(self.only.stack)


def silent_side(base: Frame, head: Frame) -> str | None:
    """Return which of two revisions states no stacks, where the other one does; else None."""
    base_states, head_states = tells_stacks(base), tells_stacks(head)
    if base_states == head_states:
        return None
    return "head" if base_states else "base"


def _meeting(frame: Frame, only: RuleSubject) -> Mask:
    """Return the rows of a frame that a rule is about, by stack and package."""
    mask: Mask = only.packages_meant(frame.packages)[frame.package.codes]
    return mask if only.stack is None else mask & frame.in_stack(only.stack)


class Measured(msgspec.Struct, frozen=True):
    """How much there is of something, and of how much in base; None for what is unknown.

    ``changes`` are the specs that were counted, where specs were. ``num_unknown`` of them have no
    size. ``by`` is what they are counted for, in words.
    """

    amount: int | None
    whole: int | None
    changes: SpecChanges | None = None
    num_unknown: int = 0
    by: str | None = None


class Measure(msgspec.Struct, frozen=True):
    """A way to count; ``noun`` is what is counted, ``happened`` what became of it.

    One that is ``of_head`` needs no base: it is taken of head alone.
    """

    noun: str
    happened: str
    take: Callable[[Any], Measured]
    is_size: bool = False
    of_head: bool = False


def _packages(kind: PackageChangeKind, scope: Scope) -> Measured:
    return Measured(scope.comparison.packages.count(kind), scope.num_packages)


def _packages_unchanged(scope: Scope) -> Measured:
    return Measured(scope.comparison.num_packages_unchanged, scope.num_packages)


def _specs(kind: SpecChangeKind, scope: Scope) -> Measured:
    changes = scope.comparison.specs.select([kind])
    return Measured(len(changes), scope.num_specs, changes)


def _specs_unchanged(scope: Scope) -> Measured:
    return Measured(scope.comparison.num_unchanged, scope.num_specs)


def _reasons(reason: SpecChangeReason, scope: Scope) -> Measured:
    changes = scope.comparison.specs
    changes = changes.take(scope.explain().reasons(changes) == code_of(reason))
    return Measured(len(changes), scope.num_specs, changes)


def _rebuilt_by_commit(scope: Scope) -> Measured:
    """Return the specs whose main causes are changes of the recipes that one commit touched."""
    changes, causes = scope.comparison.specs.select([SpecChangeKind.ADDED]), scope.explain().causes
    most = scope.most_rebuilt(causes.counted(changes.after))
    numbers = [] if most is None else list(most.causes)
    changes = changes.take(np.isin(causes.main_of(changes.after), numbers))
    return Measured(len(changes), scope.num_specs, changes, by=most.commit if most else None)


def _stacks(kind: StackChangeKind, scope: Scope) -> Measured:
    return Measured(len(scope.stacks(kind)), scope.num_stacks)


def _coverage(kind: CoverageChangeKind, scope: Scope) -> Measured:
    cells = scope.cells(scope.usual_dimensions)
    return Measured(cells.count(kind), scope.num_cells(scope.usual_dimensions))


def _size(kind: SpecChangeKind, scope: Scope) -> Measured:
    """Return the sum of the known sizes of the binary packages that were added or removed."""
    changes = scope.comparison.specs.select([kind])
    is_added = kind is SpecChangeKind.ADDED
    rows = changes.after if is_added else changes.before
    sizes = (changes.head if is_added else changes.base).size.numbers[rows]
    num_unknown = int(np.count_nonzero(sizes < 0))
    is_told = num_unknown < len(rows) or not len(rows)
    count = int(np.maximum(sizes, 0).sum()) if is_told else None
    whole, _ = scope.comparison.packages.total_sizes()
    return Measured(count, whole, changes, num_unknown)


def _twins(scope: Scope) -> Measured:
    twins = scope.twins()
    whole = int(np.count_nonzero(scope.masks[1]))
    return Measured(len(twins.others), whole, twins.explanation.comparison.specs)


def _all_measures() -> Iterator[tuple[str, Measure]]:
    for of_package in PackageChangeKind:
        name = of_package.value.replace("_", "-")
        happened = {"versions-changed": "with other versions"}.get(name, name)
        yield f"packages-{name}", Measure("package", happened, partial(_packages, of_package))
    yield "packages-unchanged", Measure("package", "unchanged", _packages_unchanged)
    for of_spec in SpecChangeKind:
        yield f"specs-{of_spec.value}", Measure("spec", of_spec.value, partial(_specs, of_spec))
    yield "specs-unchanged", Measure("spec", "unchanged", _specs_unchanged)
    for name, reason in (
        ("rebuilt", SpecChangeReason.REBUILT),
        ("replaced", SpecChangeReason.REPLACES),
    ):
        yield f"specs-{name}", Measure("spec", name, partial(_reasons, reason))
    by_commit = Measure("spec", "rebuilt by one commit", _rebuilt_by_commit)
    yield BY_COMMIT, by_commit
    for of_stack in (StackChangeKind.ADDED, StackChangeKind.REMOVED):
        name = of_stack.value
        yield f"stacks-{name}", Measure("stack", name, partial(_stacks, of_stack))
    for of_cell in CoverageChangeKind:
        name = of_cell.value
        yield f"coverage-{name}", Measure("cell", name, partial(_coverage, of_cell))
    for of_size in (SpecChangeKind.ADDED, SpecChangeKind.REMOVED):
        name = of_size.value
        yield f"size-{name}", Measure("size", name, partial(_size, of_size), is_size=True)
    yield "twins", Measure("spec", "built again as twins", _twins, of_head=True)


MEASURES: Mapping[str, Measure] = dict(_all_measures())
"""The measures by the names that a file has for them: those of the summary, with dashes."""


def rows_of(changes: SpecChanges) -> tuple[Frame, Rows]:
    """Return the frame and the rows of changes of one kind: of head, unless they were removed."""
    is_removed = bool(len(changes)) and int(changes.after[0]) < 0
    return (changes.base, changes.before) if is_removed else (changes.head, changes.after)
