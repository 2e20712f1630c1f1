"""The root type of the API."""

import re
from dataclasses import asdict
from typing import Annotated

import strawberry
from strawberry.scalars import JSON
from strawberry.utils.str_converters import to_camel_case

from schema.comparisons.comparison import ComparisonType
from schema.comparisons.explanations import ONE_COMMIT, CommitType
from schema.comparisons.plan import plan_field
from schema.comparisons.spec_comparison import COMPARING_SPECS, ComparedSpecs, SpecComparisonType
from schema.context import Context, Info
from schema.fields import gql, relay
from schema.fields.cost import LOADED, OF_HISTORY, Cost, Work, resolver
from schema.histories import (
    HashHistoryType,
    Package,
    Series,
    catalog_package,
)
from schema.node import Node, find_node
from schema.revisions.lookup import best_covering_field
from schema.revisions.revision import REF, OfRef, Revision, Tag, revision_connection
from schema.revisions.spec import HISTORY_OF_HASH, SpecType
from schema.revisions.suggestions import destination_field, suggest_field
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.changes.scope import ComparisonFilter
from snapshots.errors import CachelogError
from snapshots.frames import queries
from snapshots.program import cachelog_version
from snapshots.recipes.commits import OID_PREFIX_MIN

Side = Annotated[
    str, strawberry.argument(f"REF, or REF:STACK for one stack of the revision. REF: {REF}")
]
OfTag = Annotated[str | None, strawberry.argument("Only revisions of this tag.")]
OfSeries = Annotated[str | None, strawberry.argument("Only revisions of this series.")]

_COMMIT = re.compile(r"\+(?:\d+\.)?g(?P<commit>[0-9a-f]+)")

RESOLVING = Cost(weight=250)
"""Looking up a ref, and similar refs if it is unknown."""

COMPARISON = Cost(weight=5_000)
"""A comparison; each condition recomputes the lists of changes for the specs in scope."""

HOLDING = Cost(weight=80_000, values=300)
"""Searching the stored changes for the packages of hashes, and then for the hashes."""


@gql.object_type
class Build:
    """The program that answers.

    - version: Its version: 0.3.0, or 0.3.0+15.g1f2e3d4 for a commit after a release.
    - commit: The abbreviated hash of that commit; null for a release.
    """

    version: str
    commit: str | None


