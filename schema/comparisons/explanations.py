"""Explanations: how the hashes of two revisions differ, the causes, and the commits that explain
them.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property, partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import numpy as np
import strawberry

from schema.comparisons import changes
from schema.context import Context, Info, LoadedRevision
from schema.fields import gql, many, relay
from schema.fields.cost import EXPLAINED, SMALL, Cost, Work, field, resolver
from schema.node import URL, Node, id_field, node_id, node_of, url_field
from schema.revisions.spec import SpecRows, SpecType
from snapshots.changes.causes import MAX_TOGETHER, CauseName, Causes
from snapshots.changes.diff import SpecChangeField, SpecChangeKind
from snapshots.changes.pairings import states_stacks
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.scope import ComparisonFilter
from snapshots.changes.stored_changes import StoredCause
from snapshots.changes.vocabulary import cause_title
from snapshots.errors import CatalogError
from snapshots.models import CauseKind, RevisionInfo
from snapshots.recipes.commits import SWEEPING, Commit
from snapshots.recipes.effects import MAX_DEPENDENTS, Attribution, CommitEffect, CommitLevel
from snapshots.spack.names import ROOT_STACK
from snapshots.texts import short_key

if TYPE_CHECKING:
    from schema.comparisons.comparison import ComparisonType
    from schema.histories import Package

LazyPackage = Annotated["Package", strawberry.lazy("schema.histories")]
LazyComparison = Annotated["ComparisonType", strawberry.lazy("schema.comparisons.comparison")]

# -- commits of the recipes

gql.describe_enum(
    CommitLevel,
    DEPENDENT="It changed the recipe of a package that depends directly on this one, and may "
    f"have requested a different one; only the newest {MAX_DEPENDENTS} such commits.",
)

COMMITS = Cost(weight=30_000, work=Work.EXPLAINING)
"""A page of the commits of a comparison: looking up and counting those between two revisions."""

EFFECTS = Cost(weight=200_000, work=Work.EXPLAINING)
"""The comparisons in which a commit explains causes: explaining one of each series."""

ONE_COMMIT = Cost(weight=60_000)
"""A commit by a prefix of its hash: searching all commits of the catalog."""


@gql.object_type
class PullRequest:
    """A pull request, or the equivalent of the hosting service."""

    number: int = field("Its number.")
    web_url: str | None = field("Where it can be viewed, if known.")


@gql.object_type
class CommitType(Node):
    """A commit of the recipe repository.

    - oid: The full hash.
    - committed_at: When it was committed.
    - subject: The first line of its message, with invisible characters escaped.
    - changed_package_names: The names of the packages whose recipes it changed, sorted.
    - changed_stack_names: The names of the stacks that it changed, sorted.
    """

    commit: strawberry.Private[Commit]
    repository: strawberry.Private[str]

    @classmethod
    def of_id(cls, context: Context, prefix: str) -> Self | None:
        """Return the only commit whose hash starts with a prefix; None if there is none, or
        several.
        """
        context.changing_history()
        context.require_time()
        matches = context.catalog.recipes.commits(prefix)
        if len(matches) != 1:
            return None
        ((repository, _), commit) = matches[0]
        return cls(commit=commit, repository=repository)

    id = id_field("Commit", "commit.oid")
    url = url_field("commits", of="commit.oid")

    oid = many.attribute("commit.oid", str)
    committed_at: gql.DateTime = many.attribute("commit.committed_at", gql.DateTime)
    subject = many.attribute("commit.subject", str)

    @resolver()
    def web_url(self, info: Info) -> str | None:
        """The URL of its page at the hosting service, if known."""
        return info.context.library.links(self.repository).commit(self.commit.oid)

    @resolver()
    def pull_request(self, info: Info) -> PullRequest | None:
        """The pull request whose number ends the subject; null if there is none."""
        number = self.commit.pull_request
        if number is None:
            return None
        url = info.context.library.links(self.repository).pull_request(number)
        return PullRequest(number=number, web_url=url)

    changed_package_names = many.attribute("commit.packages", list[str])
    changed_stack_names = many.attribute("commit.stacks", list[str])

    @resolver()
    def spack(self) -> changes.FieldChangeType | None:
        """The change of the Spack version in use, as commits of Spack, as far as known; null if it
        did not change it.
        """
        change = self.commit.spack
        if change is None:
            return None
        return changes.FieldChangeType(path="spack", before=change.before, after=change.after)  # type: ignore[arg-type]

    @resolver(description=f"Whether it changed the recipes of more than {SWEEPING} packages.")
    def is_sweeping(self) -> bool:
        return self.commit.is_sweeping

    @relay.connection_field(EFFECTS)
    def effects(
        self, info: Info, *, page: relay.PageArguments
    ) -> relay.Connection["CommitEffectType"] | None:
        """Its effects: the comparisons of adjacent revisions whose causes it explains, newest
        first.
        """
        return effect_connection(_effects_of(info.context, self.commit), page)


@gql.object_type
class CommitEffectType(Node):
    """The effect of a commit in one comparison.

    - level: The level at which it explains causes; the closest, if there are several.
    - is_taken_back: Whether it was dropped: it is in the history of base's recipes, but not of
      head's.
    - num_specs: Sum of `numSpecs` of these causes. If several commits explain a cause, it counts
      for each of them, so these numbers do not add up.
    - num_involved: Sum of `numInvolved` of these causes.
    """

    effect: strawberry.Private[CommitEffect]
    loaded: strawberry.Private[changes.LoadedComparison]
    of_cause: strawberry.Private[str] = ""

    @classmethod
    def of_id(
        cls, context: Context, base: str, head: str, oid: str, sign: str, of_cause: str
    ) -> "CommitEffectType | None":
        """Return the effect of a commit in a comparison, on all causes or on the one with a short
        key.
        """
        comparison = changes.loaded_of_id(context, base, head)
        if comparison is None:
            return None
        if of_cause:
            cause = cause_of_short_key(comparison, of_cause)
            effects = [] if cause is None else cause.effects()
        else:
            effects = effects_of_comparison(comparison)
        named = (one for one in effects or () if one.effect.commit.oid == oid and one.sign == sign)
        return next(named, None)

    @property
    def sign(self) -> str:
        """``-`` if the commit was dropped, else ``+``."""
        return "-" if self.effect.taken_back else "+"

    @resolver()
    def id(self) -> strawberry.ID:
        """An opaque, stable id."""
        oid = self.effect.commit.oid
        return node_id("CommitEffect", *self.loaded.key, oid, self.sign, self.of_cause)

    @resolver()
    def commit(self) -> CommitType:
        """The commit."""
        recipes = self.loaded.source.catalog.recipes.of(self.loaded.head)
        repository = "" if recipes is None else recipes.repository
        return CommitType(commit=self.effect.commit, repository=repository)

    level = many.attribute("effect.level", CommitLevel)
    is_taken_back = many.attribute("effect.taken_back", bool)

    @relay.connection_field()
    def causes(self, *, page: relay.PageArguments) -> relay.Connection["Cause"] | None:
        """The causes that it explains at this level, those that explain the most specs first."""
        return cause_connection(self.loaded, self.effect.causes, page)

    num_specs = many.attribute("effect.num_specs", int)
    num_involved = many.attribute("effect.num_involved", int)

    @resolver()
    def stack_names(self) -> list[str] | None:
        """The names of the stacks of the specs in which these causes are involved, sorted, without
        root; null if the source of head does not list stacks.
        """
        causes = attribution(self.loaded)
        if causes is None or not states_stacks(self.loaded.after.frame):
            return None
        stacks = {stack for number in self.effect.causes for stack in causes.stacks(number)}
        return sorted(stacks - {ROOT_STACK})

    @resolver()
    def comparison(self) -> LazyComparison | None:
        """The comparison; never null."""
        base, head, only = self.loaded.base, self.loaded.head, self.loaded.only
        return node_of("Comparison", base_info=base, head_info=head, only=only)  # type: ignore[no-any-return]


def attribution(comparison: changes.LoadedComparison) -> Attribution | None:
    """Return the attribution of causes to commits; None if the commits are not known.

    There are no commits for twins of one revision, or for two specs.
    """
    return None if comparison.explained is not None else comparison.recipes.attribution


def effects_of_comparison(
    comparison: changes.LoadedComparison,
    levels: Sequence[CommitLevel] | None = None,
    package: str | None = None,
) -> list[CommitEffectType] | None:
    """Return the effects of commits on the causes of a comparison; None if the commits are not
    known.
    """
    explained = attribution(comparison)
    if explained is None:
        return None
    counts = None if comparison.scope is None else comparison.causes_in_scope.values()
    effects = explained.effects(counts, levels, package)
    return [CommitEffectType(effect=effect, loaded=comparison) for effect in effects]


def effect_connection(
    shown: Sequence[CommitEffectType], arguments: relay.PageArguments
) -> relay.Connection[CommitEffectType]:
    """Return a page of the effects of commits."""
    keys = [
        f"{one.effect.commit.oid}|{one.loaded.base.ref}|{one.loaded.head.ref}|{one.sign}"
        for one in shown
    ]
    return relay.connection_of(arguments, keys, shown.__getitem__)


def _effects_of(context: Context, commit: Commit) -> list[CommitEffectType]:
    """Return the effects of a commit in comparisons of neighbours, newest first."""
    history, tables = context.changing_history(), context.catalog.recipes
    shown: list[CommitEffectType] = []
    neighbours = [both for name in history.series_names for both in history.neighbours(name)]
    for both in sorted(neighbours, key=lambda both: both.head.taken_at, reverse=True):
        if both.base is None:
            continue
        between = tables.between(both.base, both.head)
        if between is None or not any(
            other.oid == commit.oid for other in (*between.reached, *between.taken_back)
        ):
            continue
        comparison = changes.load_comparison(context, both.base, both.head)
        explained = attribution(comparison)
        if explained is not None:
            shown += [
                CommitEffectType(effect=effect, loaded=comparison)
                for effect in explained.effects()
                if effect.commit.oid == commit.oid
            ]
    return shown


# -- causes

Value = TypeVar("Value")

gql.describe_enum(
    CauseKind,
    UNKNOWN="The sources do not state enough facts; `whyUnknown` describes what is missing.",
)


class CauseField(Enum):
    """A field by which causes can be ordered.

    - NUM_SPECS: The number of specs that it explains.
    - NUM_INVOLVED: The number of specs in which it is involved.
    - PACKAGE: The name of its package.
    """

    NUM_SPECS = "num_specs"
    NUM_INVOLVED = "num_involved"
    PACKAGE = "package"


CauseOrderArgument = Annotated[
    relay.Order | None,
    relay.order_by(
        "CauseOrder",
        "causes",
        CauseField,
        ties="the number of specs that they explain, the most first",
    ),
]


def ordered_causes(
    comparison: changes.LoadedComparison, numbers: Sequence[int], order: relay.Order
) -> list[int]:
    """Return causes, which are ordered by the number of specs that they explain, in an order."""
    causes = comparison.explanation.causes

    def value(number: int) -> Any:
        if order.field is CauseField.PACKAGE:
            return causes.name_of(number).package or ""
        return getattr(comparison.causes_in_scope[number], order.field.value)

    return sorted(numbers, key=value, reverse=order.is_descending)


def _url_of_cause(
    name: CauseName, base: RevisionInfo, head: RevisionInfo, only: ComparisonFilter | None
) -> str | None:
    query = {"kind": name.kind.name, "from": name.before, "to": name.after}
    words = "causes", name.package or name.kind.name.lower()
    return changes.comparison_url(base, head, only, *words, **query)


class CauseRows(many.RowList["Cause"]):
    """Causes of a comparison, identified by their numbers."""

    def item(self, number: int) -> "Cause":
        """Return the cause of a number."""
        return Cause(rows=CauseRows(self.loaded, [number]))

    @property
    def key(self) -> tuple[str, str]:
        """The parts of ids that identify the comparison."""
        return self.loaded.key  # type: ignore[no-any-return]

    def url_of(self, name: CauseName) -> str | None:
        """Return the path of the page of a cause; None for twins, two specs and plans."""
        comparison = self.loaded
        if comparison.explained is not None:
            return None
        return _url_of_cause(name, comparison.base, comparison.head, comparison.only)

    @property
    def names(self) -> list[CauseName]:
        """The name of each cause."""
        return self.each(Causes.name_of)

    def counts(self, name: str) -> list[int]:
        """Return ``num_specs`` or ``num_involved`` of each cause: numbers of specs in scope."""
        if self.loaded.scope is None:
            return self.each(getattr(Causes, name))
        in_scope = self.loaded.causes_in_scope
        value = attrgetter(name)
        return [value(in_scope[number]) if number in in_scope else 0 for number in self.numbers]

    def each(self, value: Callable[[Causes, int], Value]) -> list[Value]:
        """Return a value for each cause; it is computed once for a cause that is listed several
        times.
        """
        all_causes = self.loaded.explanation.causes
        values = {number: value(all_causes, number) for number in {*self.numbers}}
        return [values[number] for number in self.numbers]


class StoredCauseRows(CauseRows):
    """A main cause of a package in the comparison of neighbours, as it is stored with its number of
    specs; the comparison, restricted to the package, is only loaded for what is not stored.
    """

    def __init__(
        self,
        context: Context,
        sides: tuple[RevisionInfo, RevisionInfo],
        package: str,
        cause: StoredCause,
        num_specs: int,
    ) -> None:
        self._context = context
        self._sides = *sides, ComparisonFilter(package=package)
        self._name = cause.name
        self._num_specs = num_specs

    def __len__(self) -> int:
        return 1

    @cached_property
    def loaded(self) -> changes.LoadedComparison:  # computed on access
        """The comparison."""
        return changes.load_comparison(self._context, *self._sides)

    @cached_property
    def numbers(self) -> list[int]:  # computed on access
        """The number of the cause in the comparison."""
        number = self.loaded.explanation.causes.find(self._name.key)
        if number is None:
            base, head, _ = self._sides
            reason = (
                f"the stored causes of {base.ref}..{head.ref} have {cause_title(self._name)}, the "
                "comparison has not; 'cachelog verify' gives details"
            )
            raise CatalogError(self._context.catalog.location, reason)
        return [number]

    @property
    def key(self) -> tuple[str, str]:
        """The parts of ids that identify the comparison."""
        return changes.comparison_key(*self._sides)

    def url_of(self, name: CauseName) -> str | None:
        """Return the path of the page of the cause."""
        return _url_of_cause(name, *self._sides)

    @property
    def names(self) -> list[CauseName]:
        """The name of the cause."""
        return [self._name]

    def counts(self, name: str) -> list[int]:
        """Return ``num_specs``, which is stored, or ``num_involved``."""
        return [self._num_specs] if name == "num_specs" else super().counts(name)


def stored_causes(
    context: Context,
    sides: tuple[RevisionInfo, RevisionInfo],
    package: str,
    causes: Sequence[tuple[StoredCause, int]],
) -> list["Cause"]:
    """Return the main causes of a package in a comparison of neighbours, which are stored."""
    return [
        Cause(rows=StoredCauseRows(context, sides, package, cause, num_specs))
        for cause, num_specs in causes
    ]


def _of_cause(value: Callable[[Causes, int], Any], cost: Cost | None = None) -> Any:
    """Declare a field whose value depends only on a cause, which is identified by its number."""
    return many.for_many(lambda rows: rows.each(value), cost=cost)


def _of_name(value: Callable[[CauseName], Any], cost: Cost | None = None) -> Any:
    """Declare a field whose value is computed from a cause's name."""
    return many.for_many(lambda rows: list(map(value, rows.names)), cost=cost)


