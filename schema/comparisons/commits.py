"""The commits of the recipes: which explain causes, and what each did in a comparison."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Self

import strawberry

from schema.comparisons.changes import FieldChangeType, LoadedComparison, load_comparison
from schema.context import Context, Info
from schema.fields.connections import Connection, PageArguments, connection_field, page_of
from schema.fields.cost import EXPLAINING, ArgumentCost, Cost, NumberOf, field, resolver, texts
from schema.fields.many import attribute
from schema.fields.scalars import DateTime, describe_enum, object_type
from schema.node import Node, id_field, node_of
from schema.revisions.costs import cost_fields
from snapshots.changes.costs import BuildCost, sum_of
from snapshots.recipes.commits import SWEEPING, Commit
from snapshots.recipes.effects import MOST_DEPENDENTS, Attribution, CommitEffect, CommitLevel
from snapshots.spack.names import ROOT_STACK

if TYPE_CHECKING:
    from schema.comparisons.cause import Cause
    from schema.comparisons.comparison import ComparisonType

LazyCause = Annotated["Cause", strawberry.lazy("schema.comparisons.cause")]
LazyComparison = Annotated["ComparisonType", strawberry.lazy("schema.comparisons.comparison")]

describe_enum(
    CommitLevel,
    DEPENDENT="It touched the recipe of a package that depends directly on this "
    f"one, which may have asked for another; the newest {MOST_DEPENDENTS}.",
)

COMMITS = Cost(
    weight=5_000,
    each=50,
    once=EXPLAINING + 60_000,
    arguments={"levels": ArgumentCost(each=50), "package": ArgumentCost(weight=100)},
)
"""A page of the commits of a comparison: those between two revisions are looked up and counted."""

CAUSE_COMMITS = Cost(
    weight=100, items=NumberOf("first", default=10), each=20, once=EXPLAINING + 60_000
)
"""Commits of one cause."""

ONE_COMMIT = Cost(weight=60_000)
"""A commit, by how its hash begins: those of the whole catalog are looked through."""

EFFECTS = Cost(weight=200_000, each=50, once=2 * EXPLAINING)
"""Comparisons in which a commit explains something: that of each series is explained."""


@object_type
class PullRequest:
    """A pull request, or what a forge calls so."""

    number: int = field("Its number.")
    url: str | None = field("Where it is looked at, if known.")


@object_type
class CommitType(Node):
    """A commit of the repository that recipes come from.

    - oid: The whole hash.
    - committed_at: When it was committed.
    - subject: The first line of its message, with invisible characters escaped.
    - packages: Packages whose recipes it touched, by name.
    - stacks: Stacks that it touched, by name.
    """

    commit: strawberry.Private[Commit]
    repository: strawberry.Private[str]

    @classmethod
    def of_id(cls, context: Context, oid: str) -> Self | None:
        """Return the commit of a whole hash."""
        return cls.named(context, oid)

    @classmethod
    def named(cls, context: Context, prefix: str) -> Self | None:
        """Return the only commit whose hash begins so; None where there is none, or several."""
        context.changing_history()
        context.require_time()
        matches = context.catalog.recipes.commits(prefix)
        if len(matches) != 1:
            return None
        ((repository, _), commit) = matches[0]
        return cls(commit=commit, repository=repository)

    id = id_field("Commit", "commit.oid")

    oid = attribute("commit.oid", str)
    committed_at: DateTime = attribute("commit.committed_at", DateTime)
    subject = attribute("commit.subject", str, texts(300))

    @resolver(texts(200))
    def url(self, info: Info) -> str | None:
        """Where it is looked at, if known."""
        return info.context.library.links(self.repository).commit(self.commit.oid)

    @resolver()
    def pull_request(self, info: Info) -> PullRequest | None:
        """The pull request that the subject ends with."""
        number = self.commit.pull_request
        if number is None:
            return None
        url = info.context.library.links(self.repository).pull_request(number)
        return PullRequest(number=number, url=url)

    packages = attribute("commit.packages", list[str], Cost(weight=20, num_bytes=2_000))
    stacks = attribute("commit.stacks", list[str], texts(500))

    @resolver()
    def spack(self) -> FieldChangeType | None:
        """Where it changed which Spack is used: the commits of Spack, as far as known."""
        change = self.commit.spack
        if change is None:
            return None
        return FieldChangeType(path="spack", before=change.before, after=change.after)  # type: ignore[arg-type]

    @resolver(description=f"Whether it touched more than {SWEEPING} packages.")
    def sweeping(self) -> bool:
        return self.commit.is_sweeping

    @connection_field(EFFECTS)
    def effects(self, info: Info, *, page: PageArguments) -> Connection["CommitEffectType"]:
        """Where its effects were seen: comparisons of neighbours whose causes it explains, newest
        first.
        """
        return effect_connection(_effects_of(info.context, self.commit), page)


@object_type
class CommitEffectType:
    """What a commit did in one comparison.

    - level: The level at which it explains; the nearest of several.
    - taken_back: Whether it is in base's history and not in head's.
    - num_specs: The sum of numSpecs of these causes. Commits that explain one cause together have
      it each, so these numbers do not add up.
    - num_involved: The sum of numInvolved of these causes.
    """

    effect: strawberry.Private[CommitEffect]
    loaded: strawberry.Private[LoadedComparison]

    @resolver()
    def commit(self) -> CommitType:
        """The commit."""
        recipes = self.loaded.head.context.catalog.recipes.of(self.loaded.head.info)
        repository = "" if recipes is None else recipes.repository
        return CommitType(commit=self.effect.commit, repository=repository)

    level = attribute("effect.level", CommitLevel)
    taken_back = attribute("effect.taken_back", bool)

    @resolver(Cost(weight=20, items=20))
    def causes(self) -> list[LazyCause]:
        """The causes that it explains at this level, what explains most first."""
        causes = self.effect.causes
        return [node_of("Cause", comparison=self.loaded, number=number) for number in causes]

    num_specs = attribute("effect.num_specs", int)
    seconds, cost, cost_basis = cost_fields(
        lambda self, _: cause_cost(self.loaded, self.effect.causes)
    )

    num_involved = attribute("effect.num_involved", int)

    @resolver(Cost(weight=50, num_bytes=500))
    def stacks(self) -> list[str]:
        """The stacks of the specs that these causes are involved in, by name; root is left out."""
        causes = attribution(self.loaded)
        if causes is None:
            return []
        stacks = {stack for number in self.effect.causes for stack in causes.stacks(number)}
        return sorted(stacks - {ROOT_STACK})

    @resolver()
    def comparison(self) -> LazyComparison:
        """The comparison."""
        base, head, scope = self.loaded.base.info, self.loaded.head.info, self.loaded.scope
        only = None if scope is None else scope.only
        comparison: ComparisonType = node_of(
            "Comparison", base_info=base, head_info=head, only=only
        )
        return comparison


def cause_cost(comparison: LoadedComparison, numbers: Sequence[int]) -> BuildCost | None:
    """Return what building the specs takes that have some causes as their main one."""
    costs = comparison.head.context.costs(comparison.head.info)
    if costs is None:
        return None
    return sum_of(costs.total(comparison.rows_of_cause(number)) for number in numbers)


def attribution(comparison: LoadedComparison) -> Attribution | None:
    """Return which commits explain which causes; None where commits are not known.

    None explains what tells the twins of one revision apart, or any two specs.
    """
    if comparison.explained is not None:
        return None
    context = comparison.head.context
    return context.recipes_change(comparison.base.info, comparison.head.info).attribution


def commits_of_cause(
    comparison: LoadedComparison, number: int, first: int
) -> list[CommitEffectType] | None:
    """Return the commits that explain a cause, with what each did; None if they are not known."""
    found = attribution(comparison)
    if found is None:
        return None
    causes = comparison.explanation().causes
    numbers = causes.num_specs(number), causes.num_involved(number)
    if comparison.scope is not None:
        count = comparison.causes_in_scope[number]
        numbers = count.num_specs, count.num_involved
    return [
        CommitEffectType(
            effect=CommitEffect(commit.commit, commit.level, commit.taken_back, [number], *numbers),
            loaded=comparison,
        )
        for commit in found.of_cause(number)[:first]
    ]


def effect_connection(
    shown: Sequence[CommitEffectType], arguments: PageArguments
) -> Connection[CommitEffectType]:
    """Return a page of what commits did."""
    keys = [
        f"{one.effect.commit.oid}|{one.loaded.base.info.key}|{one.loaded.head.info.key}|"
        f"{'-' if one.effect.taken_back else '+'}"
        for one in shown
    ]
    return Connection(page=page_of(arguments, keys, lambda place: shown[place]))


def _effects_of(context: Context, commit: Commit) -> list[CommitEffectType]:
    """Return what a commit did in comparisons of neighbours, newest first."""
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
        comparison = load_comparison(context, both.base, both.head)
        found = attribution(comparison)
        if found is not None:
            shown += [
                CommitEffectType(effect=effect, loaded=comparison)
                for effect in found.effects()
                if effect.commit.oid == commit.oid
            ]
    return shown
