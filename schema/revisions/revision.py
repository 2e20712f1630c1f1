"""Revisions, and the tags that they are published under."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

import strawberry

from schema.context import Context, Info, LoadedRevision, require_names
from schema.fields.connections import (
    Connection,
    ListPage,
    PageArguments,
    connection_field,
    page_of,
    window_at,
)
from schema.fields.cost import (
    LOADING,
    PACKAGES_ARGUMENTS,
    SPECS_ARGUMENTS,
    STACKS,
    Cost,
    ItemsOf,
    field,
    resolver,
)
from schema.fields.many import Each, attribute
from schema.fields.scalars import ByteCount, DateTime, deprecated, describe_enum, object_type
from schema.node import Node, id_field, info_of_key, node_of, revision_object
from schema.revisions.lookup import (
    CONCRETE_SPECS,
    HOLES,
    ConcreteSpecsArgument,
    HoleConnection,
    LookupType,
    concrete_specs,
    hole_connection,
)
from schema.revisions.package import (
    Package,
    PackageFilterArgument,
    PackageOrderArgument,
    Stack,
    package_connection,
)
from schema.revisions.spec import (
    FilterArgument,
    MatchingArgument,
    OrderArgument,
    SpecConnection,
    SpecType,
    spec_page,
)
from schema.revisions.twins import (
    TWINS,
    ShownTwins,
    TwinGroupConnection,
    TwinGroupType,
    twins_comparison,
)
from snapshots import refs
from snapshots.changes.lookup import Wanted
from snapshots.changes.pairings import tells_stacks
from snapshots.models import SOURCE_KIND_TEXT, RevisionInfo, UnprovenReason, public_location
from snapshots.recipes.commits import FoundBy, Recipes

if TYPE_CHECKING:
    from schema.histories import GrowthPointType, Series

LazySeries = Annotated["Series", strawberry.lazy("schema.histories")]
LazyGrowthPoint = Annotated["GrowthPointType", strawberry.lazy("schema.histories")]

LOADED = Cost(weight=20, once=LOADING)
"""Something of a revision's contents by its name."""

STACKS_OF_REVISION = Cost(weight=20, items=STACKS, once=LOADING)

MATCHES_ARGUMENTS = {
    **{name: cost for name, cost in SPECS_ARGUMENTS.items() if name != "matching"},
    "query": SPECS_ARGUMENTS["matching"],
}

NUM_STACKS_DEPRECATED = "Use `numKnownStacks`, which is null where the source does not list stacks."

NEIGHBOUR = Cost(weight=20)
"""Another revision of the same series."""


def _of_line(name: str, graphql_type: Any) -> Any:
    """Declare a field that is a fact of a revision's line of the catalog."""
    return attribute(f"info.{name}", graphql_type, is_for_many=True)


def series_field(path: str, name_of: Callable[[str], str] = str) -> Any:
    """Declare a field that leads to the series whose name is made of an attribute of its object."""
    return attribute(path, LazySeries, make=lambda text: node_of("Series", name=name_of(text)))


describe_enum(UnprovenReason)


@object_type
class UnprovenType:
    """Hashes that an import could not compute anew."""

    reason: UnprovenReason = field("Why not.")
    num_specs: int = field("How many specs have such a hash.")


@object_type
class SourceType:
    """Where a revision came from.

    - location: Where it was read: a URL, or of a local path the last part.
    """

    kind: str = field(SOURCE_KIND_TEXT)
    location: str = attribute("public_location", str)
    version: str | None = field("The commit or ETag that was read.")
    importer: str = field("The program that read it, with its version.")
    synthetic: bool = field("Whether a generator made the data up, for demonstration.")


describe_enum(FoundBy, name="RecipesFoundBy")


@object_type
class RecipesType:
    """The commit of the recipes that a revision's specs were concretized with."""

    repository: str = field("The git repository: a URL, or of a local path the last part.")
    commit: str = field("The full hash of the commit.")
    found_by: FoundBy = field("How it was found.")
    url: str | None = field("Where the commit can be viewed, if known.")

    @classmethod
    def of(cls, context: Context, recipes: Recipes) -> Self:
        """Return the recipes with a link."""
        url = context.library.links(recipes.repository).commit(recipes.commit)
        return cls(
            repository=public_location(recipes.repository),
            commit=recipes.commit,
            found_by=recipes.found_by,
            url=url,
        )