def _ids(rows: CauseRows) -> list[strawberry.ID]:
    """An opaque, stable id."""
    key = rows.key
    return [node_id("Cause", *key, short_key(name.key)) for name in rows.names]


def _urls(rows: CauseRows) -> list[str | None]:
    return [rows.url_of(name) for name in rows.names]


def _package_names(rows: CauseRows) -> list[tuple[str, ...]]:
    """The names of the packages of the specs of which it is the main cause."""
    package = rows.loaded.after.frame.package
    return rows.each(lambda _, number: tuple(package.present(rows.loaded.rows_of_cause(number))))


def _paths_of_causes(rows: CauseRows) -> many.Sublists:
    comparison = rows.loaded
    paths = [
        comparison.pair_paths[number] if comparison.pair_paths else () for number in rows.numbers
    ]
    return many.Sublists.of(paths, partial(changes.PartRows, CauseStepType, comparison))


def _facts(rows: CauseRows) -> many.Sublists:
    """All facts of the package itself that differ; the first one determines the kind."""
    return many.Sublists.of(rows.each(Causes.facts_of))


def _together(rows: CauseRows) -> many.Sublists:
    others = rows.each(Causes.together_with)
    return many.Sublists.of(others, partial(CauseRows, rows.loaded))


PATHS = Cost(weight=100, work=Work.EXPLAINING)
"""Walking from a spec to its main cause."""


