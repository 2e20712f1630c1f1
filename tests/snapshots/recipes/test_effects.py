"""The commits that explain causes: in small examples, and in the real week for three stacks."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from snapshots.changes.causes import Causes
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.sides import Side
from snapshots.changes.vocabulary import cause_title
from snapshots.models import CauseKind, Dependency, Spec
from snapshots.recipes.commits import Between, Commit, CommitGraph, SpackChange
from snapshots.recipes.effects import Attribution, CommitLevel
from snapshots.recipes.repository import open_recipes
from snapshots.sources.settings import ReadSettings
from tests.model.real import STACKS, records
from tests.snapshots.changes.graphs import side_of
from tests.snapshots.factories import a_spec, hash_of
from tests.snapshots.recipes.repositories import the_week

SPACK = SpackChange(before="a" * 40, after="b" * 40)


def state(moment: str, variants: str, gcc: str) -> tuple[list[Spec], list[Spec]]:
    """Return a spec of a stack, and the compiler outside of the cache that built it."""
    compiler = a_spec(f"gcc {moment}", name="gcc", version=gcc, compiler=None, dependencies=())
    edge = Dependency(name="gcc", hash=hash_of(f"gcc {moment}"), types=("build",), virtuals=("c",))
    raja = a_spec(moment, name="raja", variants=(variants,), dependencies=(edge,))
    return [raja], [compiler]


def attribution(*commits: Commit) -> tuple[Attribution, Causes]:
    """Return two causes, another variant of raja and another version of gcc, and their commits."""
    base, head = (
        side_of(*state("base", "~mpi", "13.2.0")),
        side_of(*state("head", "+mpi", "14.1.0")),
    )
    explanation = explained_sides(base, head)
    return Attribution(explanation, Between(commits)), explanation.causes


def explained_sides(base: Side, head: Side) -> Explanation:
    """Return the explanation of the changes between two sides."""
    return explain(Comparison(base.frame, head.frame), base.graph, head.graph)


def commit(**touched: object) -> Commit:
    """Return a commit that touched something."""
    moment = datetime(2026, 6, 21, tzinfo=UTC)
    return Commit("c" * 40, (), moment, "A change (#7)", **touched)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("touched", "levels"),
    [
        ({"packages": ("raja",)}, {"raja": CommitLevel.OWN_RECIPE}),
        ({"stacks": ("e4s",)}, {"raja": CommitLevel.STACK}),
        ({"spack": SPACK}, {"raja": CommitLevel.SPACK}),
        ({"stacks": ("other",)}, {}),
        ({"packages": ("hdf5",)}, {}),
    ],
)
def test_level_of_a_commit(touched: dict[str, object], levels: dict[str, CommitLevel]) -> None:
    """It depends on what the commit touched; no commit changed an external gcc."""
    explained, causes = attribution(commit(**touched))
    assert {
        causes.name_of(number).package: explaining.level
        for number in range(len(causes))
        for explaining in explained.of_cause(number)
    } == levels


def test_causes_outside_the_cache() -> None:
    """The compiler is outside, a package of the cache is not."""
    explained, causes = attribution()
    names = {number: causes.name_of(number) for number in range(len(causes))}
    external = {name.package: explained.is_external(number) for number, name in names.items()}
    assert external == {"raja": False, "gcc": True}
    assert {name.kind for name in names.values()} >= {CauseKind.VARIANTS}


@pytest.mark.parametrize("is_own", [False, True])
def test_compiler_in_the_cache(is_own: bool) -> None:
    """Whoever depends on a compiler asked for no other one: only its own recipe explains it.

    Where a version of it is only outside the cache, the machine changed, and not even that.
    """
    touching = commit(packages=("gcc",) if is_own else ("raja",))
    for outside, expected in (([], {"gcc"} if is_own else set()), (["14.1.0"], set())):
        sides = []
        for moment, version in (("base", "13.2.0"), ("head", "14.1.0")):
            (raja,), (gcc,) = state(moment, "~mpi", version)
            another = replace(gcc, hash=hash_of("another gcc"), version="12.1.0")
            is_outside = version in outside
            inside = [raja, another] if is_outside else [raja, another, gcc]
            sides.append(side_of(inside, [gcc] if is_outside else []))
        explanation = explained_sides(*sides)
        explained, causes = Attribution(explanation, Between([touching])), explanation.causes
        numbers = range(len(causes))
        assert {causes.name_of(number).package for number in numbers} == {"gcc"}
        with_commits = {causes.name_of(it).package for it in numbers if explained.of_cause(it)}
        assert with_commits == expected
        assert [*map(explained.is_external, numbers)] == [bool(outside)]


def test_commits_of_another_target() -> None:
    """None are named: which target specs are built for does not follow from a recipe."""
    targets = ("x86_64_v3", "x86_64_v4")
    sides = [side_of([a_spec(target, name="raja", target=target)]) for target in targets]
    explanation = explained_sides(*sides)
    explained = Attribution(explanation, Between([commit(packages=("raja",), stacks=("e4s",))]))
    kinds = [explanation.causes.name_of(number).kind for number in range(len(explanation.causes))]
    assert kinds == [CauseKind.TARGET]
    assert explained.of_cause(0) == ()


# -- the real week

OWN, DEPENDENT = CommitLevel.OWN_RECIPE, CommitLevel.DEPENDENT
GETTEXT = "gettext: fix libintl argument (#5277)"
CAUSES = {
    ("recipe of gettext changed", OWN, GETTEXT): 378,  # 109, 71 and 198 in the three stacks
    ("expat 2.8.1 → 2.8.2", OWN, "expat: 2.8.2 + deprecate vulnerable 2.8.1 (#5334)"): 4,
    (
        "intel-tbb 2023.0.0 → 2022.3.0",
        DEPENDENT,
        "dyninst: add conflict for dyninst@13 with tbb@2023 (#5332)",
    ): 1,
}


def test_commits_of_a_week(tmp_path: Path) -> None:
    """Over three stacks causes lead to commits, with the level; gettext's commit explains most."""
    folder = the_week(tmp_path / "recipes").folder
    with open_recipes(str(folder), ReadSettings()) as repository:
        base, head = map(repository.commit, ("refs/snapshots/base", "refs/snapshots/head"))
        oids = repository.unknown((), (base, head), lambda: CommitGraph(()))
        between = CommitGraph(repository.read(oids)).between(base, head)
    times = [commit.committed_at for commit in between.reached]
    assert times == sorted(times, reverse=True)
    assert (len(times), between.taken_back) == (69, [])
    before, after = (side_of(*records(date, STACKS)) for date in ("2026-06-20", "2026-06-27"))
    explanation = explained_sides(before, after)
    explained = Attribution(explanation, between)
    lines = {
        (cause_title(explanation.causes.name_of(count.number)), each.level, each.commit.subject): (
            count.num_specs
        )
        for count in explanation.causes.counted()
        for each in explained.of_cause(count.number)
    }
    assert {line: lines.get(line) for line in CAUSES} == CAUSES
    effects = explained.effects()
    first = effects[0]
    assert (first.commit.subject, first.commit.pull_request) == (GETTEXT, 5277)
    assert (first.level, first.taken_back) == (OWN, False)
    # It is involved in 202 of the third stack.
    assert (first.num_specs, first.num_involved) == (378, 387)
    levels = [effect.level for effect in effects]
    assert levels == sorted(levels, key=[OWN, DEPENDENT].index)
    dyninst = next(effect for effect in effects if effect.commit.pull_request == 5332)
    assert (dyninst.level, dyninst.num_specs) == (DEPENDENT, 1)
