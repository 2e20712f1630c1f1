"""Explanations: how the hashes of two revisions differ, the causes, and the commits that explain
them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import msgspec
import numpy as np
import strawberry

from schema.comparisons import changes
from schema.context import Context, Info, LoadedRevision
from schema.fields import gql, many, relay, units
from schema.fields.cost import ArgumentCost, Cost, NumberArgument, field, resolver, texts
from schema.node import Node, id_field, node_id, node_of
from schema.revisions.spec import SpecRows, SpecType
from snapshots.changes.causes import MAX_TOGETHER, Causes
from snapshots.changes.diff import SpecChangeField, SpecChangeKind
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.vocabulary import cause_title
from snapshots.models import CauseKind
from snapshots.recipes.commits import SWEEPING, Commit
from snapshots.recipes.effects import MAX_DEPENDENTS, Attribution, CommitEffect, CommitLevel
from snapshots.spack.names import ROOT_STACK

if TYPE_CHECKING:
    from schema.comparisons.comparison import ComparisonType

LazyComparison = Annotated["ComparisonType", strawberry.lazy("schema.comparisons.comparison")]

# -- commits of the recipes

gql.describe_enum(
    CommitLevel,
    DEPENDENT="It changed the recipe of a package that depends directly on this one, and may "
    f"have requested a different one; only the newest {MAX_DEPENDENTS} such commits.",
)

COMMITS = Cost(
    weight=5_000,
    each=50,
    once=units.EXPLAINING + 60_000,
    arguments={"levels": ArgumentCost(each=50), "package": ArgumentCost(weight=100)},
)
"""A page of the commits of a comparison: looking up and counting those between two revisions."""

CAUSE_COMMITS = Cost(
    weight=100, items=NumberArgument("first", default=10), each=20, once=units.EXPLAINING + 60_000
)
"""Commits of one cause."""

ONE_COMMIT = Cost(weight=60_000)
"""A commit by a prefix of its hash: searching all commits of the catalog."""

EFFECTS = Cost(weight=200_000, each=50, once=2 * units.EXPLAINING)
"""The comparisons in which a commit explains causes: explaining one of each series."""


@gql.object_type
class PullRequest:
    """A pull request, or the equivalent of the hosting service."""

    number: int = field("Its number.")
    url: str | None = field("Where it can be viewed, if known.")


@gql.object_type
class CommitType(Node):
    """A commit of the recipe repository.

    - oid: The full hash.
    - committed_at: When it was committed.
    - subject: The first line of its message, with invisible characters escaped.
    - packages: The names of the packages whose recipes it changed, sorted.
    - stacks: The names of the stacks that it changed, sorted.
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

    oid = many.attribute("commit.oid", str)
    committed_at: gql.DateTime = many.attribute("commit.committed_at", gql.DateTime)
    subject = many.attribute("commit.subject", str, texts(300))

    @resolver(texts(200))
    def url(self, info: Info) -> str | None:
        """The URL of its web page, if known."""
        return info.context.library.links(self.repository).commit(self.commit.oid)

    @resolver()
    def pull_request(self, info: Info) -> PullRequest | None:
        """The pull request whose number ends the subject; null if there is none."""
        number = self.commit.pull_request
        if number is None:
            return None
        url = info.context.library.links(self.repository).pull_request(number)
        return PullRequest(number=number, url=url)

    packages = many.attribute("commit.packages", list[str], Cost(weight=20, num_bytes=2_000))
    stacks = many.attribute("commit.stacks", list[str], texts(500))

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
    def sweeping(self) -> bool:
        return self.commit.is_sweeping

    @relay.connection_field(EFFECTS)
    def effects(
        self, info: Info, *, page: relay.PageArguments
    ) -> relay.Connection["CommitEffectType"]:
        """Its effects: the comparisons of adjacent revisions whose causes it explains, newest
        first.
        """
        return effect_connection(_effects_of(info.context, self.commit), page)