@gql.object_type
class Query:
    """The queries that the catalog answers."""

    @resolver(LOADED)
    def node(self, info: Info, id: strawberry.ID) -> Node | None:
        """The object with an id; null if there is none.

        - id: The object's id.
        """
        return find_node(info.context, id)

    @resolver(LOADED)
    def nodes(self, info: Info, ids: list[strawberry.ID]) -> list[Node | None]:
        """The objects with some ids, in the same order; null for each id without an object.

        - ids: The objects' ids.
        """
        return [_node_or_error(info.context, id) for id in ids]  # type: ignore[misc]

    @resolver()
    def tags(self, info: Info) -> list[Tag]:
        """All tags of the catalog: develop, then releases, then dated snapshots, each newest first,
        then other tags.
        """
        return [Tag(name=name) for name in info.context.changing_history().tags]

    @resolver()
    def tag(self, info: Info, name: str) -> Tag | None:
        """The tag with a name; null if there is none.

        - name: The tag's name.
        """
        return Tag.of_id(info.context, name)

    @resolver()
    def all_series(self, info: Info) -> list[Series]:
        """All series, in the order of `tags`: develop, then releases, then dated snapshots, then
        other tags.
        """
        return [Series(name=name) for name in info.context.changing_history().series_names]

    @resolver()
    def series(self, info: Info, name: str) -> Series | None:
        """The series with a name; null if there is none.

        - name: The name of the series.
        """
        return Series.of_id(info.context, name)

    @resolver()
    def main_series(self, info: Info) -> Series | None:
        """The default series: develop, or the series with the most revisions if there is no
        develop; null if the catalog is empty.
        """
        name = info.context.changing_history().main_series
        return None if name is None else Series(name=name)

    @resolver(OF_HISTORY)
    def package(self, info: Info, name: str) -> Package | None:
        """A package in all series; null if no revision ever had it.

        - name: The package's name.
        """
        return catalog_package(info.context, name)

    @relay.connection_field(OF_HISTORY)
    def packages(
        self,
        info: Info,
        search: gql.SearchArgument = None,
        gone: bool | None = None,
        matching: str | None = None,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[Package] | None:
        """All packages that any revision ever had, ordered by name; null, with an error, if the
        stored history is incomplete.

        - matching: Only the package that this query in Spack's spec syntax names: `hdf5@1.14:`.
        - gone: True for only packages that no newest revision of a series has, false for only the
          others.
        """
        packages = info.context.of_history(HistoryQueries.all_packages)
        part = (search or "").lower()
        if matching is not None:
            name = queries.read(matching).name
            packages = {name: packages[name]} if name in packages else {}
        chosen = [
            package
            for name, package in packages.items()
            if part in name.lower() and gone in (None, package.is_gone)
        ]
        names = [package.name for package in chosen]
        return relay.connection_of(page, names, lambda place: Package(package=chosen[place]))

    @resolver(Cost(weight=HISTORY_OF_HASH))
    def hash(self, info: Info, hash: str) -> HashHistoryType | None:
        """The history of a hash in all revisions; null if no revision ever had it. If several
        hashes start with the prefix, the error has extensions.code AMBIGUOUS_HASH, and
        extensions.candidates lists some of them, each with hash and title.

        - hash: A DAG hash, or an unambiguous prefix of one.
        """
        return HashHistoryType.of(info.context, hash)

    @resolver(Cost(weight=HISTORY_OF_HASH, work=Work.LOADING))
    def spec(self, info: Info, hash: str, ref: OfRef = None) -> SpecType | None:
        """A spec in the revision that `ref` names, or, without `ref`, in the newest revision of any
        series that has it; null if there is none. The same errors as for `hash`.

        - hash: A DAG hash, or an unambiguous prefix of one.
        """
        return SpecType.sought(info.context, hash, ref)

    @relay.connection_field(HOLDING)
    def revisions_holding(
        self, info: Info, hashes: list[str], series: OfSeries = None, *, page: relay.PageArguments
    ) -> relay.Connection[Revision] | None:
        """The revisions that contain all of these hashes, newest first.

        - hashes: Full DAG hashes.
        """
        revisions = info.context.of_history(HistoryQueries.holding, frozenset(hashes), series)
        return revision_connection(revisions, page)

    @relay.connection_field()
    def revisions(
        self,
        info: Info,
        tag: OfTag = None,
        series: OfSeries = None,
        since: gql.DateTime | None = None,
        until: gql.DateTime | None = None,
        *,
        page: relay.PageArguments,
    ) -> relay.Connection[Revision] | None:
        """Published revisions, newest first.

        - since: Only revisions taken at or after this time.
        - until: Only revisions taken at or before this time.
        """
        lines = info.context.changing_history().select(
            tag=tag, series=series, since=since, until=until
        )
        return revision_connection(lines, page)

    @resolver(
        RESOLVING,
        gql.Omittable(),
        description=f"One revision. ref is one of: {REF} Without ref: the newest revision of the "
        "main series. For an unknown ref, the result is null, with an error whose "
        "extensions.code is REVISION_NOT_FOUND; its message and the list extensions.nearest name "
        "the most similar refs, and extensions.sought is the requested one.",
    )
    def revision(self, info: Info, ref: OfRef = None) -> Revision | None:
        return Revision(info=info.context.resolve(ref))

    @resolver(COMPARISON)
    def compare(
        self,
        info: Info,
        base: Side,
        head: Side,
        stack: str | None = None,
        package: str | None = None,
        matching: str | None = None,
    ) -> ComparisonType | None:
        """The comparison of two revisions, base and head, or of stacks of revisions. With `stack`,
        `package` or `matching`, it is restricted to the specs of either side that meet all of these
        conditions. Counterparts, reasons and main causes are still those of the full comparison.

        - stack: Only specs of this stack.
        - package: Only specs of this package.
        - matching: Only specs that match this query in Spack's spec syntax.
        """
        resolve = info.context.resolve_side
        only = ComparisonFilter(stack=stack, package=package, matching=matching)
        return ComparisonType(
            base_info=resolve(base), head_info=resolve(head), only=only if only else None
        )

    @resolver(COMPARING_SPECS)
    def compare_specs(
        self, info: Info, base: str, head: str, base_ref: OfRef = None, head_ref: OfRef = None
    ) -> SpecComparisonType | None:
        """The differences between two specs and between their dependencies, and the causes of these
        differences. Each spec is looked up in the revision that its ref names, or, without a ref,
        in the newest revision that has it; null if one of them is not found. The same errors as for
        `hash`.

        - base: A DAG hash, or an unambiguous prefix of one.
        - head: A DAG hash, or an unambiguous prefix of one.
        """
        info.context.require_time()
        before = SpecType.sought(info.context, base, base_ref)
        after = SpecType.sought(info.context, head, head_ref)
        if before is None or after is None:
            return None
        return SpecComparisonType(compared=ComparedSpecs(before, after))

    plan = plan_field

    @resolver()
    def build(self) -> Build:
        """The version of cachelog that answers."""
        version = cachelog_version()
        commit = _COMMIT.search(version)
        return Build(version=version, commit=commit and commit["commit"])

    @resolver()
    def limits(self, info: Info) -> JSON:
        """The limits of every request by their names, such as `maxCost`, `maxDepth` and
        `maxSeconds`; an object.
        """
        limits = asdict(info.context.budget.limits).items()
        return JSON({to_camel_case(name): value for name, value in limits})

    @resolver(
        ONE_COMMIT,
        description="A commit of the recipe repository, by its hash or a prefix of at least "
        f"{OID_PREFIX_MIN} characters; null if there is no such commit, or more than one.",
    )
    def commit(self, info: Info, oid: str) -> CommitType | None:
        """- oid: The hash of a commit, or a prefix of it."""
        return CommitType.of_id(info.context, oid)

    best_covering = best_covering_field
    suggest = suggest_field
    destination = destination_field


def _node_or_error(context: Context, id: str) -> Node | CachelogError | None:
    """Return the object of an id, or the error to report at its index in a list."""
    try:
        return find_node(context, id)
    except CachelogError as error:
        return error
