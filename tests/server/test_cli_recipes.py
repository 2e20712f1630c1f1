"""``--recipes``, ``cachelog recipes``, ``blame`` and the commits of ``why``, on a real week."""

import re
from pathlib import Path

import pytest

from tests.model.real import history
from tests.server.commands import CommandResult, cachelog
from tests.snapshots.recipes.repositories import the_week

DATES = ("2026-06-20", "2026-06-27")
RANGE = "..".join(f"develop-{date}" for date in DATES)
GETTEXT = "gettext: fix libintl argument (#5277)"
TBB = "dyninst: add conflict for dyninst@13 with tbb@2023 (#5332)"


class Week:
    """A catalog of two revisions of the stack e4s, and the repository of their recipes."""

    def __init__(self, folder: Path) -> None:
        self.catalog = str(folder / "catalog")
        self.recipes = the_week(folder / "recipes")
        base, head = (f"refs/snapshots/{name}" for name in ("base", "head"))
        for date, ref in zip(DATES, (base, head), strict=True):
            self.recipes.git("update-ref", f"refs/snapshots/develop-{date}", ref)

    def run(self, *arguments: object) -> CommandResult:
        """Run a command on the catalog."""
        return cachelog(*arguments, catalog=self.catalog)

    def publish(self, *arguments: object) -> list[CommandResult]:
        """Import both revisions."""
        return [
            self.run("import", history() / date / "e4s/index.json", *("--tag", tag), *arguments)
            for date, tag in zip(DATES, RANGE.split(".."), strict=True)
        ]


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Week:
    """Return the week, imported with its recipes."""
    week = Week(tmp_path_factory.mktemp("week"))
    results = week.publish("--recipes", week.recipes.folder)
    for result, num_commits in zip(results, (0, 69), strict=True):
        assert f"recipes of 1 revision found; {num_commits} commits read" in result.err
    return week


def test_why_lists_commits(week: Week) -> None:
    """The first commit follows its cause, with how precisely it explains the cause."""
    lines = week.run("why", RANGE).lines
    head, tail = (week.recipes.oids[position][:12] for position in (0, -1))
    assert lines[1] == f"recipes: {head} (by its ref) -> {tail} (by its ref)"
    pairs = dict(zip(lines[4::2], lines[5::2], strict=True))
    commits = {line.split(maxsplit=2)[2]: text.strip() for line, text in pairs.items()}
    assert commits["recipe of gettext changed"].endswith(GETTEXT)
    indirect = commits["intel-tbb 2023.0.0 → 2022.3.0"]
    assert indirect.startswith("perhaps by a dependent: ")
    assert indirect.endswith(TBB)
    lines = week.run("why", RANGE, "gettext").lines
    assert lines[lines.index("    main cause: recipe of gettext changed") + 1].endswith(GETTEXT)


def test_blame_lists_commits_newest_first(week: Week) -> None:
    """The commits that rebuilt a package, newest first."""
    title, commit = week.run("blame", "intel-tbb").lines
    assert title.endswith(": intel-tbb 2023.0.0 → 2022.3.0")
    assert commit.endswith(TBB)
    _, commit = week.run("blame", "raja").lines
    series = week.run("blame", "raja", "--json").json["series"]
    (cause,) = series["package"]["entries"]["nodes"][0]["mainCauses"]
    assert cause["commits"]["nodes"][0]["commit"]["pullRequest"]["number"] == 4435
    assert f"#{4435}" in commit


def test_blame_of_a_series_without_replacements(week: Week) -> None:
    """It says so."""
    (message,) = week.run("blame", "cmake").lines
    assert message == "no spec of it replaced another in develop-DATE"


def test_impact_of_commits_lists_their_packages(week: Week) -> None:
    """Also those that the revision lacks."""
    commits = "refs/snapshots/base..refs/snapshots/head"
    options = ("--in", RANGE.split("..")[0], "--recipes", week.recipes.folder)
    lines = week.run("impact", commits, *options).lines
    touched = rf"69 commits in {commits} touch \d+ packages, \d+ of them not in this revision"
    assert re.fullmatch(touched, lines[1])
    assert lines[2].endswith(" if dyninst, expat, gettext, lammps, py-scipy, raja, tau changed")
    missing = week.run("impact", "nothing..HEAD", *options)
    assert (missing.code, missing.err.startswith("cachelog: A..B: ")) == (1, True)


def test_import_warns_of_an_unreadable_repository(tmp_path: Path) -> None:
    """It is a warning; ``upkeep`` imports the commits later."""
    week = Week(tmp_path)
    first, second = week.publish("--recipes", tmp_path / "nowhere")
    assert (first.code, second.code) == (0, 0)
    assert "warning: the commits of the recipes are not stored" in first.err
    assert "does not exist" in first.err
    reason = "no commits: the commit of the recipes that base was made of is not known"
    assert week.run("why", RANGE, "--commits").lines[1] == reason
    lines = week.run("upkeep", "--keep", "all", "--recipes", week.recipes.folder).lines
    assert "recipes: recipes of 2 revisions found; 69 commits read" in lines