@gql.object_type
class CommitEffectType:
    """The effect of a commit in one comparison.

    - level: The level at which it explains causes; the closest, if there are several.
    - taken_back: Whether it was dropped: it is in the history of base's recipes, but not of
      head's.
    - num_specs: Sum of `numSpecs` of these causes. If several commits explain a cause, it counts
      for each of them, so these numbers do not add up.
    - num_involved: Sum of `numInvolved` of these causes.
    """

    effect: strawberry.Private[CommitEffect]
    loaded: strawberry.Private[changes.LoadedComparison]

    @resolver()
    def commit(self) -> CommitType:
        """The commit."""
        recipes = self.loaded.source.catalog.recipes.of(self.loaded.head)
        repository = "" if recipes is None else recipes.repository
        return CommitType(commit=self.effect.commit, repository=repository)

    level = many.attribute("effect.level", CommitLevel)
    taken_back = many.attribute("effect.taken_back", bool)

    @resolver(Cost(weight=20, items=20))
    def causes(self) -> list["Cause"]:
        """The causes that it explains at this level, those that explain the most specs first."""
        causes = self.effect.causes
        return [Cause(comparison=self.loaded, number=number) for number in causes]

    num_specs = many.attribute("effect.num_specs", int)
    num_involved = many.attribute("effect.num_involved", int)

    @resolver(Cost(weight=50, num_bytes=500))
    def stacks(self) -> list[str]:
        """The names of the stacks of the specs in which these causes are involved, sorted, without
        root.
        """
        causes = attribution(self.loaded)
        if causes is None:
            return []
        stacks = {stack for number in self.effect.causes for stack in causes.stacks(number)}
        return sorted(stacks - {ROOT_STACK})

    @resolver()
    def comparison(self) -> LazyComparison:
        """The comparison."""
        base, head, only = self.loaded.base, self.loaded.head, self.loaded.only
        return node_of("Comparison", base_info=base, head_info=head, only=only)  # type: ignore[no-any-return]


def attribution(comparison: changes.LoadedComparison) -> Attribution | None:
    """Return the attribution of causes to commits; None if the commits are not known.

    There are no commits for twins of one revision, or for two specs.
    """
    return None if comparison.explained is not None else comparison.recipes.attribution


