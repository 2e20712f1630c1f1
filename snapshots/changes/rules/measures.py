"""The scope of rules, and the counts that they can limit.

A rule is about an entire comparison, or about the specs in its scope. A rule with a scope is
evaluated as if both revisions contained only the specs in scope: a spec that left a stack is
removed for the users of the stack, although other stacks may still have it. Rules can limit the
counts of a comparison's summary, and the sizes of added and removed specs. The whole of each
measure, to which a percentage refers, is the corresponding count of base, or of head if the
measure is ``of_head``.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cached_property, partial
from typing import Any

import msgspec
import numpy as np

from snapshots.arrays import Mask, Rows
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
from snapshots.changes.pairings import code_of, states_stacks
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.changes.twins import Twins
from snapshots.changes.vocabulary import PACKAGE_KINDS
from snapshots.errors import InvalidArgument, UnknownPackage
from snapshots.frames import queries
from snapshots.frames.columns import rows_where
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame

NO_MASK: Mask = np.zeros(0, np.bool_)
"""The mask over a missing base."""


class Searched(msgspec.Struct, frozen=True):
    """A revision to search; ``load`` returns its graph, if a query needs it."""

    frame: Frame
    load: Callable[[], DependencyGraph]


class RuleContext(msgspec.Struct, frozen=True):
    """The input of rules: head, and the changes from base if there is a base.

    ``elsewhere`` returns the package names of other revisions. ``explain`` is called only
    for rules that need it.
    """

    base: Searched | None
    head: Searched
    elsewhere: Callable[[], Collection[str]]
    comparison: Comparison | None = None
    explain: Callable[[], Explanation] | None = None

    def find(self, query: str) -> tuple[Mask, Mask]:
        """Return masks over base, empty without a base, and head of the specs that match a query.

        If nothing matches on either side, raise UnknownPackage for any unknown name: with a
        misspelled name, also after ``^``, a rule would hold regardless of what is published.
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


class RuleScope(msgspec.Struct, frozen=True, kw_only=True):
    """The scope of a rule: the specs that meet all conditions; None and empty are no condition.

    ``package`` and ``except_`` are globs; ``matching`` is a query in Spack's spec syntax.
    """

    stack: str | None = None
    package: tuple[str, ...] = ()
    matching: str | None = None
    except_: tuple[str, ...] = ()

    def packages_meant(self, names: Sequence[str]) -> Mask:
        """Return which of some packages are in scope, by name."""
        meant = _fitting(names, self.package) if self.package else np.ones(len(names), np.bool_)
        return meant & ~_fitting(names, self.except_)


def _fitting(names: Sequence[str], globs: Sequence[str]) -> Mask:
    """Return which names match one of the globs."""
    # The cache of fnmatchcase is too small for rules with hundreds of globs.
    fits = [re.compile(translate(glob)).match for glob in globs if _GLOB.search(glob)]
    plain = frozenset(globs)
    return np.fromiter(
        (name in plain or any(fit(name) for fit in fits) for name in names), np.bool_, len(names)
    )