@gql.object_type
class Cause(Node):
    """A cause of rebuilt or replaced specs: a change of one package itself, not of its
    dependencies. Equal changes on several architectures are one cause. For twins, it is a
    difference between the first spec of a group and the others; for two specs, a difference between
    them.

    - kind: What changed.
    - package_name: The name of the package that changed; null for ARCHITECTURE and FORMAT, which
      concern all packages.
    - value_before: The value in base, for example 3.3.1, +shared or openmpi; null if there was
      none, or if it is not known. For FORMAT, the version of the format.
    - value_after: The value in head, like `valueBefore`.
    - title: A one-line title to display: openssl 3.3.1 → 3.4.0.
    - why_unknown: For UNKNOWN: the facts that the sources do not state.
    - num_together: Number of causes that are involved in exactly the same specs; `together` may
      list fewer.
    - num_specs: Number of specs of which it is the main cause. Each spec has one main cause, so
      these numbers add up to the number of rebuilt and replaced specs.
    - num_involved: Number of specs in which it is involved, including those with another main
      cause.
    """

    rows: strawberry.Private[CauseRows]

    id: strawberry.ID = many.for_many(_ids)
    url: str | None = many.for_many(_urls, URL)
    kind: CauseKind = _of_name(attrgetter("kind"))
    package_name: str | None = _of_name(attrgetter("package"))
    value_before: str | None = _of_name(attrgetter("before"))
    value_after: str | None = _of_name(attrgetter("after"))
    title: str = _of_name(cause_title)
    why_unknown: str | None = _of_cause(Causes.why_unknown)
    facts: list[changes.FieldChangeType] = many.for_many(_facts, cost=SMALL)
    together: list["Cause"] = many.for_many(
        _together,
        "Causes that are involved in exactly the same specs, so that this comparison cannot "
        f"distinguish them: those that explain the most specs, at most {MAX_TOGETHER}.",
    )
    num_together: int = _of_cause(Causes.num_together)
    num_specs: int = many.for_many(lambda rows: rows.counts("num_specs"))
    num_involved: int = many.for_many(lambda rows: rows.counts("num_involved"))
    package_names: list[str] = many.for_many(_package_names, cost=SMALL)
    path: list["CauseStepType"] = many.for_many(
        _paths_of_causes,
        "For two specs: the chain of dependencies from them to the cause, the two specs first; "
        "empty for other causes.",
        cost=SMALL,
    )

    @classmethod
    def of_id(cls, context: Context, base: str, head: str, key: str) -> "Cause | None":
        """Return the cause of a comparison whose key has a ``short_key``."""
        comparison = changes.loaded_of_id(context, base, head)
        return None if comparison is None else cause_of_short_key(comparison, key)

    @property
    def comparison(self) -> changes.LoadedComparison:
        """The comparison to which it belongs."""
        return self.rows.loaded  # type: ignore[no-any-return]

    @property
    def number(self) -> int:
        """Its number in the comparison."""
        return self.rows.numbers[0]  # type: ignore[no-any-return]

    def alone(self) -> CauseRows:
        """Return a list of only this cause."""
        return self.rows

    @resolver(SMALL)
    def package(self, info: Info) -> LazyPackage | None:
        """The package that changed; null if no revision ever had it, and where `packageName` is
        null.
        """
        from schema.histories import catalog_package

        (name,) = self.rows.names
        return None if name.package is None else catalog_package(info.context, name.package)

    @resolver(SMALL)
    def dependents_before(self, info: Info, first: relay.FirstArgument = 5) -> list[str] | None:
        """The names of the packages with specs in base that depend directly on a spec of the
        package with `valueBefore`, those with the most such specs first; empty for other kinds than
        VERSION, null if the source does not list dependencies.
        """
        return self._dependents(info, self.comparison.before, "before", first)

    @resolver(SMALL)
    def dependents_after(self, info: Info, first: relay.FirstArgument = 5) -> list[str] | None:
        """The same for specs in head and `valueAfter`."""
        return self._dependents(info, self.comparison.after, "after", first)

    def _dependents(
        self, info: Info, side: LoadedRevision, value: str, first: int
    ) -> list[str] | None:
        relay.check_size("first", first)
        info.context.require_time()
        (name,) = self.rows.names
        frame, graph = side.frame, side.dependencies()
        if not graph.is_known:
            return None
        rows = frame.rows_of(name.package) if name.package is not None else None
        if rows is None or name.kind is not CauseKind.VERSION:
            return []
        having = frame.version.among([getattr(name, value)])[frame.version.codes[rows]]
        asking = graph.rows_needing(rows.start + np.flatnonzero(having))
        counted = sorted(
            frame.package.counts(asking.astype(np.int32)), key=itemgetter(1), reverse=True
        )
        return [package for package, _ in counted[:first]]

    @relay.connection_field()
    def specs(
        self, involved: bool = False, *, page: relay.PageArguments
    ) -> relay.Connection["SpecChangeType"] | None:
        """The added specs of which it is the main cause, ordered by package and hash.

        - involved: Whether to include specs with another main cause in which it is involved.
        """
        table = self.comparison.explanation.specs_of(self.number, involved=involved)
        if self.comparison.scope is not None:
            table = table.take(self.comparison.scope.in_head[table.after])
        return spec_change_connection(self.comparison, table, page)

    @relay.connection_field(EXPLAINED)
    def commits(self, *, page: relay.PageArguments) -> relay.Connection[CommitEffectType] | None:
        """The commits that explain it, the closest level first, newest first within a level; null
        if either revision's recipe commit is not known.
        """
        effects = self.effects()
        return None if effects is None else effect_connection(effects, page)

    def effects(self) -> list[CommitEffectType] | None:
        """Return the effects of commits on this cause; None if the commits are not known."""
        explained = attribution(self.comparison)
        if explained is None:
            return None
        causes, number = self.comparison.explanation.causes, self.number
        counts = causes.num_specs(number), causes.num_involved(number)
        if self.comparison.scope is not None:
            count = self.comparison.causes_in_scope[number]
            counts = count.num_specs, count.num_involved
        return [
            CommitEffectType(
                effect=CommitEffect(one.commit, one.level, one.taken_back, [number], *counts),
                loaded=self.comparison,
                of_cause=short_key(causes.name_of(number).key),
            )
            for one in explained.of_cause(number)
        ]


