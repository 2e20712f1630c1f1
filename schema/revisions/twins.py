"""Twins: specs of a revision that are built more than once, and the causes."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import strawberry

from schema.comparisons.changes import LoadedComparison
from schema.comparisons.explanations import Cause, cause_connection
from schema.context import Context, Info
from schema.fields import gql, many, relay
from schema.fields.cost import SMALL, Cost, Work, resolver
from schema.node import Node, info_of_id, key_of, node_id
from schema.revisions.spec import SpecConnection, spec_connection
from snapshots.arrays import Rows
from snapshots.changes.twins import TwinGroup, Twins
from snapshots.frames.suggestions import require_names
from snapshots.models import RevisionInfo

if TYPE_CHECKING:
    from schema.revisions.revision import Revision

TWINS = Cost(weight=60_000, work=Work.EXPLAINING)
"""A page of groups of twins; those of each stack and package are computed separately."""


class TwinsPage(msgspec.Struct, frozen=True, dict=True):
    """The groups of a page, with the values that are computed for all of them at once.

    ``scope`` has the stack and the package whose specs are considered; empty texts for all.
    """

    comparison: LoadedComparison
    scope: tuple[str, str]
    twins: Twins
    groups: Sequence[TwinGroup]

    @cached_property
    def saved(self) -> Sequence[Rows]:
        """The rows that would be equal to another row if the twins of each group were equal."""
        return self.twins.saved(self.groups)


@gql.object_type
class TwinGroupType(Node):
    """Specs with the same name, version, variants and architecture, but different hashes.

    - num_specs: Number of specs in the group.
    """

    shown: strawberry.Private[TwinsPage]
    place: strawberry.Private[int]

    @classmethod
    def of_id(
        cls, context: Context, ref: str, stack: str, package: str, hash: str
    ) -> "TwinGroupType | None":
        """Return the group whose first spec has a hash, in a revision, its stack or a package."""
        info = info_of_id(context, ref)
        if info is None:
            return None
        twins = context.twins(info, stack or None, package or None)
        place = twins.find(hash)
        if place is None:
            return None
        return cls(
            shown=_twins_page(context, info, (stack, package), twins, place, place + 1), place=0
        )

    @resolver()
    def id(self) -> strawberry.ID:
        """An opaque, stable id."""
        return node_id(
            "TwinGroup", key_of(self.shown.comparison.head), *self.shown.scope, self.hash
        )

    @property
    def hash(self) -> str:
        """The hash of the first spec of the group."""
        return self.shown.comparison.after.frame.hashes.at(int(self.group.rows[0]))

    @property
    def group(self) -> TwinGroup:
        """The group."""
        return self.shown.groups[self.place]

    @resolver()
    def name(self) -> str:
        """The package's name."""
        return self.shown.comparison.after.frame.package.at(int(self.group.rows[0]))

    @resolver()
    def version(self) -> str:
        """The version."""
        return self.shown.comparison.after.frame.version.at(int(self.group.rows[0]))

    num_specs = many.attribute("group.rows", int, make=len)

    @relay.connection_field()
    def specs(self, *, page: relay.PageArguments) -> SpecConnection | None:
        """The specs of the group: first the one on which the most specs of the revision depend,
        directly or indirectly, then the others ordered by hash.
        """
        return spec_connection(self.shown.comparison.after, self.group.rows, page)

    @relay.connection_field()
    def causes(self, *, page: relay.PageArguments) -> relay.Connection[Cause] | None:
        """The causes of the differences between the first spec and the others, those that explain
        the most twins first.
        """
        numbers = self.shown.twins.causes_of(self.group)
        return cause_connection(self.shown.comparison, numbers, page)

    @resolver(SMALL)
    def num_saved(self) -> int:
        """Number of specs that would not have to be built if the group were a single spec: all
        specs of the group but the first, and those twins among their dependents that differ in
        nothing else.
        """
        return len(self.shown.saved[self.place])

    @resolver(SMALL)
    def size_saved(self) -> gql.ByteCount | None:
        """Sum of the known sizes of the binary packages of these specs; null if none is known."""
        frame = self.shown.comparison.after.frame
        return frame.size.total(self.shown.saved[self.place])  # type: ignore[return-value]


@gql.object_type
class TwinGroupConnection(relay.Connection[TwinGroupType]):
    """A page of groups of twins."""

    shown: strawberry.Private[TwinsPage]

    @relay.connection_field()
    def causes(self, *, page: relay.PageArguments) -> relay.Connection[Cause] | None:
        """Why specs are built more than once, the causes that explain the most twins first. Each
        twin has one main cause, so `numSpecs` adds up to `numSaved`. Causes have no direction:
        `before` and `after` are in natural order.
        """
        numbers = range(len(self.shown.twins.explanation.causes))
        return cause_connection(self.shown.comparison, numbers, page)

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


def _twins_page(
    context: Context,
    info: RevisionInfo,
    scope: tuple[str, str],
    twins: Twins,
    start: int,
    stop: int,
) -> TwinsPage:
    comparison = twins_comparison(context, info, twins)
    return TwinsPage(comparison, scope, twins, twins[start:stop])


@relay.connection_field(TWINS)
def twins_field(
    self: "Revision",
    info: Info,
    stack: str | None = None,
    package: str | None = None,
    *,
    page: relay.PageArguments,
) -> TwinGroupConnection | None:
    """The groups of specs that are built more than once, ordered by the number of specs that
    depend, directly or indirectly, on a spec of the group other than its first. With `stack` or
    `package`, only its specs are considered, not their dependencies.

    - stack: Only specs of this stack.
    - package: Only specs of this package.
    """
    frame = info.context.load(self.info).frame
    require_names([frame], stack, package)
    twins = info.context.twins(self.info, stack, package)
    part = relay.window_at(page.within(self.info.digest), len(twins), twins.find)
    scope = stack or "", package or ""
    shown = _twins_page(info.context, self.info, scope, twins, part.start, part.stop)
    groups = [TwinGroupType(shown=shown, place=place) for place in range(len(shown.groups))]
    cursors = [relay.cursor_of(self.info.digest, key=group.hash) for group in groups]
    return TwinGroupConnection(page=relay.ListPage([part], groups, cursors), shown=shown)