def effect_connection(
    shown: Sequence[CommitEffectType], arguments: relay.PageArguments
) -> relay.Connection[CommitEffectType]:
    """Return a page of the effects of commits."""
    keys = [
        f"{one.effect.commit.oid}|{one.loaded.base.ref}|{one.loaded.head.ref}|"
        f"{'-' if one.effect.taken_back else '+'}"
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

PACKAGES = Cost(weight=100, num_bytes=10_000)
"""The names of the packages that a cause reaches; many for a cause deep in the graph."""

FACTS = msgspec.structs.replace(changes.FIELDS, weight=150)
"""The differences of a node, read on both sides, dependency by dependency."""

TOGETHER = Cost(weight=5, items=MAX_TOGETHER)
"""Other causes of exactly the same specs."""


class CauseRows(many.RowList["Cause"]):
    """Causes of a comparison, identified by their numbers."""

    def item(self, number: int) -> "Cause":
        """Return the cause of a number."""
        return Cause(comparison=self.loaded, number=number)

    def each(self, value: Callable[[Causes, int], Value]) -> list[Value]:
        """Return a value for each cause; it is computed once for a cause that is listed several
        times.
        """
        all_causes = self.loaded.explanation.causes
        values = {number: value(all_causes, number) for number in {*self.numbers}}
        return [values[number] for number in self.numbers]


def _of_cause(value: Callable[[Causes, int], Any], cost: Cost | None = None) -> Any:
    """Declare a field whose value depends only on a cause, which is identified by its number."""
    return many.for_many(lambda rows: rows.each(value), cost=cost)


def _of_name(fact: str) -> Any:
    """Declare a field that is a part of a cause's name."""
    return _of_cause(lambda all_, number: getattr(all_.name_of(number), fact))


def _ids(rows: CauseRows) -> list[strawberry.ID]:
    """An opaque, stable id."""
    key = rows.loaded.key
    return rows.each(lambda all_, number: node_id("Cause", *key, all_.name_of(number).key))


def _counted(name: str) -> Any:
    """Declare a field that counts the specs of a cause that are in scope."""
    value = attrgetter(name)

    def counts(rows: CauseRows) -> list[int]:
        if rows.loaded.scope is None:
            return rows.each(getattr(Causes, name))
        in_scope = rows.loaded.causes_in_scope
        return [value(in_scope[number]) if number in in_scope else 0 for number in rows.numbers]

    return many.for_many(counts)


def _packages(rows: CauseRows) -> list[tuple[str, ...]]:
    """The names of the packages of the specs of which it is the main cause."""
    package = rows.loaded.after.frame.package
    return rows.each(lambda _, number: tuple(package.present(rows.loaded.rows_of_cause(number))))


def _facts(rows: CauseRows) -> many.Sublists:
    """All facts of the package itself that differ; the first one determines the kind."""
    return many.Sublists.of(rows.each(Causes.facts_of))


def _together(rows: CauseRows) -> many.Sublists:
    others = rows.each(Causes.together_with)
    return many.Sublists.of(others, partial(CauseRows, rows.loaded))


CAUSED = Cost(weight=500, each=10)
"""A page of the specs of a cause."""


@gql.object_type
class Cause(Node):
    """A cause of rebuilt or replaced specs: a change of one package itself, not of its
    dependencies. Equal changes on several architectures are one cause. For twins, it is a
    difference between the first spec of a group and the others; for two specs, a difference between
    them.

    - kind: What changed.
    - package: The package that changed; null for ARCHITECTURE and FORMAT, which concern all
      packages.
    - before: The value in base, for example 3.3.1, +shared or openmpi; null if there was none, or
      if it is not known. For FORMAT, the version of the format.
    - after: The value in head, like `before`.
    - title: A one-line title to display: openssl 3.3.1 → 3.4.0.
    - why_unknown: For UNKNOWN: the facts that the sources do not state.
    - num_together: Number of causes that are involved in exactly the same specs; `together` may
      list fewer.
    - num_specs: Number of specs of which it is the main cause. Each spec has one main cause, so
      these numbers add up to the number of rebuilt and replaced specs.
    - num_involved: Number of specs in which it is involved, including those with another main
      cause.
    """

    comparison: strawberry.Private[changes.LoadedComparison]
    number: strawberry.Private[int]

    id: strawberry.ID = many.for_many(_ids, cost=Cost(weight=1.5))
    kind: CauseKind = _of_name("kind")
    package: str | None = _of_name("package")
    before: str | None = _of_name("before")
    after: str | None = _of_name("after")
    title: str = _of_cause(
        lambda all_, number: cause_title(all_.name_of(number)), cost=Cost(num_bytes=80)
    )
    why_unknown: str | None = _of_cause(Causes.why_unknown, cost=Cost(num_bytes=150))
    facts: list[changes.FieldChangeType] = many.for_many(_facts, cost=FACTS)
    together: list["Cause"] = many.for_many(
        _together,
        "Causes that are involved in exactly the same specs, so that this comparison cannot "
        f"distinguish them: those that explain the most specs, at most {MAX_TOGETHER}.",
        cost=TOGETHER,
    )
    num_together: int = _of_cause(Causes.num_together)
    num_specs: int = _counted("num_specs")
    num_involved: int = _counted("num_involved")
    packages: list[str] = many.for_many(_packages, cost=PACKAGES)

    @classmethod
    def of_id(cls, context: Context, base: str, head: str, key: str) -> "Cause | None":
        """Return the cause of a comparison and a key, which may contain the separator of ids."""
        comparison = changes.loaded_of_id(context, base, head)
        return None if comparison is None else cause_of_key(comparison, key)

    def alone(self) -> CauseRows:
        """Return a list of only this cause."""
        return CauseRows(self.comparison, [self.number])

    @relay.connection_field(CAUSED)
    def specs(
        self, involved: bool = False, *, page: relay.PageArguments
    ) -> relay.Connection["SpecChangeType"]:
        """The added specs of which it is the main cause, ordered by package and hash.

        - involved: Whether to include specs with another main cause in which it is involved.
        """
        table = self.comparison.explanation.specs_of(self.number, involved=involved)
        if self.comparison.scope is not None:
            table = table.take(self.comparison.scope.in_head[table.after])
        return spec_change_connection(self.comparison, table, page)

    @resolver(CAUSE_COMMITS)
    def commits(self, first: relay.FirstArgument = 10) -> list[CommitEffectType] | None:
        """The commits that explain it, the closest level first, newest first within a level; null
        if either revision's recipe commit is not known.
        """
        relay.check_size("first", first)
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
            )
            for one in explained.of_cause(number)[:first]
        ]