def cause_connection(
    comparison: changes.LoadedComparison, numbers: Sequence[int], arguments: relay.PageArguments
) -> relay.Connection[Cause]:
    """Return a page of some causes of a comparison."""
    causes = comparison.explanation.causes

    def find(cursor: str) -> int | None:
        number = causes.find(cursor)
        return numbers.index(number) if number is not None and number in numbers else None

    digests = comparison.base.digest, comparison.head.digest
    part = relay.window_at(arguments.within(*digests), len(numbers), find)
    shown = list(numbers[part.start : part.stop])
    keys = (causes.name_of(number).key for number in shown)
    cursors = [relay.cursor_of(*digests, key=key) for key in keys]
    return relay.Connection(page=relay.ListPage([part], CauseRows(comparison, shown), cursors))


def cause_of_key(comparison: changes.LoadedComparison, key: str) -> Cause | None:
    """Return the cause with a key; None if the comparison, or its scope, has none."""
    number = comparison.explanation.causes.find(key)
    if number is None:
        return None
    if comparison.scope is not None and number not in comparison.causes_in_scope:
        return None
    return Cause(rows=CauseRows(comparison, [number]))


def cause_of_short_key(comparison: changes.LoadedComparison, short: str) -> Cause | None:
    """Return the cause whose key has a ``short_key``; None if the comparison has none."""
    causes = comparison.explanation.causes
    keys = (causes.name_of(number).key for number in range(len(causes)))
    key = next((key for key in keys if short_key(key) == short), None)
    return None if key is None else cause_of_key(comparison, key)