@object_type
class Revision(Node):
    """The catalog once. Immutable: the same digest is the same content for ever.

    - tag: The name of the tag that it was published under.
    - digest: sha256 of the canonical content; independent of file order, spelling noise and import
      time.
    - taken_at: When the build cache was in this state.
    - published_at: When the catalog learned of it.
    - num_packages: How many packages it has.
    - num_specs: How many specs it has.
    - num_known_stacks: How many stacks it has, without root, their union; null where its source
      tells none.
    - num_stacks: How many stacks it has, without root, their union.
    - total_size: The sum of its binary packages' sizes, as far as known.
    - num_proven: How many hashes an import computed anew and found right; null where it did not
      try, as for cache pages.
    - unproven: How many it could not compute anew, and why; null where it did not try.
    - tag_node: The tag that it was published under, with its series.
    - tag_info: As `tagNode`.
    - series_node: The series that it is part of.
    - series_info: As `seriesNode`.
    - source: Where it came from.
    """

    info: strawberry.Private[RevisionInfo]

    id = id_field("Revision", "info.digest", "info.key")

    @classmethod
    def of_id(cls, context: Context, _digest: str, key: str) -> Self | None:
        """Return the revision of a digest and a key."""
        info = info_of_key(context, key)
        return None if info is None else cls(info=info)

    tag: str = _of_line("tag", str)
    digest: str = _of_line("digest", str)
    taken_at: DateTime = _of_line("taken_at", DateTime)
    published_at: DateTime = _of_line("published_at", DateTime)
    num_packages: int = _of_line("num_packages", int)
    num_specs: int = _of_line("num_specs", int)
    num_known_stacks: int | None = _of_line("known_stacks", int | None)
    num_stacks: int = deprecated(NUM_STACKS_DEPRECATED)(_of_line("num_stacks", int))
    total_size: ByteCount | None = _of_line("total_size", ByteCount | None)

    num_proven: int | None = _of_line("num_proven", int | None)

    @resolver(Cost(weight=20))
    def recipes(self, info: Info) -> RecipesType | None:
        """The commit of the recipes that its specs were concretized with, where it is known."""
        info.context.is_permanent = False  # it may become known, or be corrected
        recipes = info.context.catalog.recipes.of(self.info)
        return None if recipes is None else RecipesType.of(info.context, recipes)

    unproven = attribute(
        "info.unproven", list[UnprovenType] | None, Cost(weight=2, items=len(UnprovenReason))
    )
    tag_node = attribute("info.tag", "Tag", make=lambda name: Tag(name=name))
    tag_info = deprecated("Use `tagNode`.")(
        attribute("info.tag", "Tag", make=lambda name: Tag(name=name))
    )
    series_node = series_field("info.tag", refs.series)
    series_info = deprecated("Use `seriesNode`.")(series_field("info.tag", refs.series))

    @resolver()
    def confirmed_at(self, info: Info) -> DateTime:
        """When an import last found its tag in this very state, before any other one; `takenAt`
        where none has found it so again.
        """
        return DateTime(info.context.changing_history().confirmed_at(self.info))

    source = _of_line("source", SourceType)

    @resolver(LOADED)
    def package(self, info: Info, name: str) -> Package | None:
        """A package by its name.

        - name: The package's name.
        """
        return Package.named(info.context.load(self.info), name)

    @connection_field(Cost(weight=100, each=1, once=LOADING, arguments=PACKAGES_ARGUMENTS))
    def packages(
        self,
        info: Info,
        filter: PackageFilterArgument = None,
        order_by: PackageOrderArgument = None,
        *,
        page: PageArguments,
    ) -> Connection[Package]:
        """Its packages."""
        loaded = info.context.load(self.info)
        return package_connection(loaded, None, filter, order_by, page)

    @resolver(LOADED)
    def spec(self, info: Info, hash: str) -> SpecType | None:
        """A spec by its hash, or how it begins. Where several of the revision begin so, that is an
        error with extensions.code AMBIGUOUS_HASH and extensions.candidates, as of `Query.hash`.

        - hash: The DAG hash, or how it begins.
        """
        return SpecType.of_prefix(info.context.load(self.info), hash)

    @connection_field(Cost(weight=100, once=LOADING, arguments=SPECS_ARGUMENTS))
    def specs(
        self,
        info: Info,
        matching: MatchingArgument = None,
        filter: FilterArgument = None,
        order_by: OrderArgument = None,
        *,
        page: PageArguments,
    ) -> SpecConnection:
        """Its specs."""
        loaded = info.context.load(self.info)
        shown = spec_page(loaded, slice(None), matching, filter, order_by, page)
        return SpecConnection(page=shown)

    @connection_field(Cost(weight=100, once=LOADING, arguments=MATCHES_ARGUMENTS))
    def matches(
        self,
        info: Info,
        query: str,
        filter: FilterArgument = None,
        order_by: OrderArgument = None,
        *,
        page: PageArguments,
    ) -> SpecConnection | None:
        """The specs that a query in Spack's language matches, as `specs(matching:)`; null, with an
        error, where it cannot be answered: what stands beside it in the request is not lost.

        - query: A query in Spack's language.
        """
        loaded = info.context.load(self.info)
        return SpecConnection(page=spec_page(loaded, slice(None), query, filter, order_by, page))

    @resolver(LOADED)
    def stack(self, info: Info, name: str) -> Stack | None:
        """A stack by its name.

        - name: The stack's name.
        """
        return Stack.named(info.context.load(self.info), name)

    @resolver(STACKS_OF_REVISION)
    def stack_nodes(self, info: Info) -> list[Stack] | None:
        """Its stacks, by name, root among them; null where its source tells none."""
        loaded = info.context.load(self.info)
        return self._stacks(loaded) if tells_stacks(loaded.frame) else None

    @deprecated("Use `stackNodes`, which is null where the source does not list stacks.")
    @resolver(STACKS_OF_REVISION)
    def stacks(self, info: Info) -> list[Stack]:
        """Its stacks, by name, root among them. One selection cannot have this and the `stacks` of
        a package or spec, which are names alone, under one name: give one an alias.
        """
        return self._stacks(info.context.load(self.info))

    def _stacks(self, loaded: LoadedRevision) -> list[Stack]:
        return [Stack(loaded=loaded, name=name) for name in loaded.frame.stacks.items]

    @resolver(
        Cost(weight=500, once=LOADING, page=ItemsOf("specs"), arguments={"specs": CONCRETE_SPECS})
    )
    def lookup(self, specs: ConcreteSpecsArgument) -> LookupType:
        """Which of these concrete specs, those of a spack.lock say, the revision holds."""
        return LookupType(info=self.info, specs=Wanted(concrete_specs(specs)))

    @connection_field(HOLES)
    def holes(self, info: Info, *, page: PageArguments) -> HoleConnection | None:
        """What is missing for its specs to be installed from this cache alone, what affects most of
        them first; null where its source does not list dependencies.
        """
        return hole_connection(info.context.load(self.info), page)

    @connection_field(TWINS)
    def twins(
        self,
        info: Info,
        stack: str | None = None,
        package: str | None = None,
        *,
        page: PageArguments,
    ) -> TwinGroupConnection:
        """What of it is built more than once, the groups whose other specs most specs reach first;
        of a stack or a package only their specs count, not what these depend on.

        - stack: Only specs of this stack.
        - package: Only specs of this package.
        """
        frame = info.context.load(self.info).frame
        require_names([frame], stack, package)
        twins = info.context.twins(self.info, stack, package)
        part = window_at(page, len(twins), twins.find)
        comparison = twins_comparison(info.context, self.info, twins)
        shown = ShownTwins(comparison, twins, twins[part.start : part.stop])
        groups = [TwinGroupType(shown=shown, place=place) for place in range(len(shown.groups))]
        cursors = [frame.hashes.at(int(group.rows[0])) for group in shown.groups]
        return TwinGroupConnection(page=ListPage(part, groups, cursors), shown=shown)

    @resolver(NEIGHBOUR)
    def previous(self, info: Info) -> "Revision | None":
        """The revision before this one in its series."""
        previous = info.context.changing_history().previous(self.info)
        return None if previous is None else Revision(info=previous)

    @resolver(NEIGHBOUR)
    def next(self, info: Info) -> "Revision | None":
        """The revision after this one in its series."""
        following = info.context.changing_history().next(self.info)
        return None if following is None else Revision(info=following)

    @resolver(Cost(weight=60))
    def growth(self, info: Info) -> LazyGrowthPoint | None:
        """What came and went with it, as `Series.growth` tells; null, with an error, where that is
        not kept yet: it is made for `Series.growth` alone.
        """
        from schema.histories import GrowthPointType

        return GrowthPointType.of_revision(info.context, self.info)


