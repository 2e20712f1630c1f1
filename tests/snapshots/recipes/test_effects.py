"""Levels of commits that explain causes, over a few made-up specs."""

from datetime import UTC, datetime

import pytest

from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.models import CauseKind, Dependency, Spec
from snapshots.recipes.commits import Between, Commit, SpackChange
from snapshots.recipes.effects import Attribution, CommitLevel
from tests.snapshots.changes.graphs import side_of
from tests.snapshots.factories import a_spec, hash_of

SPACK = SpackChange(before="a" * 40, after="b" * 40)


def state(moment: str, variants: str, gcc: str) -> tuple[list[Spec], list[Spec]]:
    """Return a spec of a stack, and the compiler outside of the cache that it is built with."""
    compiler = a_spec(f"gcc {moment}", name="gcc", version=gcc, compiler=None, dependencies=())
    edge = Dependency(name="gcc", hash=hash_of(f"gcc {moment}"), types=("build",), virtuals=("c",))
    raja = a_spec(moment, name="raja", variants=(variants,), dependencies=(edge,))
    return [raja], [compiler]


def attribution(*commits: Commit) -> Attribution:
    """Return which commits explain that raja has another variant and gcc another version."""
    base, head = (
        side_of(*state("base", "~mpi", "13.2.0")),
        side_of(*state("head", "+mpi", "14.1.0")),
    )
    explanation = explain(Comparison(base.frame, head.frame), base.graph, head.graph)
    return Attribution(explanation, Between(commits))


def commit(**touched: object) -> Commit:
    """Return a commit that touched something."""
    moment = datetime(2026, 6, 21, tzinfo=UTC)
    return Commit("c" * 40, (), moment, "A change (#7)", **touched)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("touched", "levels"),
    [
        ({"packages": ("raja",)}, {"raja": CommitLevel.OWN_RECIPE, "gcc": CommitLevel.DEPENDENT}),
        ({"stacks": ("e4s",)}, dict.fromkeys(("raja", "gcc"), CommitLevel.STACK)),
        ({"spack": SPACK}, dict.fromkeys(("raja", "gcc"), CommitLevel.SPACK)),
        ({"stacks": ("other",)}, {}),
        ({"packages": ("hdf5",)}, {}),
    ],
)
def test_the_level_of_a_commit(touched: dict[str, object], levels: dict[str, CommitLevel]) -> None:
    """It follows from what the commit touched, for each cause by itself."""
    explained = attribution(commit(**touched))
    causes = explained._explanation.causes
    assert {
        causes.name_of(number).package: explaining.level
        for number in range(len(causes))
        for explaining in explained.of_cause(number)
    } == levels


def test_the_commit_that_rebuilt_most() -> None:
    """It is one that touched the recipe of the causes; else there is none."""
    own = commit(packages=("raja",))
    for explained, expected in (
        (attribution(own), f"{'c' * 12} A change (#7)"),
        (attribution(), None),
    ):
        most = explained.most_rebuilt(explained._explanation.causes.counted())
        assert (most and most.commit) == expected
    assert attribution(commit(spack=SPACK)).most_rebuilt([]) is None


def test_which_causes_are_outside_the_cache() -> None:
    """The compiler is, a package of the cache is not."""
    explained = attribution()
    causes = explained._explanation.causes
    names = {number: causes.name_of(number) for number in range(len(causes))}
    external = {name.package: explained.is_external(number) for number, name in names.items()}
    assert external == {"raja": False, "gcc": True}
    assert {name.kind for name in names.values()} >= {CauseKind.VARIANTS}