def _steps_before(rows: changes.PartRows[Any]) -> many.NullableObjects:
    """The spec in base; null if it is not in the cache."""
    return _specs_at(rows.comparison.before, [step.base_node for step in rows.records])


def _steps_after(rows: changes.PartRows[Any]) -> many.NullableObjects:
    """The spec in head; null if it is not in the cache."""
    return _specs_at(rows.comparison.after, [step.head_node for step in rows.records])


def _specs_at(loaded: LoadedRevision, nodes: Sequence[int | None]) -> many.NullableObjects:
    """Return the specs of nodes; null for those outside the revision."""
    size = len(loaded.frame)
    rows = [-1 if node is None or node >= size else node for node in nodes]
    return many.NullableObjects.at(np.array(rows, np.int32), partial(SpecRows, loaded))


@gql.object_type
class CauseStepType(many.ListedRecord):
    """A step of the dependency chain from a spec to its main cause.

    - name: The package's name.
    """

    name: str = many.of_record("name")
    before: SpecType | None = many.for_many(_steps_before)
    after: SpecType | None = many.for_many(_steps_after)


COUNTS = Cost(weight=5_000, work=Work.EXPLAINING)
"""Counting all causes by kind, or all changed hashes by reason."""


@gql.object_type
class CauseKindCount:
    """The number of causes of one kind, and of the specs that they explain.

    - kind: The kind.
    - num_causes: Number of causes of this kind.
    - num_specs: Number of specs with a main cause of this kind. Each spec has one main cause, so
      these numbers add up to the number of rebuilt and replaced specs.
    """

    kind: CauseKind
    num_causes: int
    num_specs: int


