"""Revisions, and the tags under which they are published."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Self

import strawberry

from schema.context import Context, Info
from schema.fields import gql, many, relay
from schema.fields.cost import LARGE, LOADED, SMALL, Cost, Work, field, resolver
from schema.node import (
    URL,
    Node,
    id_field,
    info_of_id,
    node_of,
    page_in,
    revision_object,
    url_field,
)
from schema.revisions.lookup import holes_field, lookup_field
from schema.revisions.package import ImpactType, RevisionPackage, Stack, packages_field
from schema.revisions.spec import SpecType, specs_field
from schema.revisions.twins import twins_field
from snapshots import refs
from snapshots.catalog.history_queries import HistoryQueries, require_complete
from snapshots.changes.impact import require_packages
from snapshots.changes.pairings import states_stacks
from snapshots.frames.suggestions import require_names
from snapshots.history import Neighbours
from snapshots.models import (
    DEMO,
    GIT,
    INDEX,
    INSTALLATION,
    LOCK_FILE,
    PAGES,
    RevisionInfo,
    UnprovenReason,
    public_location,
)
from snapshots.notes.phrases import main_changes_sentences
from snapshots.notes.sentences import plain
from snapshots.recipes.commits import Recipes, RecipesOrigin

if TYPE_CHECKING:
    from schema.histories import GrowthPointType, Series

IMPACT = Cost(weight=LARGE.weight, work=Work.LOADING)
"""Reading a revision, and following the dependencies of all of its specs."""

LazySeries = Annotated["Series", strawberry.lazy("schema.histories")]
LazyGrowthPoint = Annotated["GrowthPointType", strawberry.lazy("schema.histories")]


REF = (
    "TAG (its newest revision; a series such as `develop-DATE` can take its place), TAG~N (the "
    "revision N positions before it in its series), TAG@DATE (the newest revision at or before a "
    "date; `1 month ago` counts from the newest one), TAG@TIME.DIGEST (the `ref` of a revision, "
    "which never means another one), or a digest or an unambiguous prefix of one (at least 6 "
    "hexadecimal digits; the newest revision with this content)."
)

Ref = Annotated[str, strawberry.argument(REF)]
OfRef = Annotated[str | None, strawberry.argument(REF)]


def _of_row(name: str, graphql_type: Any) -> Any:
    """Declare a field that is a fact in a revision's row of the catalog."""
    return many.attribute(f"info.{name}", graphql_type, is_for_many=True)


def series_field(path: str, name_of: Callable[[str], str] = str) -> Any:
    """Declare a field that returns the series whose name is computed from an attribute of its
    object.
    """
    return many.attribute(path, LazySeries, make=lambda text: node_of("Series", name=name_of(text)))


gql.describe_enum(UnprovenReason)


@gql.object_type
class UnprovenType:
    """Hashes that the import could not recompute."""

    reason: UnprovenReason = field("The reason.")
    num_specs: int = field("Number of specs with such a hash.")


class SourceKind(Enum):
    """What the source of a revision is.

    - PAGES: Markdown pages that list specs.
    - INDEX: The index of a build cache.
    - INSTALLATION: The database of an installation of Spack.
    - GIT: Markdown pages in a git repository.
    - DEMO: Generated sample data.
    - LOCK_FILE: The concrete specs of a request: a side of a plan.
    - OTHER: A kind that this version of cachelog does not know.
    """

    PAGES = PAGES.name
    INDEX = INDEX.name
    INSTALLATION = INSTALLATION.name
    GIT = GIT.name
    DEMO = DEMO.name
    LOCK_FILE = LOCK_FILE.name
    OTHER = ""


gql.describe_enum(SourceKind)
_KINDS = {kind.value: kind for kind in SourceKind}


@gql.object_type
class SourceType:
    """The source of a revision.

    - kind: What was read.
    - location: The location of the source: a URL, or the last part of a local path.
    - is_synthetic: Whether the data was generated for demonstration.
    """

    kind = many.attribute("kind", SourceKind, make=lambda name: _KINDS.get(name, SourceKind.OTHER))
    location: str = many.attribute("public_location", str)
    version: str | None = field("The commit or ETag of the source when it was imported.")
    importer: str = field("The program that imported it, with its version.")
    is_synthetic: bool = many.attribute("synthetic", bool)


gql.describe_enum(RecipesOrigin, name="RecipesFoundBy")


