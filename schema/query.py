"""The root types of the API: queries, and subscriptions."""

from collections.abc import AsyncGenerator, Mapping
from typing import Annotated, Any

import msgspec
import strawberry

from schema.comparisons.comparison import ComparisonType
from schema.comparisons.explanations import ONE_COMMIT, CommitType
from schema.comparisons.plan import (
    PLANNING,
    PlannedSpecsArgument,
    PlannedStacksArgument,
    PlanType,
    stack_locks,
)
from schema.comparisons.spec_comparison import COMPARING_SPECS, ComparedSpecs, SpecComparisonType
from schema.context import MOST_CONTENTS, Context, Info
from schema.fields.connections import (
    PAGE_MAX,
    Connection,
    PageArguments,
    check_size,
    connection_field,
    page_of,
)
from schema.fields.cost import (
    COST,
    LOADING,
    SPANS_OF_HASH,
    ArgumentCost,
    Cost,
    ItemsOf,
    NumberOf,
    resolver,
)
from schema.fields.scalars import DateTime, Omittable, SearchArgument, object_type
from schema.histories import (
    ALL_PACKAGES,
    CatalogPackageType,
    HashHistoryType,
    Series,
    catalog_package,
)
from schema.node import Node, find_node
from schema.revisions.lookup import (
    CONCRETE_SPECS,
    ConcreteSpecsArgument,
    LookupType,
    concrete_specs,
)
from schema.revisions.revision import Revision, Tag, revision_connection
from schema.revisions.spec import SpecType
from schema.revisions.suggestions import (
    SUGGEST,
    SUGGESTED_DEFAULT,
    SUGGESTING,
    FirstSuggestions,
    Kinds,
    SuggestionType,
    Text,
    suggest,
)
from snapshots import refs
from snapshots.catalog.history_answers import About, HistoryTopic
from snapshots.changes.lookup import Wanted
from snapshots.errors import CachelogError, ConstraintSyntaxError, InvalidArgument
from snapshots.frames import queries
from snapshots.models import RevisionInfo
from snapshots.notes.changelog import Only
from snapshots.recipes.commits import OID_PREFIX_MIN
from snapshots.timelines.catalog_packages import CatalogPackage

_REF = (
    "TAG (its newest revision), TAG~N (N before it in its series), TAG@DATE (the newest at or "
    "before a date), a digest, or an unambiguous prefix of one (6+ hex digits)."
)

Ref = Annotated[str, strawberry.argument(_REF)]
OfRef = Annotated[str | None, strawberry.argument(_REF)]
Side = Annotated[
    str, strawberry.argument(f"REF, or REF:STACK for a stack of the revision. REF: {_REF}")
]
OfTag = Annotated[str | None, strawberry.argument("Only those of this tag.")]
OfSeries = Annotated[str | None, strawberry.argument("Only those of tags of this series.")]
InSeries = Annotated[str | None, strawberry.argument("Only revisions of this series.")]

RESOLVING = ArgumentCost(weight=500)
"""The lookup of a ref, and of similar ones where it is unknown."""

NARROWING = ArgumentCost(weight=5_000, once=20_000)
"""What changed is listed anew for the specs in scope."""

COVERING_ALL = 120_000
"""Searching a hundred contents for hashes, with a share of reading them."""

HOLDING = 80_000
"""The kept changes are searched for the packages of hashes, and then for the hashes."""

HELD_HASH = 300
"""Units of each hash that revisions are to hold."""

NUM_SERIES = 30
"""How many series a catalog may have: develop, releases, dated ones, and tags of their own."""

FINDING = 100
"""Units of an object by its id, or of the error of a bad id."""