# -- changed hashes

gql.describe_enum(SpecChangeKind)

SpecChangeOrderArgument = Annotated[
    relay.Order | None,
    relay.order_by("SpecChangeOrder", "changed hashes", SpecChangeField, ties="package and hash"),
]


def _specs_before(rows: changes.PartRows[Any]) -> many.NullableObjects:
    """The spec in base; null if it was added."""
    return many.NullableObjects.at(rows.table.before, partial(SpecRows, rows.comparison.before))


def _specs_after(rows: changes.PartRows[Any]) -> many.NullableObjects:
    """The spec in head; null if it was removed."""
    return many.NullableObjects.at(rows.table.after, partial(SpecRows, rows.comparison.after))


def _fields(rows: changes.PartRows[Any]) -> many.Sublists:
    """The facts that differ: of a changed hash between base and head, or of an added or removed
    spec from its counterpart.
    """
    counterparts = rows.comparison.explanation.counterpart_rows(rows.table)
    return many.Sublists.of(rows.table.fields(counterparts))


def _reasons(rows: changes.PartRows[Any]) -> list[SpecChangeReason]:
    """Why it was added, removed or changed."""
    comparison = rows.comparison
    codes = comparison.explanation.reasons(rows.table, comparison.returned)
    return [REASONS[code] for code in codes.tolist()]


