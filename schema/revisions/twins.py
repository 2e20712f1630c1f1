"""Twins: specs of a revision that are built more than once, and the causes."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import strawberry

from schema.comparisons.changes import LoadedComparison
from schema.comparisons.explanations import Cause
from schema.context import Context, Info
from schema.fields import gql, many, relay, units
from schema.fields.cost import ArgumentCost, Cost, NumberArgument, resolver
from schema.revisions.spec import SpecRows, SpecType
from snapshots.arrays import Rows
from snapshots.changes.twins import TwinGroup, Twins
from snapshots.frames.suggestions import require_names
from snapshots.models import RevisionInfo

if TYPE_CHECKING:
    from schema.revisions.revision import Revision

FINDING_TWINS = units.EXPLAINING
"""The share of each request in finding and explaining twins, which are cached."""

_OF_SCOPE = ArgumentCost(weight=1.5 * FINDING_TWINS)

TWINS = Cost(
    weight=500,
    each=20,
    once=units.LOADING + FINDING_TWINS,
    arguments={"stack": _OF_SCOPE, "package": _OF_SCOPE},
)
"""A page of groups of twins; those of each stack and package are computed separately."""

LISTED_DEFAULT = 20
"""Default number of specs and causes in a list."""

SPECS = Cost(weight=20, items=NumberArgument("first", default=LISTED_DEFAULT))
CAUSES = Cost(weight=100, items=NumberArgument("first", default=LISTED_DEFAULT), each=5)
SAVED = Cost(weight=500)
"""The specs that would be saved are computed for all groups of a page at once."""


class TwinsPage(msgspec.Struct, frozen=True, dict=True):
    """The groups of a page, with the values that are computed for all of them at once."""

    comparison: LoadedComparison
    twins: Twins
    groups: Sequence[TwinGroup]

    @cached_property
    def saved(self) -> Sequence[Rows]:
        """The rows that would be equal to another row if the twins of each group were equal."""
        return self.twins.saved(self.groups)

    def causes(self, numbers: Sequence[int], first: int) -> list[Cause]:
        """Return the first of some causes."""
        relay.check_size("first", first)
        return [Cause(comparison=self.comparison, number=number) for number in numbers[:first]]


@gql.object_type
class TwinGroupType:
    """Specs with the same name, version, variants and architecture, but different hashes.

    - num_specs: Number of specs in the group.
    """

    shown: strawberry.Private[TwinsPage]
    place: strawberry.Private[int]

    @property
    def group(self) -> TwinGroup:
        """The group."""
        return self.shown.groups[self.place]

    @resolver()
    def package(self) -> str:
        """The package's name."""
        return self.shown.comparison.after.frame.package.at(int(self.group.rows[0]))

    @resolver()
    def version(self) -> str:
        """The version."""
        return self.shown.comparison.after.frame.version.at(int(self.group.rows[0]))

    num_specs = many.attribute("group.rows", int, make=len)

    @resolver(SPECS)
    def specs(self, first: relay.FirstArgument = LISTED_DEFAULT) -> list[SpecType]:
        """The specs of the group: first the one on which the most specs of the revision depend,
        directly or indirectly, then the others ordered by hash.
        """
        relay.check_size("first", first)
        rows = self.group.rows[:first]
        return SpecRows(self.shown.comparison.after, rows)  # type: ignore[return-value]

    @resolver(CAUSES)
    def causes(self, first: relay.FirstArgument = LISTED_DEFAULT) -> list[Cause]:
        """The causes of the differences between the first spec and the others, those that explain
        the most twins first.
        """
        return self.shown.causes(self.shown.twins.causes_of(self.group), first)

    @resolver(SAVED)
    def num_saved(self) -> int:
        """Number of specs that would not have to be built if the group were a single spec: all
        specs of the group but the first, and those twins among their dependents that differ in
        nothing else.
        """
        return len(self.shown.saved[self.place])

    @resolver(SAVED)
    def size_saved(self) -> gql.ByteCount | None:
        """Sum of the known sizes of the binary packages of these specs; null if none is known."""
        frame = self.shown.comparison.after.frame
        return frame.size.total(self.shown.saved[self.place])  # type: ignore[return-value]


@gql.object_type
class TwinGroupConnection(relay.Connection[TwinGroupType]):
    """A page of groups of twins."""

    shown: strawberry.Private[TwinsPage]

    @resolver(CAUSES)
    def causes(self, first: relay.FirstArgument = LISTED_DEFAULT) -> list[Cause]:
        """Why specs are built more than once, the causes that explain the most twins first. Each
        twin has one main cause, so `numSpecs` adds up to `numSaved`. Causes have no direction:
        `before` and `after` are in natural order.
        """
        return self.shown.causes(range(len(self.shown.twins.explanation.causes)), first)

    @resolver()
    def num_saved(self) -> int:
        """Number of twins without the first of each group."""
        return len(self.shown.twins.others)

    @resolver()
    def size_saved(self) -> gql.ByteCount | None:
        """Sum of the known sizes of the binary packages of these specs; null if none is known."""
        frame = self.shown.comparison.after.frame
        return frame.size.total(self.shown.twins.others)  # type: ignore[return-value]


def twins_comparison(context: Context, info: RevisionInfo, twins: Twins) -> LoadedComparison:
    """Return a comparison of a revision with itself: twins are added specs with the first of their
    group as counterpart.
    """
    return LoadedComparison(info, info, context, explained=twins.explanation)


@relay.connection_field(TWINS)
def twins_field(
    self: "Revision",
    info: Info,
    stack: str | None = None,
    package: str | None = None,
    *,
    page: relay.PageArguments,
) -> TwinGroupConnection:
    """The groups of specs that are built more than once, ordered by the number of specs that
    depend, directly or indirectly, on a spec of the group other than its first. With `stack` or
    `package`, only its specs are considered, not their dependencies.

    - stack: Only specs of this stack.
    - package: Only specs of this package.
    """
    frame = info.context.load(self.info).frame
    require_names([frame], stack, package)
    twins = info.context.twins(self.info, stack, package)
    part = relay.window_at(page, len(twins), twins.find)
    comparison = twins_comparison(info.context, self.info, twins)
    shown = TwinsPage(comparison, twins, twins[part.start : part.stop])
    groups = [TwinGroupType(shown=shown, place=place) for place in range(len(shown.groups))]
    cursors = [frame.hashes.at(int(group.rows[0])) for group in shown.groups]
    return TwinGroupConnection(page=relay.ListPage([part], groups, cursors), shown=shown)
