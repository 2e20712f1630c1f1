"""``--recipes``, ``cachelog recipes``, ``blame`` and the commits of ``why``, on a real week."""

from pathlib import Path

import pytest

from tests import real_data
from tests.server.commands import Done, cachelog
from tests.snapshots.recipes.repositories import RecipesRepository, recipe, the_week
from tests.snapshots.templates import copied

DATES = ("2026-06-20", "2026-06-27")
RANGE = "..".join(f"develop-{date}" for date in DATES)
GETTEXT = "gettext: fix libintl argument (#5277)"
TBB = "dyninst: add conflict for dyninst@13 with tbb@2023 (#5332)"


class Week:
    """A catalog of two states of the stack e4s, and the repository of the recipes."""

    def __init__(self, folder: Path) -> None:
        self.catalog = str(folder / "catalog")
        self.recipes = the_week(folder / "recipes")
        base, head = (f"refs/snapshots/{name}" for name in ("base", "head"))
        for date, ref in zip(DATES, (base, head), strict=True):
            self.recipes.git("update-ref", f"refs/snapshots/develop-{date}", ref)

    def run(self, *arguments: object) -> Done:
        """Run a command on the catalog."""
        return cachelog(*arguments, catalog=self.catalog)

    def publish(self, *arguments: object) -> list[Done]:
        """Import both states."""
        index = real_data.folder() / "spack-history"
        return [
            self.run("import", index / date / "e4s/index.json", "--tag", tag, *arguments)
            for date, tag in zip(DATES, (f"develop-{date}" for date in DATES), strict=True)
        ]


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Week:
    """Return the week, imported with its recipes."""
    made = Week(tmp_path_factory.mktemp("week"))
    first, second = made.publish("--recipes", made.recipes.folder)
    assert (first.code, second.code) == (0, 0)
    assert "recipes of 1 revision found; 0 commits read" in first.err
    assert "recipes of 1 revision found; 69 commits read" in second.err
    return made


def test_why_names_the_commits(week: Week) -> None:
    """The first one stands below its cause, with how closely it explains it."""
    lines = week.run("why", RANGE).lines
    head, tail = (week.recipes.oids[place][:12] for place in (0, -1))
    assert lines[1] == f"recipes: {head} (by its ref) -> {tail} (by its ref)"
    below = dict(zip(lines[4::2], lines[5::2], strict=True))
    commits = {line.split(maxsplit=2)[2]: text.strip() for line, text in below.items()}
    assert commits["recipe of gettext changed"].endswith(GETTEXT)
    perhaps = commits["intel-tbb 2023.0.0 → 2022.3.0"]
    assert perhaps.startswith("perhaps by what depends on it: ")
    assert perhaps.endswith(TBB)


def test_why_of_a_spec_names_the_commit(week: Week) -> None:
    """Below its main cause."""
    document = week.run("why", RANGE, "gettext", "--json").json
    (spec,) = [spec for spec in document["specs"] if spec["reason"] == "replaces"]
    lines = week.run("why", RANGE, f"/{spec['hash'][:10]}").lines
    place = lines.index("  main cause: recipe of gettext changed")
    assert lines[place + 1].endswith(GETTEXT)


def test_blame(week: Week) -> None:
    """The commits that had a package rebuilt, or a spec, newest first."""
    title, commit = week.run("blame", "intel-tbb").lines
    assert title.startswith("develop-2026-06-27 of 2026-06-27 (")
    assert title.endswith("): intel-tbb 2023.0.0 → 2022.3.0")
    assert commit.endswith(TBB)
    document = week.run("why", RANGE, "raja", "--json").json
    added = next(spec for spec in document["specs"] if spec["reason"] == "replaces")
    (rebuild,) = week.run("blame", f"/{added['hash']}", "--json").json["rebuilds"]
    assert [commit["pull_request"] for commit in rebuild["commits"]] == [4435]
    assert rebuild["hash"] == added["hash"]
    assert rebuild["why_no_commits"] is None