def _counterparts(rows: changes.PartRows[Any]) -> many.NullableObjects:
    """The spec that it replaced, or that replaced it; null if there is none."""
    comparison, table = rows.comparison, rows.table
    partners = comparison.explanation.counterpart_rows(table)
    has_one, is_added = partners >= 0, table.before < 0
    choices = np.where(has_one, np.where(is_added, 0, 1), -1)
    return many.NullableObjects(
        [
            SpecRows(comparison.before, partners[has_one & is_added]),
            SpecRows(comparison.after, partners[has_one & ~is_added]),
        ],
        choices.tolist(),
    )


def _main_causes(rows: changes.PartRows[Any]) -> many.NullableObjects:
    """The main cause of the pair of this spec and its counterpart; null without a counterpart."""
    numbers = rows.comparison.explanation.main_causes(rows.table)
    return many.NullableObjects.at(numbers, lambda at: CauseRows(rows.comparison, at.tolist()))


def _involved_causes(rows: changes.PartRows[Any]) -> many.Sublists:
    """All causes that are involved in it, the main cause first."""
    involved = rows.comparison.explanation.involved(rows.table)
    counts = np.diff(involved.offsets).tolist()
    return many.Sublists(CauseRows(rows.comparison, involved.numbers.tolist()), counts)


