"""A hash through time: where it was, why it came, and why it went."""

from typing import Any, Self

import strawberry

from schema.comparisons.spec_change_reason import SpecChangeReason
from schema.context import Context, Info
from schema.fields.cost import LOADING, Cost
from schema.node import Node, node_id, not_known
from schema.revisions.revision import LazySeries, Revision, revision_of
from schema.revisions.spec import Spec
from snapshots.catalog.asking.history_questions import HashAsked
from snapshots.errors import CatalogError
from snapshots.timelines import spans as timeline_spans

SPANS = 4
"""In how many spans of all series a hash usually was."""


@strawberry.type(
    description="Revisions of a series that follow one another and have a hash: first and last "
    "have it, as all between them."
)
class Span:
    """A span."""

    span: strawberry.Private[timeline_spans.Span]

    @strawberry.field(description="The name of the series.")
    def series(self) -> str:
        return self.span.series

    @strawberry.field(description="The series.")
    def series_info(self) -> LazySeries:
        from schema.histories.series import Series

        return Series(name=self.span.series)

    @strawberry.field(description="The first revision that has it.")
    def first(self) -> Revision:
        return Revision(info=self.span.first)

    @strawberry.field(description="The last revision that has it.")
    def last(self) -> Revision:
        return Revision(info=self.span.last)

    @strawberry.field(description="Whether the last revision of the series has it.")
    def is_current(self) -> bool:
        return self.span.is_current

    @strawberry.field(
        description="Why it came with the first. RETURNED where the series had it before, unless "
        "it took the place of another spec."
    )
    def reason_came(self) -> SpecChangeReason:
        return self.span.reason_came

    @strawberry.field(description="Why it went; null where it is still there.")
    def reason_gone(self) -> SpecChangeReason | None:
        return self.span.reason_gone

    @strawberry.field(
        description="The revision after the last, which has it no longer; null where there is none."
    )
    def gone_in(self) -> Revision | None:
        return revision_of(self.span.gone_in)


@strawberry.type(description="What the catalog knows of a hash, in whatever revision.")
class HashHistory(Node):
    """The history of a hash."""

    known: strawberry.Private[timeline_spans.HashHistory]

    @strawberry.field(description="Opaque and stable.")
    def id(self) -> strawberry.ID:
        return node_id("HashHistory", self.known.hash)

    @classmethod
    def of_id(cls, context: Context, parts: list[str]) -> Self | None:
        """Return the history of a whole hash."""
        match parts:
            case [hash]:
                found = cls.of(context, hash)
                return found if found is not None and found.known.hash == hash else None
        not_known(context)
        return None

    @classmethod
    def of(cls, context: Context, text: str) -> Self | None:
        """Return the history of a hash or of a prefix; None where no revision had it.

        Raises InvalidArgument, AmbiguousHash and IncompleteHistory.
        """
        known = context.of_history(HashAsked(text))
        return None if known is None else cls(known=known)

    @strawberry.field(description="The whole hash.")
    def hash(self) -> str:
        return self.known.hash

    @strawberry.field(description="The name of its package.")
    def name(self) -> str:
        return self.known.name

    @strawberry.field(description="The version that was built.")
    def version(self) -> str | None:
        return self.known.version

    @strawberry.field(description="The newest revision that has it.")
    def newest(self) -> Revision:
        return Revision(info=self.known.newest)

    @strawberry.field(
        description="All its facts, from the newest revision that has it.",
        metadata=Cost(weight=20, each_loaded=LOADING).metadata,
    )
    def spec(self, info: Info) -> Spec:
        loaded = info.context.load(self.known.newest)
        row = loaded.frame.hashes.find(self.known.hash)
        if row is None:
            raise _contradiction(info.context, self.known)
        return Spec(loaded=loaded, row=row)

    @strawberry.field(
        description="Where it was: the spans of each series, oldest first, series after series in "
        "the order of `allSeries`.",
        metadata=Cost(items=SPANS).metadata,
    )
    def spans(self) -> list[Span]:
        return [Span(span=span) for span in self.known.spans]


def _contradiction(context: Context, known: Any) -> CatalogError:
    reason = (
        f"the history has {known.hash} in {known.newest.digest}, which has not; "
        "'cachelog verify' tells more"
    )
    return CatalogError(context.catalog.location, reason)
