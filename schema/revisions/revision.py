"""Revisions, and the tags that they are published under."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

import strawberry

from schema.context import Context, Info
from schema.fields.connections import Connection, PageArguments, connection_field, page_of
from schema.fields.cost import (
    LOADING,
    PACKAGES_ARGUMENTS,
    SPECS_ARGUMENTS,
    STACKS,
    Cost,
    ItemsOf,
    costed_field,
)
from schema.fields.many import Each, attribute
from schema.fields.scalars import ByteCount, DateTime, describe_enum
from schema.node import Node, node_id, not_known
from schema.revisions.holes import HOLES, Hole, hole_connection
from schema.revisions.lookup import CONCRETE_SPECS, ConcreteSpecsArgument, Lookup, concrete_specs
from schema.revisions.package import (
    Package,
    PackageFilterArgument,
    PackageOrderArgument,
    package_connection,
)
from schema.revisions.spec import (
    FilterArgument,
    MatchingArgument,
    OrderArgument,
    Spec,
    SpecConnection,
    spec_connection,
)
from schema.revisions.stack import Stack, stacks_of
from snapshots import refs
from snapshots.changes.lookup import Wanted
from snapshots.models import RevisionInfo, UnprovenReason

if TYPE_CHECKING:
    from schema.comparisons.commits import RecipesOfRevision
    from schema.histories import GrowthPoint, Series

LazyRecipes = Annotated["RecipesOfRevision", strawberry.lazy("schema.comparisons.commits")]
LazySeries = Annotated["Series", strawberry.lazy("schema.histories")]
LazyGrowthPoint = Annotated["GrowthPoint", strawberry.lazy("schema.histories")]

LOADED = Cost(weight=20, once=LOADING)
"""Something of a revision's contents by its name."""

NEIGHBOUR = Cost(weight=20)
"""Another revision of the same series."""


def _of_line(name: str, description: str, graphql_type: Any) -> Any:
    """Declare a field that is a fact of a revision's line of the catalog."""
    return attribute(f"info.{name}", description, graphql_type, is_for_many=True)


describe_enum(
    UnprovenReason,
    "Why the hash of a spec could not be computed anew.",
    {
        UnprovenReason.CONVERTED: "A newer Spack wrote it in another format, and kept its hash.",
        UnprovenReason.SPLICED: "It has a part of the hash of the spec that it was built as.",
        UnprovenReason.EXTERNAL: "It is external: details that its hash covers are not told.",
        UnprovenReason.FORMAT_UNKNOWN: "The source does not tell the format that was hashed.",
    },
)


@strawberry.type(description="Hashes that an import could not compute anew.")
class Unproven:
    """How many there are for a reason."""

    reason: UnprovenReason = strawberry.field(description="Why not.")
    num_specs: int = strawberry.field(description="How many specs have such a hash.")


@strawberry.type(description="Where a revision came from.")
class Source:
    """The provenance of a revision."""

    kind: str = strawberry.field(
        description="What was read: pages, index, installation, git or demo."
    )
    location: str = strawberry.field(description="Where it was read: a path or URL.")
    version: str | None = strawberry.field(description="The commit or ETag that was read.")
    importer: str = strawberry.field(description="The program that read it, with its version.")
    synthetic: bool = strawberry.field(
        description="Whether a generator made the data up, for demonstration."
    )


