"""The commits of the real week, and what they rebuilt in three real stacks."""

from collections.abc import Sequence

import pytest

from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.changes.vocabulary import cause_title
from snapshots.recipes.commits import Between, CommitGraph
from snapshots.recipes.effects import Attribution, CommitLevel
from snapshots.recipes.repository import open_recipes
from snapshots.sources.settings import ReadSettings
from tests.model.real import STACKS, records
from tests.snapshots.changes.graphs import side_of
from tests.snapshots.recipes.repositories import the_week

OWN, DEPENDENT = CommitLevel.OWN_RECIPE, CommitLevel.DEPENDENT

GETTEXT = ("recipe of gettext changed", OWN, "gettext: fix libintl argument (#5277)")
EXPAT = ("expat 2.8.1 → 2.8.2", OWN, "expat: 2.8.2 + deprecate vulnerable 2.8.1 (#5334)")
SCIPY = ("py-scipy 1.17.1 → 1.18.0", OWN, "py-scipy: add v1.18.0 (#5275)")
RAJA = ("recipe of raja changed", OWN, "raja: fix tests (#4435)")
TBB = (
    "intel-tbb 2023.0.0 → 2022.3.0",
    DEPENDENT,
    "dyninst: add conflict for dyninst@13 with tbb@2023 (#5332)",
)

Line = tuple[str, CommitLevel, str]


@pytest.fixture(scope="module")
def between(tmp_path_factory: pytest.TempPathFactory) -> Between:
    """Return the commits of the week, as read from a repository."""
    folder = the_week(tmp_path_factory.mktemp("week") / "recipes").folder
    with open_recipes(str(folder), ReadSettings()) as repository:
        base, head = map(repository.commit, ("refs/snapshots/base", "refs/snapshots/head"))
        oids = repository.unknown((), (base, head), lambda: CommitGraph(()))
        return CommitGraph(repository.read(oids)).between(base, head)


def attribution(between: Between, stacks: Sequence[str]) -> Attribution:
    """Return which commits explain what changed in some stacks within the week."""
    before, after = (side_of(*records(date, stacks)) for date in ("2026-06-20", "2026-06-27"))
    return Attribution(
        explain(Comparison(before.frame, after.frame), before.graph, after.graph), between
    )


def test_all_commits_of_the_week_are_read(between: Between) -> None:
    """All 69 are reached, newest first, and none is taken back."""
    assert len(between.reached) == 69
    times = [commit.committed_at for commit in between.reached]
    assert times == sorted(times, reverse=True)
    assert not between.taken_back


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("e4s", {GETTEXT: 109, EXPAT: 2, SCIPY: 1, RAJA: 1, TBB: 1}),
        ("developer-tools", {GETTEXT: 71}),
    ],
)
def test_the_commits_of_causes(between: Between, stack: str, expected: dict[Line, int]) -> None:
    """The causes of a stack lead to the commits that made them, at the level that says how."""
    of_stack = attribution(between, [stack])
    causes = of_stack._explanation.causes
    lines = {
        (
            cause_title(causes.name_of(count.number)),
            commit.level,
            commit.commit.subject,
        ): count.num_specs
        for count in causes.counted()
        for commit in of_stack.of_cause(count.number)
    }
    assert {line: lines.get(line) for line in expected} == expected


def test_what_each_commit_did(between: Between) -> None:
    """Over three stacks gettext's commit explains most; numbers of own recipes stand first."""
    effects = attribution(between, STACKS).effects()
    first = effects[0]
    assert first.commit.subject == GETTEXT[2]
    assert first.commit.pull_request == 5277
    assert (first.level, first.taken_back) == (OWN, False)
    # 109, 71 and 198 as the main cause in each stack; it is involved in 202 of the third.
    assert (first.num_specs, first.num_involved) == (378, 387)
    levels = [effect.level for effect in effects]
    assert levels == sorted(levels, key=[OWN, DEPENDENT].index)
    dyninst = next(effect for effect in effects if effect.commit.pull_request == 5332)
    assert (dyninst.level, dyninst.num_specs) == (DEPENDENT, 1)