@object_type
class Query:
    """What can be asked of the catalog."""

    @resolver(Cost(weight=FINDING, once=LOADING))
    def node(self, info: Info, id: strawberry.ID) -> Node | None:
        """An object by its id; null where there is not one of that id.

        - id: The object's id.
        """
        return find_node(info.context, id)

    @resolver(Cost(items=ItemsOf("ids"), each=FINDING, each_loaded=LOADING))
    def nodes(self, info: Info, ids: list[strawberry.ID]) -> list[Node | None]:
        """Objects by their ids, in the same order; null where none is.

        - ids: The objects' ids.
        """
        return [_node_or_error(info.context, id) for id in ids]  # type: ignore[misc]

    @resolver(Cost(weight=50, items=120))
    def tags(self, info: Info) -> list[Tag]:
        """Every tag of the catalog, in natural order: develop, then releases newest first, then
        dated snapshots newest first.
        """
        return [Tag(name=name) for name in info.context.changing_history().tags]

    @resolver(Cost(weight=20))
    def tag(self, info: Info, name: str) -> Tag | None:
        """A tag by its name.

        - name: The tag's name.
        """
        return Tag.of_id(info.context, name)

    @resolver(Cost(weight=100, items=NUM_SERIES))
    def all_series(self, info: Info) -> list[Series]:
        """All series in the order of `tags`: develop, then releases, then dated ones, then other
        tags.
        """
        return [Series(name=name) for name in info.context.changing_history().series_names]

    @resolver(Cost(weight=20))
    def series(self, info: Info, name: str) -> Series | None:
        """A series by its name.

        - name: The series' name.
        """
        return Series.of_id(info.context, name)

    @resolver(Cost(weight=20))
    def main_series(self, info: Info) -> Series | None:
        """The series that is meant where none is named: develop, or else the one with most
        revisions; null where the catalog is empty.
        """
        name = info.context.changing_history().main_series
        return None if name is None else Series(name=name)

    @resolver(Cost(weight=100, once=ALL_PACKAGES))
    def package(self, info: Info, name: str) -> CatalogPackageType | None:
        """A package over all series; null where no revision ever had it.

        - name: The package's name.
        """
        return catalog_package(info.context, name)

    @resolver(Cost(weight=100, once=ALL_PACKAGES))
    def package_of(self, info: Info, query: str) -> CatalogPackageType | None:
        """The package that a query in Spack's language is about, `hdf5@1.14: +mpi` say, over all
        series; null where it names none, cannot be read, or no revision ever had it.

        - query: A query as in `Revision.specs(matching:)`.
        """
        try:
            name = queries.read(query).name
        except (ConstraintSyntaxError, InvalidArgument):
            return None
        return None if name is None else catalog_package(info.context, name)

    @connection_field(
        Cost(
            weight=2_000, each=2, once=ALL_PACKAGES, arguments={"search": ArgumentCost(weight=500)}
        )
    )
    def packages(
        self,
        info: Info,
        search: SearchArgument = None,
        gone: bool | None = None,
        *,
        page: PageArguments,
    ) -> Connection[CatalogPackageType] | None:
        """All packages that any revision ever had, by name; null, with an error, where what is kept
        of the history is not complete.

        - gone: Only those that are gone, or only those that are not.
        """
        every: Mapping[str, CatalogPackage]
        every = info.context.of_history(HistoryTopic(About.ALL_PACKAGES))
        part = (search or "").lower()
        chosen = [
            package
            for name, package in every.items()
            if part in name.lower() and gone in (None, package.is_gone)
        ]
        names = [package.name for package in chosen]
        return Connection(
            page=page_of(page, names, lambda place: CatalogPackageType(package=chosen[place]))
        )

    @resolver(Cost(weight=SPANS_OF_HASH))
    def hash(self, info: Info, hash: str) -> HashHistoryType | None:
        """What the catalog knows of a hash (or an unambiguous prefix), in whatever revision; null
        where it never saw it. Where several begin so, that is an error with extensions.code
        AMBIGUOUS_HASH, and extensions.candidates has some: hash and title.

        - hash: A DAG hash, or how one begins.
        """
        return HashHistoryType.of(info.context, hash)

    @resolver(Cost(weight=SPANS_OF_HASH, each_loaded=LOADING, arguments={"ref": RESOLVING}))
    def spec(self, info: Info, hash: str, ref: OfRef = None) -> SpecType | None:
        """A spec in the revision of a ref, or in the newest of any series that has it; null where
        it is not there. Errors as of `hash`.

        - hash: A DAG hash, or how one begins.
        """
        return SpecType.sought(info.context, hash, ref)

    @connection_field(
        Cost(weight=HOLDING, each=1, arguments={"hashes": ArgumentCost(each=HELD_HASH)})
    )
    def revisions_holding(
        self, info: Info, hashes: list[str], series: InSeries = None, *, page: PageArguments
    ) -> Connection[Revision]:
        """The revisions that hold all of these hashes, newest first.

        - hashes: Whole DAG hashes.
        """
        question = HistoryTopic(About.HOLDING, items=frozenset(hashes), series=series)
        return revision_connection(info.context.of_history(question), page)

    @connection_field(Cost(weight=1_000, each=1))
    def revisions(
        self,
        info: Info,
        tag: OfTag = None,
        series: OfSeries = None,
        since: DateTime | None = None,
        until: DateTime | None = None,
        *,
        page: PageArguments,
    ) -> Connection[Revision]:
        """Published revisions, newest first.

        - since: Only those taken then or later.
        - until: Only those taken then or earlier.
        """
        lines = info.context.changing_history().select(
            tag=tag, series=series, since=since, until=until
        )
        return revision_connection(lines, page)

    @resolver(
        Cost(arguments={"ref": RESOLVING}),
        Omittable(),
        description=f"One revision. ref is one of: {_REF} Without ref: the newest revision of "
        "develop, or else of the series with most. An unknown ref gives null and an error with "
        "extensions.code REVISION_NOT_FOUND whose message names the nearest known refs, as "
        "extensions.nearest does, a list, beside extensions.sought.",
    )
    def revision(self, info: Info, ref: OfRef = None) -> Revision | None:
        return Revision(info=info.context.resolve(ref))

    @resolver(
        Cost(
            arguments={
                "base": RESOLVING,
                "head": RESOLVING,
                "stack": NARROWING,
                "package": NARROWING,
                "matching": msgspec.structs.replace(NARROWING, once=20_000),
            }
        )
    )
    def compare(
        self,
        info: Info,
        base: Side,
        head: Side,
        stack: str | None = None,
        package: str | None = None,
        matching: str | None = None,
    ) -> ComparisonType | None:
        """What changed from base to head; refs as in revision(ref:), or stacks of revisions. With
        `stack`, `package` and `matching` it is about the specs that meet all of them on either
        side: all but counterparts, reasons and main causes, which are those of the whole.

        - stack: Only specs that this stack has.
        - package: Only specs of this package.
        - matching: Only specs that this query in Spack's language matches.
        """
        resolve = info.context.resolve_side
        only = Only(stack=stack, package=package, matching=matching)
        return ComparisonType(
            base_info=resolve(base), head_info=resolve(head), only=only if only else None
        )

    @resolver(COMPARING_SPECS)
    def compare_specs(
        self,
        info: Info,
        base: str,
        head: str,
        base_ref: OfRef = None,
        head_ref: OfRef = None,
    ) -> SpecComparisonType | None:
        """What differs between two specs, of their own and below, and why: hashes, or how they
        begin, in the revisions of two refs or the newest that has each; null where one is nowhere.
        Errors as of `hash`.

        - base: A DAG hash, or how one begins.
        - head: Likewise.
        """
        info.context.require_time()
        before = SpecType.sought(info.context, base, base_ref)
        after = SpecType.sought(info.context, head, head_ref)
        if before is None or after is None:
            return None
        return SpecComparisonType(compared=ComparedSpecs(before, after))

    @resolver(
        msgspec.structs.replace(PLANNING, arguments={**PLANNING.arguments, "base": RESOLVING})
    )
    def plan(
        self,
        info: Info,
        base: Ref,
        specs: PlannedSpecsArgument,
        stacks: PlannedStacksArgument = None,
    ) -> PlanType:
        """What has to be built for specs, as lock files have them, and why; base as in
        compare(base:).
        """
        side, locks = info.context.resolve_side(base), stack_locks(specs, stacks or ())
        plan, before, after = info.context.plan(side, locks)
        return PlanType(plan=plan, base_info=before, head_info=after)

    @resolver(
        ONE_COMMIT,
        description="A commit of the recipes, by its hash or how it begins "
        f"({OID_PREFIX_MIN} characters at least); null where none is known, or several are.",
    )
    def commit(
        self, info: Info, oid: Annotated[str, strawberry.argument("A hash, or a prefix of one.")]
    ) -> CommitType | None:
        return CommitType.named(info.context, oid)

    @resolver(
        Cost(
            weight=COVERING_ALL,
            items=NumberOf("first", default=10),
            page=ItemsOf("specs"),
            arguments={"specs": CONCRETE_SPECS},
        ),
        Omittable(),
        description="Specs as lookup has them, over the newest revision of each tag, or over all "
        "of a series: which holds most of them first, then which holds most of the roots, then the "
        f"newer. The newest {MOST_CONTENTS} different contents are looked into. An unknown series "
        "has none.",
    )
    def best_covering(
        self,
        info: Info,
        specs: ConcreteSpecsArgument,
        series: InSeries = None,
        first: Annotated[int, strawberry.argument(f"How many revisions, at most {PAGE_MAX}.")] = 10,
    ) -> list[LookupType]:
        check_size("first", first)
        wanted_specs = Wanted(concrete_specs(specs))
        covered = info.context.best_covering(wanted_specs, series)[:first]
        return [
            LookupType(info=counts.revision, specs=wanted_specs, covered=counts)
            for counts in covered
        ]

    @resolver(SUGGESTING, Omittable(), description=SUGGEST)
    def suggest(
        self,
        info: Info,
        text: Text,
        ref: OfRef = None,
        kinds: Kinds = None,
        first: FirstSuggestions = SUGGESTED_DEFAULT,
    ) -> list[SuggestionType]:
        return suggest(info.context, text, ref, kinds, first)


def _node_or_error(context: Context, id: str) -> Node | CachelogError | None:
    """Return the object of an id, or the error to report at its place in a list."""
    try:
        return find_node(context, id)
    except CachelogError as error:
        return error


@object_type
class Subscription:
    """What can be followed as it happens."""

    @strawberry.subscription(
        description="Each revision when it is published; of one series or tag where one is given. "
        "What was published before the subscription began is not sent.",
        metadata={COST: Cost(weight=20)},
        extensions=[Omittable()],
    )
    def revision_published(
        self, info: Info, series: OfSeries = None, tag: OfTag = None
    ) -> AsyncGenerator[Revision, None]:
        def is_followed(revision: RevisionInfo) -> bool:
            return tag in (None, revision.tag) and series in (None, refs.series(revision.tag))

        return info.context.follow(is_followed)  # type: ignore[return-value] # see ``root_of``


def root_of(event: RevisionInfo | None) -> Any:
    """Return the root that an event is executed with: the field's own value; None for a query."""
    return None if event is None else Revision(info=event)