def cause_of_key(comparison: changes.LoadedComparison, key: str) -> Cause | None:
    """Return the cause with a key; None if the comparison, or its scope, has none."""
    number = comparison.explanation.causes.find(key)
    if number is None:
        return None
    if comparison.scope is not None and number not in comparison.causes_in_scope:
        return None
    return Cause(comparison=comparison, number=number)


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


KIND_COUNTS = Cost(weight=5_000, items=len(CauseKind), once=units.EXPLAINING)
"""Counting all causes by kind."""


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


def _ambiguous(rows: changes.PartRows[Any]) -> list[bool]:
    """Whether its counterpart is ambiguous: the sources state no facts that distinguish it from
    another candidate.
    """
    return [tie is not None for tie in rows.comparison.explanation.ties(rows.table)]


def _why_ambiguous(rows: changes.PartRows[Any]) -> list[str | None]:
    """Why its counterpart is ambiguous, if it is: 1 of 2 was rebuilt; it is unknown which."""
    return rows.comparison.explanation.why_ambiguous(rows.table)


def _main_causes(rows: changes.PartRows[Any]) -> many.NullableObjects:
    """The main cause of the pair of this spec and its counterpart; null without a counterpart."""
    numbers = rows.comparison.explanation.main_causes(rows.table)
    return many.NullableObjects.at(numbers, lambda at: CauseRows(rows.comparison, at.tolist()))


def _causes(rows: changes.PartRows[Any]) -> many.Sublists:
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


EXPLAINED = Cost(weight=1, once=units.EXPLAINING)
"""Facts of each hash in an explanation."""

REASON = msgspec.structs.replace(EXPLAINED, of_state=True)
"""Which hashes returned is computed from the newest contents only, for a long series whose changes
are not all stored.
"""

INVOLVED = Cost(weight=20, items=10, once=units.EXPLAINING)
"""The causes that are involved in a spec."""

PATH = Cost(weight=200, items=6, once=units.EXPLAINING)
"""Walking from a spec to its main cause."""


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
    fields: list[changes.FieldChangeType] = many.for_many(
        _fields, cost=msgspec.structs.replace(changes.FIELDS, weight=8, once=units.EXPLAINING)
    )
    reason: SpecChangeReason = many.for_many(_reasons, cost=REASON)
    counterpart: SpecType | None = many.for_many(_counterparts, cost=EXPLAINED)
    ambiguous: bool = many.for_many(_ambiguous, cost=EXPLAINED)
    why_ambiguous: str | None = many.for_many(_why_ambiguous, cost=EXPLAINED)
    cause: Cause | None = many.for_many(_main_causes, cost=Cost(weight=5, once=units.EXPLAINING))
    causes: list[Cause] = many.for_many(_causes, cost=INVOLVED)
    path: list[CauseStepType] = many.for_many(_paths, cost=PATH)


spec_change_connection = partial(
    changes.change_connection, SpecChangeType, cursor=attrgetter("hash")
)
"""Returns a page of a table of changed hashes, by default ordered by package and hash."""

REASON_COUNTS = Cost(weight=5_000, items=len(REASONS), once=units.EXPLAINING)
"""Counting the reasons of all changed hashes."""


@gql.object_type
class ReasonCount:
    """The number of specs that were added, removed or changed for one reason.

    - reason: The reason.
    - num_specs: Number of specs.
    """

    reason: SpecChangeReason
    num_specs: int