@gql.object_type
class RecipesType:
    """The commit of the recipe repository that the specs of a revision were concretized with."""

    repository: str = field("The git repository: a URL, or the last part of a local path.")
    oid: str = field("The full hash of the commit.")
    found_by: RecipesOrigin = field("How the commit was determined.")
    web_url: str | None = field("The URL of a web page that shows the commit, if known.")

    @classmethod
    def of(cls, context: Context, recipes: Recipes) -> Self:
        """Return the recipes with the URL of the commit's web page."""
        url = context.library.links(recipes.repository).commit(recipes.commit)
        return cls(
            repository=public_location(recipes.repository),
            oid=recipes.commit,
            found_by=recipes.found_by,
            web_url=url,
        )


@gql.object_type
class Revision(Node):
    """A content that a tag had at one time. It never changes, and its `ref` never means another
    one.

    - ref: The ref of this revision alone, TAG@TIME.DIGEST: its tag, its time in UTC (the time of
      day unless it is midnight), and the first digits of its digest.
    - tag_name: The name of the tag under which it was published.
    - digest: SHA-256 of the canonical content; independent of the order of files, differences in
      spelling, and the time of the import.
    - taken_at: When the build cache was in this state.
    - published_at: When it was imported into the catalog.
    - num_packages: Number of packages.
    - num_specs: Number of specs.
    - num_stacks: Number of stacks, without root, which is their union; null if the source
      does not list stacks.
    - total_size: Sum of the known sizes of its binary packages; null if none is known.
    - num_proven: Number of hashes that the import recomputed and found correct; null if it did not
      recompute hashes, as for cache pages.
    - unproven: The hashes that the import could not recompute, counted by reason; null if it did
      not recompute hashes.
    - tag: The tag under which it was published.
    - series: The series to which it belongs.
    - source: The source from which it was imported.
    """

    info: strawberry.Private[RevisionInfo]

    id = id_field("Revision", "info")

    @classmethod
    def of_id(cls, context: Context, ref: str) -> Self | None:
        """Return the revision of a ref."""
        info = info_of_id(context, ref)
        return None if info is None else cls(info=info)

    @resolver(description=URL)
    def url(self) -> str | None:
        return page_in(self.info)

    ref: str = _of_row("ref", str)
    tag_name: str = many.attribute("info.tag", str, is_for_many=True)
    digest: str = _of_row("digest", str)
    taken_at: gql.DateTime = _of_row("taken_at", gql.DateTime)
    published_at: gql.DateTime = _of_row("published_at", gql.DateTime)
    num_packages: int = _of_row("num_packages", int)
    num_specs: int = _of_row("num_specs", int)
    num_stacks: int | None = many.attribute("info.known_stacks", int | None, is_for_many=True)
    total_size: gql.ByteCount | None = _of_row("total_size", gql.ByteCount | None)

    num_proven: int | None = _of_row("num_proven", int | None)

    @resolver()
    def recipes(self, info: Info) -> RecipesType | None:
        """The commit of the recipe repository that its specs were concretized with; null if it is
        not known.
        """
        info.context.is_permanent = False  # it may become known, or be corrected
        recipes = info.context.catalog.recipes.of(self.info)
        return None if recipes is None else RecipesType.of(info.context, recipes)

    unproven = many.attribute("info.unproven", list[UnprovenType] | None)
    tag = many.attribute("info.tag", "Tag", make=lambda name: Tag(name=name))
    series = series_field("info.tag", refs.series)

    @resolver(Cost(of_state=True))
    def confirmed_at(self, info: Info) -> gql.DateTime:
        """When an import last found its tag unchanged in this state, before any other state;
        `takenAt` if no later import did.
        """
        return gql.DateTime(info.context.changing_history().confirmed_at(self.info))

    @relay.connection_field()
    def also_published_as(
        self, info: Info, *, page: relay.PageArguments
    ) -> relay.Connection["Revision"] | None:
        """The other revisions with the same content, newest first."""
        return revision_connection(info.context.changing_history().others_of(self.info), page)

    source = _of_row("source", SourceType)

    @resolver(LOADED)
    def package(self, info: Info, name: str) -> RevisionPackage | None:
        """The package with a name; null if there is none.

        - name: The package's name.
        """
        return RevisionPackage.find(info.context.load(self.info), name)

    packages = packages_field(
        LOADED,
        "Its packages, by default ordered by name.",
        lambda revision, info: (info.context.load(revision.info), None),
    )

    @resolver(LOADED)
    def spec(self, info: Info, hash: str) -> SpecType | None:
        """The spec with a hash; null if there is none. If several hashes of the revision start with
        the prefix, the error has extensions.code AMBIGUOUS_HASH and extensions.candidates, as for
        `Query.hash`.

        - hash: The DAG hash, or an unambiguous prefix of it.
        """
        return SpecType.of_prefix(info.context.load(self.info), hash)

    specs = specs_field(
        LOADED,
        lambda revision, info: (info.context.load(revision.info), slice(None)),
    )

    @resolver(LOADED)
    def stack(self, info: Info, name: str) -> Stack | None:
        """The stack with a name; null if there is none.

        - name: The stack's name.
        """
        return Stack.find(info.context.load(self.info), name)

    @resolver(LOADED)
    def stacks(self, info: Info) -> list[Stack] | None:
        """Its stacks, including root, ordered by name; null if the source does not list stacks."""
        loaded = info.context.load(self.info)
        if not states_stacks(loaded.frame):
            return None
        return [Stack(loaded=loaded, name=name) for name in loaded.frame.stacks.items]

    lookup = lookup_field
    holes = holes_field
    twins = twins_field

    @resolver(IMPACT)
    def impact(
        self, info: Info, packages: list[str], stack: str | None = None
    ) -> ImpactType | None:
        """The specs that would be rebuilt if the recipes of some packages changed; null if the
        source of the revision does not list dependencies.

        - packages: The packages that would change.
        - stack: Only specs of this stack.
        """
        loaded = info.context.load(self.info)
        require_names([loaded.frame], stack)
        require_packages(loaded.frame, loaded.dependencies(), packages, "packages")
        return ImpactType.of(loaded, packages, stack)

    @resolver()
    def previous(self, info: Info) -> "Revision | None":
        """The revision before this one in its series."""
        previous = info.context.changing_history().previous(self.info)
        return None if previous is None else Revision(info=previous)

    @resolver()
    def next(self, info: Info) -> "Revision | None":
        """The revision after this one in its series."""
        following = info.context.changing_history().next(self.info)
        return None if following is None else Revision(info=following)

    @resolver(SMALL)
    def main_changes(self, info: Info) -> list[str] | None:
        """What it changed most since the previous revision of its series, a sentence each: the
        stacks that were added or removed, and the main cause. Null, with an error, if they are not
        stored yet.
        """
        context, revision = info.context, self.info
        history, series = context.changing_history(), refs.series(revision.tag)
        require_complete(context.catalog, history, series, causes=True)
        changes = context.of_history(HistoryQueries.main_changes, series).get(revision.ref)
        step = Neighbours(history.previous(revision), revision)
        main = () if changes is None else changes.causes[:1]
        causes = context.library.stored_causes({step: main})[step].causes
        return list(map(plain, main_changes_sentences(revision, changes, causes)))

    @resolver(SMALL)
    def growth_point(self, info: Info) -> LazyGrowthPoint | None:
        """The specs and packages that it added and removed, as in `Series.growth`; null, with an
        error, if they are not stored yet, because only `Series.growth` computes them.
        """
        from schema.histories import GrowthPointType

        return GrowthPointType.of_revision(info.context, self.info)


