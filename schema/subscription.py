"""What can be followed as it happens: revisions, each when it is published."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any, NamedTuple

import strawberry

from schema.context import Info
from schema.fields.cost import Cost
from schema.fields.scalars import none_if_omitted
from schema.revisions.revision import Revision
from snapshots import refs
from snapshots.models import RevisionInfo


class PublishedUnder(NamedTuple):
    """Which revisions a subscription is about: those of a tag, of a series, of both, or all."""

    tag: str | None
    series: str | None

    def has(self, revision: RevisionInfo) -> bool:
        """Tell whether a revision is one of them."""
        return self.tag in (None, revision.tag) and (
            self.series is None or self.series == refs.series(revision.tag)
        )


@strawberry.type(description="What can be followed as it happens.")
class Subscription:
    """The root of all subscriptions. An event of theirs is a line of the catalog."""

    @strawberry.subscription(
        description="Each revision when it is published; of one series or tag where one is given. "
        "What was published before the subscription began is not sent.",
        metadata=Cost(weight=20).metadata,
    )
    def revision_published(
        self,
        info: Info,
        series: Annotated[
            str | None, strawberry.argument(description="Only those of tags of this series.")
        ] = strawberry.UNSET,
        tag: Annotated[
            str | None, strawberry.argument(description="Only those of this tag.")
        ] = strawberry.UNSET,
    ) -> AsyncGenerator[Revision, None]:
        wanted = PublishedUnder(none_if_omitted(tag), none_if_omitted(series))
        return info.context.follow(wanted.has)  # type: ignore[return-value] # see ``root_of``


def root_of(event: RevisionInfo | None) -> Any:
    """Return the root that an event is executed with: the field's own value; None for a query."""
    return None if event is None else Revision(info=event)