def _paths(rows: changes.PartRows[Any]) -> many.Sublists:
    """The chain of dependencies from the spec to its main cause. It consists only of the spec if
    the spec itself changed, and is empty without a counterpart.
    """
    paths = rows.comparison.explanation.paths(rows.table)
    return many.Sublists.of(paths, partial(changes.PartRows, CauseStepType, rows.comparison))


REASON = Cost(work=Work.EXPLAINING, of_state=True)
"""Which hashes returned is computed from the newest contents only, for a long series whose changes
are not all stored.
"""


@gql.object_type
class SpecChangeType(many.ListedRecord, Node):
    """The change of a hash, with its reason and causes.

    - kind: How it changed.
    - hash: The DAG hash.
    - name: The package's name.
    """

    of_id = changes.change_of_id(attrgetter("specs"))
    id: strawberry.ID = changes.id_of_record("SpecChange", "hash")
    kind: SpecChangeKind = many.of_record("kind")
    hash: str = many.of_record("hash")
    name: str = many.of_record("name")
    before: SpecType | None = many.for_many(_specs_before)
    after: SpecType | None = many.for_many(_specs_after)
    fields: list[changes.FieldChangeType] = many.for_many(_fields, cost=EXPLAINED)
    reason: SpecChangeReason = many.for_many(_reasons, cost=REASON)
    counterpart: SpecType | None = many.for_many(_counterparts, cost=EXPLAINED)
    main_cause: Cause | None = many.for_many(_main_causes, cost=EXPLAINED)
    involved_causes: list[Cause] = many.for_many(_involved_causes, cost=EXPLAINED)
    path: list[CauseStepType] = many.for_many(_paths, cost=PATHS)


spec_change_connection = partial(changes.change_connection, SpecChangeType, key=attrgetter("hash"))
"""Returns a page of a table of changed hashes, by default ordered by package and hash."""


@gql.object_type
class ReasonCount:
    """The number of specs that were added, removed or changed for one reason.

    - reason: The reason.
    - num_specs: Number of specs.
    """

    reason: SpecChangeReason
    num_specs: int