def revision_field(path: str, graphql_type: Any = Revision) -> Any:
    """Declare a field that leads to the revision in an attribute of its object."""
    return attribute(path, graphql_type, make=revision_object)


@object_type
class Tag(Node):
    """A name that revisions are published under.

    - name: The tag's name.
    - series: The family the tag is ordered in: develop, develop-DATE, vX.Y.Z, or the tag itself.
    - series_node: That family, with all its revisions.
    - series_info: As `seriesNode`.
    """

    name: str
    id = id_field("Tag", "name")
    series = attribute("name", str, make=refs.series)
    series_node = series_field("name", refs.series)
    series_info = deprecated("Use `seriesNode`.")(series_field("name", refs.series))

    @classmethod
    def of_id(cls, context: Context, name: str) -> Self | None:
        """Return a tag of the catalog; None where there is not one of that name."""
        return cls(name=name) if context.changing_history().of_tag(name) else None

    @resolver()
    def latest(self, info: Info) -> Revision:
        """Its newest revision."""
        return Revision(info=info.context.changing_history().of_tag(self.name)[0])

    @connection_field(Cost(weight=100, each=1))
    def revisions(self, info: Info, *, page: PageArguments) -> Connection[Revision]:
        """Its revisions, newest first."""
        return revision_connection(info.context.changing_history().of_tag(self.name), page)


def revision_connection(
    lines: Sequence[RevisionInfo], arguments: PageArguments
) -> Connection[Revision]:
    """Return a connection over lines of the catalog, newest first."""
    # A cursor is searched from the front, so that the first pages compute few keys.
    keys = Each(len(lines), lambda place: lines[place].key)
    return Connection(page=page_of(arguments, keys, lambda place: Revision(info=lines[place])))
