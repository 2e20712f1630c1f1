"""``cachelog plan``: the specs to build for lock files, on a real week."""

from pathlib import Path
from typing import Any

import pytest

from snapshots.notes import plan_comments
from tests import real_data
from tests.server.commands import CommandResult, cachelog, succeed
from tests.snapshots.factories import a_snapshot, a_spec, hash_of
from tests.snapshots.recipes.repositories import the_week
from tests.snapshots.sources.buildcache.indexes import edge, node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file, small_lock_file
from tests.snapshots.templates import catalog_of

STACKS = ("e4s", "developer-tools")
RULES = """
[[rule]]
name = "Nothing is downgraded"
forbid = "package-downgraded"

[[rule]]
name = "Few rebuilds"
level = "warning"
limit = "specs-rebuilt"
at-most = 5
"""


class Week:
    """A catalog of the first of two real revisions, and the lock files of the second."""

    def __init__(self, folder: Path) -> None:
        self.catalog = str(folder / "catalog")
        history = real_data.folder() / "spack-history"
        indexes = [f"{stack}={history}/2026-06-20/{stack}/index.json" for stack in STACKS]
        succeed("import", *indexes, "--tag", "develop", catalog=self.catalog)
        self.locks = [f"{stack}={history}/2026-06-27/{stack}/spack.lock" for stack in STACKS]
        self.rules = folder / "rules.toml"
        self.rules.write_text(RULES)

    def plan(self, *arguments: object, locks: list[str] | None = None) -> CommandResult:
        """Run the command."""
        words = [word for lock in locks or self.locks for word in ("--lock", lock)]
        return cachelog("plan", "develop", *words, *arguments, catalog=self.catalog)


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Week:
    """Return the week."""
    return Week(tmp_path_factory.mktemp("week"))


def test_text_lists_specs_to_build(week: Week) -> None:
    """The specs to build by stack, their causes, and the downgraded packages."""
    result = week.plan()
    assert (result.code, result.err) == (0, "")
    _, summary, *lines = result.lines
    assert summary == "191 of 396 specs to build; 205 reused, 4 external (size 101-500)"
    assert [line.split() for line in lines[:3]] == [
        ["stack", "specs", "reused", "to", "build", "rebuilt", "replaced", "new", "removed"],
        ["e4s", "222", "106", "116", "109", "7", "0", "0"],
        ["developer-tools", "174", "99", "75", "70", "5", "0", "0"],
    ]
    assert (
        lines[3] == "191 specs replaced another: 179 rebuilt unchanged, 12 whose own facts differ"
    )
    assert lines[-1] == "downgraded: intel-tbb 2023.0.0 → 2022.3.0"
    (gettext,) = (line for line in lines if line.endswith("recipe of gettext changed"))
    assert gettext.split()[:2] == ["180", "185"]


def test_json_numbers_add_up(week: Week) -> None:
    """The numbers add up, and the specs to build are listed with their reasons."""
    plan = week.plan("--json").json
    assert (plan["num_specs"], plan["num_reused"], plan["num_to_build"]) == (396, 205, 191)
    assert len(plan["to_build"]) == sum(cause["num_specs"] for cause in plan["causes"]) == 191
    (e4s, _) = plan["stacks"]
    (downgrade,) = e4s["downgrades"]
    assert downgrade == {"package": "intel-tbb", "before": "2023.0.0", "after": "2022.3.0"}
    assert plan["gate"] is None
    assert plan["build_cost"] is None
    assert {spec["reason"] for spec in plan["to_build"]} == {"rebuilt", "replaces"}


def test_comment_summarizes_the_plan(week: Week) -> None:
    """It begins with a marker, and has the causes, broken rules and downgraded packages."""
    text = week.plan("--format", "markdown", "--gate", week.rules).out
    assert text.startswith("<!-- cachelog plan -->\n## 191 of 396 specs have to be built\n")
    assert "Size: **101-500**" in text
    assert "- 180 specs: the recipe of `gettext`, reaching 185\n" in text
    assert "**error**: `Nothing is downgraded`" in text
    assert "## Downgraded packages (1)\n\n- `intel-tbb` 2023.0.0 → 2022.3.0\n" in text


def test_annotations_are_commands_of_github(week: Week) -> None:
    """The specs to build, the downgraded packages of each stack, and the broken rules."""
    result = week.plan("--format", "github", "--gate", week.rules)
    notice, stack, *rules = result.lines
    assert notice.startswith("::notice title=Size 101-500::191 of 396 specs to build; 205 reused")
    assert week.plan("--format", "label").out == "101-500\n"
    assert "; causes: recipe of gettext changed, expat 2.8.1 → 2.8.2, " in notice
    assert stack == "::warning title=Stack e4s::downgraded: intel-tbb 2023.0.0 → 2022.3.0"
    assert [rule.split(" ")[0] for rule in rules[:2]] == ["::error", "::warning"]
    assert result.code == 1