@strawberry.type(
    description="The catalog as it stood once. Immutable: the same digest is the same content "
    "for ever."
)
class Revision(Node):
    """A line of the catalog; its frame is loaded only for what the line does not say."""

    info: strawberry.Private[RevisionInfo]

    @strawberry.field(description="Opaque and stable.")
    def id(self) -> strawberry.ID:
        return node_id("Revision", self.info.digest, self.info.key)

    @classmethod
    def of_id(cls, context: Context, _digest: str, key: str) -> Self | None:
        """Return the revision of a digest and a key."""
        info = context.history.by_key.get(key)
        if info is None:
            not_known(context)
            return None
        return cls(info=info)

    tag: str = _of_line("tag", "The name of the tag that it was published under.", str)
    digest: str = _of_line(
        "digest",
        "sha256 of the canonical content; independent of file order, spelling noise and import "
        "time.",
        str,
    )
    taken_at: DateTime = _of_line("taken_at", "When the build cache stood so.", DateTime)
    published_at: DateTime = _of_line("published_at", "When the catalog learned of it.", DateTime)
    num_packages: int = _of_line("num_packages", "How many packages it has.", int)
    num_specs: int = _of_line("num_specs", "How many specs it has.", int)
    num_stacks: int = _of_line(
        "num_stacks", "How many stacks it has, without root, their union.", int
    )
    total_size: ByteCount | None = _of_line(
        "total_size",
        "The sum of its binary packages' sizes, as far as known.",
        ByteCount | None,
    )

    num_proven: int | None = _of_line(
        "num_proven",
        "How many hashes an import computed anew and found right; null where it did not try, as "
        "for cache pages.",
        int | None,
    )

    @costed_field(
        "The commit of the recipes that its specs were concretized with, where it is known.",
        Cost(weight=20),
    )
    def recipes(self, info: Info) -> LazyRecipes | None:
        from schema.comparisons.commits import RecipesOfRevision

        info.context.is_permanent = False  # it may become known, or be corrected
        recipes = info.context.catalog.recipes.of(self.info)
        return None if recipes is None else RecipesOfRevision.of(info.context, recipes)

    @costed_field(
        "How many it could not compute anew, and why; null where it did not try.",
        Cost(weight=2, items=len(UnprovenReason)),
    )
    def unproven(self) -> list[Unproven] | None:
        if self.info.unproven is None:
            return None
        return [
            Unproven(reason=counts.reason, num_specs=counts.num_specs)
            for counts in self.info.unproven
        ]

    @strawberry.field(description="The tag that it was published under, with its series.")
    def tag_info(self) -> "Tag":
        return Tag(name=self.info.tag)

    @strawberry.field(description="The series that it is part of.")
    def series_info(self) -> LazySeries:
        from schema.histories import Series

        return Series(name=refs.series(self.info.tag))

    @strawberry.field(
        description="When an import last found its tag in this very state, before any other one; "
        "`takenAt` where none has found it so again."
    )
    def confirmed_at(self, info: Info) -> DateTime:
        return DateTime(info.context.changing_history().confirmed_at(self.info))

    @strawberry.field(description="Where it came from.")
    def source(self) -> Source:
        source = self.info.source
        return Source(
            kind=source.kind,
            location=source.location,
            version=source.version,
            importer=source.importer,
            synthetic=source.synthetic,
        )

    @costed_field("A package by its name.", LOADED)
    def package(
        self,
        info: Info,
        name: Annotated[str, strawberry.argument(description="The package's name.")],
    ) -> Package | None:
        return Package.named(info.context.load(self.info), name)

    @connection_field(
        "Its packages.",
        cost=Cost(weight=100, each=1, once=LOADING, arguments=PACKAGES_ARGUMENTS),
    )
    def packages(
        self,
        info: Info,
        filter: PackageFilterArgument = strawberry.UNSET,
        order_by: PackageOrderArgument = strawberry.UNSET,
        *,
        page: PageArguments,
    ) -> Connection[Package]:
        loaded = info.context.load(self.info)
        return package_connection(loaded, None, filter, order_by, page)

    @costed_field("A spec by its whole hash.", LOADED)
    def spec(
        self,
        info: Info,
        hash: Annotated[str, strawberry.argument(description="The DAG hash, 32 characters.")],
    ) -> Spec | None:
        return Spec.of_hash(info.context.load(self.info), hash)

    @connection_field("Its specs.", cost=Cost(weight=100, once=LOADING, arguments=SPECS_ARGUMENTS))
    def specs(
        self,
        info: Info,
        matching: MatchingArgument = strawberry.UNSET,
        filter: FilterArgument = strawberry.UNSET,
        order_by: OrderArgument = strawberry.UNSET,
        *,
        page: PageArguments,
    ) -> SpecConnection:
        loaded = info.context.load(self.info)
        return spec_connection(loaded, slice(None), matching, filter, order_by, page)

    @costed_field("A stack by its name.", LOADED)
    def stack(
        self,
        info: Info,
        name: Annotated[str, strawberry.argument(description="The stack's name.")],
    ) -> Stack | None:
        return Stack.named(info.context.load(self.info), name)

    @costed_field(
        "Its stacks, by name, root among them. One selection cannot have this and the "
        "`stacks` of a package or spec, which are names alone, under one name: give one an alias.",
        Cost(weight=20, items=STACKS, once=LOADING),
    )
    def stacks(self, info: Info) -> list[Stack]:
        return stacks_of(info.context.load(self.info))

    @costed_field(
        "Which of these concrete specs, those of a spack.lock say, the revision holds.",
        Cost(
            weight=500,
            once=LOADING,
            page=ItemsOf("specs"),
            arguments={"specs": CONCRETE_SPECS},
        ),
    )
    def lookup(self, specs: ConcreteSpecsArgument) -> Lookup:
        return Lookup(info=self.info, specs=Wanted(concrete_specs(specs)))

    @connection_field(
        "What is missing for its specs to be installed from this cache alone, what affects most of "
        "them first; null where its source tells no dependencies.",
        cost=HOLES,
    )
    def holes(self, info: Info, *, page: PageArguments) -> Connection[Hole] | None:
        return hole_connection(info.context.load(self.info), page)

    @costed_field("The revision before this one in its series.", NEIGHBOUR)
    def previous(self, info: Info) -> "Revision | None":
        return revision_of(info.context.changing_history().previous(self.info))

    @costed_field("The revision after this one in its series.", NEIGHBOUR)
    def next(self, info: Info) -> "Revision | None":
        return revision_of(info.context.changing_history().next(self.info))

    @costed_field(
        "What came and went with it, as `Series.growth` tells; null, with an error, "
        "where that is not kept yet: it is made for `Series.growth` alone.",
        Cost(weight=60),
    )
    def growth(self, info: Info) -> LazyGrowthPoint | None:
        from schema.histories import GrowthPoint

        return GrowthPoint.of_revision(info.context, self.info)