def test_log_names_the_commits(week: Week) -> None:
    """Below an entry of a series, a package or a hash, as below a cause of ``why``."""
    line = "    109 specs: recipe of gettext changed"
    series = week.run("log", "--commits").lines
    commit = series[series.index(line) + 1]
    assert commit == f"      {week.recipes.oid_of(GETTEXT)[:12]} {GETTEXT}"
    package = week.run("log", "gettext", "--commits").lines
    place = package.index("    1 spec: recipe of gettext changed")
    assert package[place + 1] == commit
    entries = week.run("log", "gettext", "--commits", "--json").json["entries"]
    (rebuild,) = entries[0]["rebuilds"]
    assert (rebuild["cause"], rebuild["num_specs"]) == ("recipe|gettext||", 1)
    assert [commit["subject"] for commit in rebuild["commits"]] == [GETTEXT]
    assert (entries[1]["rebuilds"], entries[1]["why_no_commits"]) == ([], None)
    document = week.run("why", RANGE, "gettext", "--json").json
    hashes = {spec["reason"]: spec["hash"] for spec in document["specs"]}
    came = week.run("log", f"/{hashes['replaces']}", "--commits").lines
    assert commit in came
    (_, gone) = week.run("log", f"/{hashes['replaced']}", "--commits", "--json").json["entries"]
    assert gone["rebuilds"] == []
    (nothing,) = week.run("blame", f"/{hashes['replaced']}").lines
    assert nothing == "nothing of it replaced another in develop-DATE"


def test_recipes_of_a_revision(week: Week) -> None:
    """The stored commit is printed, and how it was found."""
    (line,) = week.run("recipes", f"develop-{DATES[1]}").lines
    assert line.endswith(f"(by its ref) of {week.recipes.folder}")
    recipes = week.run("recipes", f"develop-{DATES[1]}", "--json").json["recipes"]
    assert (recipes["commit"], recipes["found_by"]) == (week.recipes.oids[-1], "ref")


def test_an_import_goes_on_without_recipes(tmp_path: Path) -> None:
    """A repository that cannot be read is a warning; ``history fill`` reads it later."""
    made = Week(tmp_path)
    first, second = made.publish("--recipes", tmp_path / "nowhere")
    assert (first.code, second.code) == (0, 0)
    assert "warning: the commits of the recipes are not stored" in first.err
    assert "does not exist" in first.err
    why = made.run("why", RANGE, "--commits")
    assert (
        why.lines[1] == "no commits: the commit of the recipes that base was made of is not known"
    )
    assert f"    {why.lines[1]}" in made.run("log", "--commits").lines
    filled = made.run("history", "fill", "--recipes", made.recipes.folder, "--json").json
    assert filled["recipes"] == {"num_revisions": 2, "num_commits": 69}
    assert made.run("why", RANGE, "--json").json["why_no_commits"] is None


def test_a_correction_and_a_history_that_was_rewritten(tmp_path: Path) -> None:
    """``--commit`` replaces what was found; commits of a rewritten history are not compared."""
    made = Week(tmp_path)
    made.publish("--recipes", made.recipes.folder)
    middle = made.recipes.oids[40]
    done = made.run("recipes", f"develop-{DATES[1]}", "--commit", middle[:10])
    assert f"{middle[:12]} (as given)" in done.out
    assert made.run("recipes", f"develop-{DATES[1]}", "--commit", "nothing").code == 1
    rewritten = RecipesRepository(tmp_path / "recipes2")
    rewritten.commit("Another beginning", [recipe("zlib")])
    made.recipes.folder.rename(tmp_path / "old")
    rewritten.folder.rename(made.recipes.folder)
    done = made.run("recipes", f"develop-{DATES[1]}", "--commit", rewritten.oids[0])
    assert "its history was rewritten" in done.err
    why = made.run("why", RANGE, "--json").json
    assert why["why_no_commits"].endswith("was rewritten between the two")
    assert why["causes"][0]["commits"] is None


def test_another_spack(e4s_week: Path, tmp_path: Path) -> None:
    """A commit that changes which Spack is used names both, and leads to what changed."""
    pins = RecipesRepository(tmp_path / "pins")
    catalog = copied(e4s_week, tmp_path / "catalog").location
    for date, letter in zip(DATES, "ab", strict=True):
        pins.commit(f"ci: Spack {letter} (#9)", {".ci/env": f"SPACK_REF={letter * 40}\n"})
        recipes = ("--recipes", pins.folder, "--commit", "develop")
        cachelog("recipes", f"develop-{date}", *recipes, catalog=catalog)
    packages = "https://github.com/spack/spack-packages"
    why = cachelog("why", RANGE, "--commits", catalog=catalog, recipes_url=packages)
    lines = [line.strip() for line in why.lines]
    spack = f"(Spack {'a' * 12} -> {'b' * 12})"
    place = lines.index(f"perhaps by another Spack: {pins.oids[1][:12]} ci: Spack b (#9) {spack}")
    url = f"https://github.com/spack/spack/compare/{'a' * 40}...{'b' * 40}"
    assert lines[place + 1 : place + 3] == [f"{packages}/pull/9", url]
    why = cachelog("why", RANGE, "--json", catalog=catalog, recipes_url=packages)
    (commit,) = why.json["causes"][0]["commits"]
    assert commit["spack"] == {"before": "a" * 40, "after": "b" * 40, "url": url}