def test_gate_determines_the_exit_code(week: Week, tmp_path: Path) -> None:
    """The exit code is 1 for a broken error, 0 for a warning alone, 2 if rules are not judged."""
    result = week.plan("--gate", week.rules, "--json")
    assert result.code == 1
    assert len(result.json["gate"]["rules"]) == 2
    assert result.json["gate"]["passed"] is False
    assert "error: Nothing is downgraded" in week.plan("--gate", week.rules).out
    soft = tmp_path / "soft.toml"
    soft.write_text(RULES.partition("\n\n")[2])
    assert week.plan("--gate", soft).code == 0
    assert week.plan("--gate", tmp_path / "none.toml").code == 2
    assert week.plan("--gate", soft, locks=["e4s=/nowhere"]).code == 2


def test_commits_explain_causes(week: Week, tmp_path: Path) -> None:
    """Those of a range explain causes; without the commit of the base, none do."""
    repository = the_week(tmp_path / "recipes")
    recipes = ("--recipes", repository.folder)
    result = week.plan(*recipes, "--commits", "refs/snapshots/base..refs/snapshots/head", "--json")
    assert (result.code, result.err) == (0, "")
    subjects = [commit["subject"] for commit in result.json["commits"]]
    assert subjects[0] == "gettext: fix libintl argument (#5277)"
    assert result.json["recipes"]["head"]["found_by"] == "given"
    error = week.plan(*recipes, "--commits", "A")
    assert (error.code, error.err) == (1, "cachelog: --commits: 'A' is not written as A..B\n")
    result = week.plan(*recipes)
    assert (result.code, result.err) == (
        0,
        "no commits: that of base is unknown; specify both with --commits A..B\n",
    )
    cachelog(
        "recipes", "develop", *recipes, "--commit", "refs/snapshots/base", catalog=week.catalog
    )
    lines = week.plan(*recipes).lines
    assert any("gettext: fix libintl argument (#5277)" in line for line in lines)


def test_unknown_stack_has_suggestions(week: Week) -> None:
    """A message lists the nearest names; specs of other stacks are reused."""
    lock = week.locks[0].replace("e4s=", "e5s=")
    result = week.plan(locks=[lock])
    assert result.err == "develop has no stack 'e5s'; nearest: e4s\n"
    assert result.lines[1].startswith("116 of 222 specs to build; 106 reused")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a catalog of zlib."""
    spec = a_spec("zlib", name="zlib", version="1.3.1", stacks=("e4s",))
    return catalog_of(tmp_path / "catalog", a_snapshot([spec], "develop"))


def plan_for(catalog: Path, lock: Any, *arguments: object) -> CommandResult:
    """Run the command on a lock file, in its folder."""
    folder = catalog.parent / "environment"
    folder.mkdir(exist_ok=True)
    (folder / "spack.lock").write_bytes(as_bytes(lock))
    return cachelog("plan", "develop", "--lock", f"e4s={folder}", *arguments, catalog=catalog)


def test_reused_specs_need_no_build(small: Path) -> None:
    """The lock file has no new spec."""
    lock = lock_file([node("zlib", hash_of("zlib"), version="1.3.1")], [hash_of("zlib")])
    assert "## Nothing has to be built\n" in plan_for(small, lock, "--format", "markdown").out
    assert plan_for(small, lock).lines[1] == "0 of 1 spec to build; 1 reused, 0 external (size 0)"


def test_comment_is_truncated_at_a_line_end(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is if its fixed parts alone exceed the limit."""
    monkeypatch.setattr(plan_comments, "MAX_CHARACTERS", 300)
    text = plan_for(small, small_lock_file(), "--format", "markdown").out
    assert len(text) <= 300
    assert text.endswith("\n\n... and more than there is room for.\n")


def test_large_comment_is_shortened(small: Path) -> None:
    """The comment states that parts are omitted: of many specs with long names."""
    names = [f"p{number}".ljust(199, "x") for number in range(999)]
    specs = [node(name, hash_of(name)) for name in names]
    edges = [edge(name, hash_of(name), ["link"], []) for name in names]
    top = node("top", hash_of("top"), dependencies=edges)
    result = plan_for(small, lock_file([*specs, top], [top["hash"]]), "--format", "markdown")
    assert result.code == 0
    assert len(result.out) <= 65_536
    assert "Left out for want of room" in result.out