def revision_of(info: RevisionInfo | None) -> Revision | None:
    """Return the object for a line of the catalog; None for None."""
    return None if info is None else Revision(info=info)


@strawberry.type(description="A name that revisions are published under.")
class Tag(Node):
    """A tag of the catalog."""

    name: str = strawberry.field(description="The tag's name.")

    @strawberry.field(description="Opaque and stable.")
    def id(self) -> strawberry.ID:
        return node_id("Tag", self.name)

    @classmethod
    def of_id(cls, context: Context, name: str) -> Self | None:
        """Return a tag of the catalog; None where there is none of that name."""
        return cls(name=name) if context.changing_history().of_tag(name) else None

    @strawberry.field(
        description="The family the tag is ordered in: develop, develop-DATE, vX.Y.Z, or the tag "
        "itself."
    )
    def series(self) -> str:
        return refs.series(self.name)

    @strawberry.field(description="That family, with all its revisions.")
    def series_info(self) -> LazySeries:
        from schema.histories import Series

        return Series(name=refs.series(self.name))

    @strawberry.field(description="Its newest revision.")
    def latest(self, info: Info) -> Revision:
        return Revision(info=info.context.changing_history().of_tag(self.name)[0])

    @connection_field("Its revisions, newest first.", cost=Cost(weight=100, each=1))
    def revisions(self, info: Info, *, page: PageArguments) -> Connection[Revision]:
        return revision_connection(info.context.changing_history().of_tag(self.name), page)


def revision_connection(
    lines: Sequence[RevisionInfo], arguments: PageArguments
) -> Connection[Revision]:
    """Return a connection over lines of the catalog, newest first."""
    # A cursor is searched from the front, so that the first pages compute few keys.
    keys = Each(len(lines), lambda place: lines[place].key)
    return Connection(page=page_of(arguments, keys, lambda place: Revision(info=lines[place])))