class ScopedComparison:
    """The specs of head that are in the scope of a rule, and, if there is a base, those of base.

    Results that require the difference of both raise TypeError if there is no base.
    """

    def __init__(self, context: RuleContext, scope: RuleScope) -> None:
        self._context = context
        self.scope = scope
        self.head = context.head.frame
        self.base = None if context.comparison is None else context.comparison.base
        self._cells: dict[tuple[CoverageDimension, ...], CoverageChanges] = {}

    @cached_property
    def masks(self) -> tuple[Mask, Mask]:
        """The rows in scope of base, empty without a base, and of head."""
        before = NO_MASK if self.base is None else _rows_in_scope(self.base, self.scope)
        after = _rows_in_scope(self.head, self.scope)
        if self.scope.matching is None:
            return before, after
        in_base, in_head = self._context.find(self.scope.matching)
        return before & in_base, after & in_head

    def find(self, query: str) -> tuple[Mask, Mask]:
        """Return the rows in scope that match a query in Spack's spec syntax."""
        in_base, in_head = self._context.find(query)
        return self.masks[0] & in_base, self.masks[1] & in_head

    def holes(self) -> tuple[DependencyGraph, Holes]:
        """Return the holes of the specs of head in scope, and the graph of head.

        Raises InvalidArgument if the source of head states the dependencies of none of them.
        """
        graph, rows = self._context.head.load(), self.masks[1]
        known = graph.known[rows] if rows.any() else graph.known
        if len(known) and not known.any():
            reason = "head does not list dependencies of these specs, so nothing can be checked"
            raise InvalidArgument("forbid", reason)
        return graph, Holes(self.head, graph, rows)

    def twins(self) -> Twins:
        """Return the twins among the specs of head in scope."""
        return Twins(Side(self.head, self._context.head.load()), self.masks[1])

    # -- the difference from base

    @property
    def _whole(self) -> Comparison:
        """The changes of all specs, regardless of the scope."""
        if self._context.comparison is None:
            raise TypeError("judged without a base")
        return self._context.comparison

    @cached_property
    def comparison(self) -> Comparison:
        """The changes of the specs in scope."""
        if self.scope == RuleScope():
            return self._whole
        pairing = self._whole.pairing.within(*self.masks)
        return Comparison(self._whole.base, self._whole.head, pairing)

    def explain(self) -> Explanation:
        """Return the explanation of all changes, regardless of the scope."""
        if self._context.explain is None:
            raise TypeError("a comparison is judged without what explains it")
        return self._context.explain()

    @property
    def usual_dimensions(self) -> tuple[CoverageDimension, ...]:
        """The dimensions of cells if a rule does not name any.

        Stacks are included if only one side states them: then no cell can be evaluated.
        """
        if self._side_without_stacks():
            return (CoverageDimension.STACK, CoverageDimension.TARGET)
        return tuple(usual_dimensions(self._whole))

    def _side_without_stacks(self) -> str | None:
        return side_without_stacks(self._whole.base, self._whole.head)

    # -- counts of base, to which percentages refer

    @cached_property
    def base_rows(self) -> Rows:
        """The rows of base that are in scope."""
        return rows_where(self.masks[0])

    @property
    def num_specs(self) -> int:
        """Number of specs of base in scope."""
        return len(self.base_rows)

    @property
    def num_packages(self) -> int:
        """Number of packages of base in scope."""
        return int(np.count_nonzero(self._whole.base.packages_having(self.masks[0])))

    @property
    def num_stacks(self) -> int:
        """Number of stacks of base in scope."""
        before, _ = self.comparison.stacks.num_stacks
        return before if self.scope.stack is None else min(before, 1)

    def num_cells(self, dimensions: Sequence[CoverageDimension]) -> int:
        """Return the number of cells of base in scope."""
        if self.scope.stack is not None:  # all specs in scope are in it, and no other counts
            dimensions = [
                dimension for dimension in dimensions if dimension is not CoverageDimension.STACK
            ]
        return len(cells_of(self._whole.base, self.base_rows, dimensions).packages)

    # -- changes, without those of stacks out of scope

    def stacks(self, kind: StackChangeKind) -> list[StackChange]:
        """Return the stacks that changed by kind; raise InvalidArgument if one side states none."""
        if who := self._side_without_stacks():
            raise InvalidArgument("stack", f"{who} does not list stacks, so nothing can be checked")
        changes = (change for change in self.comparison.stacks if change.kind is kind)
        return [change for change in changes if self.scope.stack in (None, change.name)]

    def cells(self, dimensions: tuple[CoverageDimension, ...]) -> CoverageChanges:
        """Return the cells that were lost and gained; raises as ``require_stated`` does."""
        self.require_stated(dimensions)
        if dimensions not in self._cells:
            cells = coverage(self.comparison, dimensions)
            self._cells[dimensions] = cells.of_stack(self.scope.stack)
        return self._cells[dimensions]

    def require_stated(self, dimensions: Sequence[CoverageDimension]) -> None:
        """Raise InvalidArgument if a side does not state a dimension, so that no cell counts."""
        for who, frame in (("base", self._whole.base), ("head", self._whole.head)):
            for dimension in unstated(frame, dimensions):
                name = dimension.value.replace("_", "-")
                raise InvalidArgument(name, f"{who} does not list it, so nothing can be checked")

    def lost_for_query(
        self, query: str, dimensions: tuple[CoverageDimension, ...]
    ) -> CoverageChanges:
        """Return the lost cells of the specs that match a query.

        Raises as ``require_stated`` does.
        """
        self.require_stated(dimensions)
        lost = coverage(self._whole, dimensions, self.find(query)).select([CoverageChangeKind.LOST])
        return lost.of_stack(self.scope.stack)


def side_without_stacks(base: Frame, head: Frame) -> str | None:
    """Return which of two revisions states no stacks although the other does; None otherwise."""
    base_states, head_states = states_stacks(base), states_stacks(head)
    if base_states == head_states:
        return None
    return "head" if base_states else "base"