def revision_field(path: str, graphql_type: Any = Revision) -> Any:
    """Declare a field that returns the revision in an attribute of its object."""
    return many.attribute(path, graphql_type, make=revision_object)


@gql.object_type
class Tag(Node):
    """A name under which revisions are published.

    - name: The tag's name.
    - series: The series to which the tag belongs: develop, develop-DATE, vX.Y.Z, or that of the tag
      alone.
    """

    name: str
    id = id_field("Tag", "name")
    url = url_field("r", of="name")
    series = series_field("name", refs.series)

    @classmethod
    def of_id(cls, context: Context, name: str) -> Self | None:
        """Return a tag of the catalog; None if there is none of that name."""
        return cls(name=name) if context.changing_history().of_tag(name) else None

    @resolver()
    def latest(self, info: Info) -> Revision:
        """Its newest revision."""
        return Revision(info=info.context.changing_history().of_tag(self.name)[0])

    @relay.connection_field()
    def revisions(
        self, info: Info, *, page: relay.PageArguments
    ) -> relay.Connection[Revision] | None:
        """Its revisions, newest first."""
        return revision_connection(info.context.changing_history().of_tag(self.name), page)


def revision_connection(
    lines: Sequence[RevisionInfo], arguments: relay.PageArguments
) -> relay.Connection[Revision]:
    """Return a connection over revisions of the catalog, newest first."""
    # A cursor is searched from the front, so that the first pages compute few keys.
    keys = many.ComputedList(len(lines), lambda place: lines[place].ref)
    return relay.connection_of(arguments, keys, lambda place: Revision(info=lines[place]))
