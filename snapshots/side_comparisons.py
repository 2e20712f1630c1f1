"""Comparisons of two sides, in a scope and with their explanation.

Release notes, rules, commands and the API read the changes between two sides from here. A source
computes the parts: the library of a catalog, or the context of a request, which loads them within
its limits.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np
from cachetools import cachedmethod

from snapshots.arrays import Mask, Rows
from snapshots.changes.causes import CauseCount
from snapshots.changes.coverage import CoverageChanges, CoverageDimension
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation
from snapshots.changes.pairings import code_of
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.rules.measures import RuleContext, Searched
from snapshots.changes.scope import ComparisonFilter, Scope, coverage_in, scope_of
from snapshots.errors import UnknownPackage
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.suggestions import require_names
from snapshots.models import SideInfo
from snapshots.notes.changelog import Changelog, changelog
from snapshots.recipes.effects import RecipesChange


class ComparisonSource(Protocol):
    """Computes the parts of comparisons, or returns them from a cache."""

    def compare(self, base: SideInfo, head: SideInfo) -> Comparison:
        """Return the differences between two sides."""

    def explain(self, base: SideInfo, head: SideInfo) -> Explanation:
        """Return the explanation of these differences."""

    def find_returned(self, base: SideInfo, head: SideInfo) -> Mask:
        """Return a mask over the rows of head whose hash an earlier revision of the series had."""

    def recipes_change(self, base: SideInfo, head: SideInfo) -> RecipesChange:
        """Return how the recipes differ, and which of their commits explain which causes."""

    def graph_of(self, side: SideInfo) -> DependencyGraph:
        """Return the dependencies of a side's specs."""

    def comparison_url(self, base: SideInfo, head: SideInfo) -> str | None:
        """Return the URL of the comparison of two revisions on a server; None if unknown."""

    def matching(self, side: SideInfo, query: str) -> Mask:
        """Return a mask over the rows of a side that a query in Spack's spec syntax matches.

        Raises UnknownPackage if none do, because of the name of the spec itself.
        """


Info = TypeVar("Info", bound=SideInfo, covariant=True)
Source = TypeVar("Source", bound=ComparisonSource)


class SideComparison(msgspec.Struct, Generic[Info, Source], frozen=True, dict=True):
    """Two sides, the changes between them, and why; each part is computed when first used.

    ``only`` limits the changes to some specs. ``explained`` is the explanation if it is not that of
    the source: of the twins of a revision, which is then on both sides, of two specs, or of a plan.
    """

    base: Info
    head: Info
    source: Source
    only: ComparisonFilter | None = None
    explained: Explanation | None = None

    @cached_property
    def whole(self) -> Comparison:
        """The changes from base to head, regardless of the scope."""
        if self.explained is not None:
            return self.explained.comparison
        return self.source.compare(self.base, self.head)

    @cached_property
    def explanation(self) -> Explanation:
        """The counterparts, reasons and causes of all changes, regardless of the scope."""
        return self.explained or self.source.explain(self.base, self.head)

    @cached_property
    def matching(self) -> tuple[Mask, Mask] | None:
        """Masks over the rows of both sides that the query of the scope matches; None without one.

        Raises UnknownPackage for a name that neither side has.
        """
        if self.only is None or self.only.matching is None:
            return None
        masks, unknown = [], None
        for side, frame in ((self.base, self.whole.base), (self.head, self.whole.head)):
            try:
                masks.append(self.source.matching(side, self.only.matching))
            except UnknownPackage as error:
                unknown = error
                masks.append(np.zeros(len(frame), np.bool_))
        if unknown is not None and not any(mask.any() for mask in masks):
            raise unknown
        return masks[0], masks[1]

    @cached_property
    def scope(self) -> Scope | None:
        """The rows in scope; None if all are.

        Raises InvalidArgument for a stack or a package that neither side has, and the errors of
        queries.
        """
        if not self.only:
            return None
        frames = self.whole.base, self.whole.head
        require_names(frames, self.only.stack, self.only.package)
        return scope_of(self.only, frames, self.matching)

    @cached_property
    def changes(self) -> Comparison:
        """The changes in scope."""
        scope = self.scope
        return self.whole if scope is None else self.whole.narrowed_to(scope.in_base, scope.in_head)

    @cached_property
    def returned(self) -> Mask:
        """Mask of the rows of head whose hash an earlier revision of the series had."""
        if self.explained is not None:
            return np.zeros(len(self.whole.head), np.bool_)
        return self.source.find_returned(self.base, self.head)

    @cached_property
    def recipes(self) -> RecipesChange:
        """How the recipes differ, and the commits that explain the causes."""
        return self.source.recipes_change(self.base, self.head)

    @cached_property
    def _cells(self) -> dict[Any, CoverageChanges]:
        return {}

    @cachedmethod(attrgetter("_cells"), key=lambda _, dimensions: tuple(dimensions))
    def coverage(self, dimensions: Sequence[CoverageDimension]) -> CoverageChanges:
        """Return the cells of some dimensions in scope that were lost and gained."""
        return coverage_in(self.scope, self.whole, dimensions)

    def count(self, reason: SpecChangeReason) -> int:
        """Return the number of specs in scope with a reason; those with RETURNED count as new."""
        if self.scope is None:
            return self.explanation.count(reason)
        reasons = self.explanation.reasons(self.changes.specs)
        return int(np.count_nonzero(reasons == code_of(reason)))

    @cached_property
    def causes_in_scope(self) -> dict[int, CauseCount]:
        """The causes of the specs in scope by number, those that explain the most specs first."""
        rows = None
        if self.scope is not None:
            paired = self.explanation.counterparts.head_rows
            rows = paired[self.scope.in_head[paired]]
        return {count.number: count for count in self.explanation.causes.counted(rows)}

    def rows_of_cause(self, number: int) -> Rows:
        """Return the rows of head in scope of which a cause is the main one."""
        rows = self.explanation.causes.rows_of(number)
        return rows if self.scope is None else rows[self.scope.in_head[rows]]

    def notes(self) -> Changelog:
        """Return the changes in scope as release notes."""
        return changelog(
            self.base,
            self.head,
            self.explanation,
            self.scope,
            self.recipes,
            None if self.only else self.source.comparison_url(self.base, self.head),
        )

    def rule_context(self, elsewhere: Callable[[], Collection[str]]) -> RuleContext:
        """Return the input of rules: all changes; ``elsewhere`` returns further package names."""
        return RuleContext(
            Searched(self.whole.base, partial(self._graph, "base")),
            Searched(self.whole.head, partial(self._graph, "head")),
            elsewhere,
            self.whole,
            lambda: self.explanation,
        )

    def _graph(self, side: str) -> DependencyGraph:
        if self.explained is not None:
            graph: DependencyGraph = getattr(self.explained, side).graph
            return graph
        return self.source.graph_of(getattr(self, side))