def _rows_in_scope(frame: Frame, scope: RuleScope) -> Mask:
    """Return the rows of a frame that are in scope, by stack and package."""
    mask: Mask = scope.packages_meant(frame.packages)[frame.package.codes]
    return mask if scope.stack is None else mask & frame.in_stack(scope.stack)


class Measured(msgspec.Struct, frozen=True):
    """A measured amount, and the corresponding amount of base; None for unknown ones.

    ``changes`` are the counted specs, if specs were counted; the size of ``num_unknown`` of them is
    not known. ``names`` are those of the counted packages or stacks.
    """

    amount: int | None
    whole: int | None
    changes: SpecChanges | None = None
    num_unknown: int = 0
    names: Sequence[str] = ()


class Measure(msgspec.Struct, frozen=True):
    """A way to count; ``noun`` names the counted objects, ``happened`` what happened to them.

    A measure that is ``of_head`` needs no base: it depends on head alone.
    """

    noun: str
    happened: str
    take: Callable[[Any], Measured]
    is_size: bool = False
    of_head: bool = False


def _packages(kind: PackageChangeKind, scoped: ScopedComparison) -> Measured:
    changes = scoped.comparison.packages.select([kind])
    names = [changes.names.names[place] for place in changes.places.tolist()]
    return Measured(len(changes), scoped.num_packages, names=names)


def _packages_unchanged(scoped: ScopedComparison) -> Measured:
    return Measured(scoped.comparison.num_packages_unchanged, scoped.num_packages)


def _specs_unchanged(scoped: ScopedComparison) -> Measured:
    return Measured(scoped.comparison.num_unchanged, scoped.num_specs)


def _specs(kind: SpecChangeKind, scoped: ScopedComparison) -> Measured:
    changes = scoped.comparison.specs.select([kind])
    return Measured(len(changes), scoped.num_specs, changes)


def _reasons(reason: SpecChangeReason, scoped: ScopedComparison) -> Measured:
    changes = scoped.comparison.specs
    changes = changes.take(scoped.explain().reasons(changes) == code_of(reason))
    return Measured(len(changes), scoped.num_specs, changes)


def _stacks(kind: StackChangeKind, scoped: ScopedComparison) -> Measured:
    names = [change.name for change in scoped.stacks(kind)]
    return Measured(len(names), scoped.num_stacks, names=names)


def _coverage(kind: CoverageChangeKind, scoped: ScopedComparison) -> Measured:
    cells = scoped.cells(scoped.usual_dimensions)
    return Measured(cells.count(kind), scoped.num_cells(scoped.usual_dimensions))


def _size(kind: SpecChangeKind, scoped: ScopedComparison) -> Measured:
    """Return the sum of the known sizes of the binary packages that were added or removed."""
    changes = scoped.comparison.specs.select([kind])
    is_added = kind is SpecChangeKind.ADDED
    rows = changes.after if is_added else changes.before
    sizes = (changes.head if is_added else changes.base).size.numbers[rows]
    num_unknown = int(np.count_nonzero(sizes < 0))
    is_known = num_unknown < len(rows) or not len(rows)
    count = int(np.maximum(sizes, 0).sum()) if is_known else None
    whole, _ = scoped.comparison.packages.total_sizes()
    return Measured(count, whole, changes, num_unknown)


def _twins(scoped: ScopedComparison) -> Measured:
    twins = scoped.twins()
    whole = int(np.count_nonzero(scoped.masks[1]))
    return Measured(len(twins.others), whole, twins.explanation.comparison.specs)


def _all_measures() -> Iterator[tuple[str, Measure]]:
    for of_package in PackageChangeKind:
        name = of_package.value.replace("_", "-")
        words = PACKAGE_KINDS[of_package]
        happened = f"with {words}" if " " in words else words
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
"""The measures by their names in rule files, those of the summary, with dashes:

packages-added, packages-removed, packages-upgraded, packages-downgraded, packages-versions-changed,
packages-builds-changed, packages-more-builds, packages-fewer-builds, packages-changed,
packages-unchanged, specs-added, specs-removed, specs-changed,
specs-unchanged, specs-rebuilt, specs-replaced, stacks-added,
stacks-removed, coverage-lost, coverage-gained, size-added, size-removed, twins.
"""


def rows_of(changes: SpecChanges) -> tuple[Frame, Rows]:
    """Return the frame and the rows of changes of one kind: of base if removed, else of head."""
    is_removed = bool(len(changes)) and int(changes.after[0]) < 0
    return (changes.base, changes.before) if is_removed else (changes.head, changes.after)
