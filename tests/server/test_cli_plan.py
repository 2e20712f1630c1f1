"""``cachelog plan``: the specs to build for lock files, on a real week."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from snapshots.notes import plan_comments
from tests.model.real import history
from tests.server.commands import CommandResult, cachelog, succeed
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
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


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of the first of two real revisions, with rules beside its tables."""
    folder = tmp_path_factory.mktemp("week")
    indexes = [f"{stack}={history()}/2026-06-20/{stack}/index.json" for stack in STACKS]
    succeed("import", *indexes, "--tag", "develop", catalog=folder)
    (folder / "rules.toml").write_text(RULES)
    return folder


def plan(catalog: Path, *arguments: object, locks: Sequence[str] = ()) -> CommandResult:
    """Run the command on lock files, by default those of the second real revision."""
    locks = locks or [f"{stack}={history()}/2026-06-27/{stack}/spack.lock" for stack in STACKS]
    words = [word for lock in locks for word in ("--lock", lock)]
    return cachelog("plan", "develop", *words, *arguments, catalog=catalog)


def test_text_lists_specs_to_build(week: Path) -> None:
    """The specs to build by stack, their causes, and the downgraded packages; as the JSON does."""
    result = plan(week)
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
    report = plan(week, "--json").json["plan"]
    counts = [report[key] for key in ("numSpecs", "numReused", "numToBuild", "numExternal")]
    assert (counts, report["sizeLabel"]) == ([396, 205, 191, 4], "101-500")
    causes = report["comparison"]["causes"]["nodes"]
    specs = report["toBuild"]["nodes"]
    assert len(specs) == sum(cause["numSpecs"] for cause in causes) == 191
    assert {spec["reason"] for spec in specs} == {"REBUILT", "REPLACES"}
    (downgrade,) = report["comparison"]["packages"]["nodes"]
    assert (downgrade["name"], downgrade["versionsAdded"]) == ("intel-tbb", ["2022.3.0"])


def test_comment_summarizes_the_plan(week: Path) -> None:
    """It begins with a marker, and has the causes, broken rules and downgraded packages."""
    text = plan(week, "--format", "markdown", "--gate", week / "rules.toml").out
    assert text.startswith("<!-- cachelog plan -->\n## 191 of 396 specs have to be built\n")
    assert "Label for its number of builds: **101-500**." in text
    assert "- The recipe of `gettext` accounts for 180 specs and reached 185\n" in text
    assert "**error**: `Nothing is downgraded`" in text
    assert "## Downgraded packages (1)\n\n- `intel-tbb` 2023.0.0 → 2022.3.0\n" in text


def test_annotations_are_commands_of_github(week: Path) -> None:
    """The specs to build, and the broken rules."""
    result = plan(week, "--format", "github", "--gate", week / "rules.toml")
    notice, *rules = result.lines
    assert notice.startswith("::notice title=Size 101-500::191 of 396 specs to build; 205 reused")
    assert [rule.split(" ")[0] for rule in rules[:2]] == ["::error", "::warning"]
    assert result.code == 1


def test_gate_determines_the_exit_code(week: Path, tmp_path: Path) -> None:
    """The exit code is 1 for a broken error, 0 for a warning alone, 2 if rules are not judged."""
    result = plan(week, "--gate", week / "rules.toml")
    assert result.code == 1
    assert "error: Nothing is downgraded" in result.out
    soft = tmp_path / "soft.toml"
    soft.write_text(RULES.partition("\n\n")[2])
    assert plan(week, "--gate", soft).code == 0
    assert plan(week, "--gate", tmp_path / "none.toml").code == 2
    assert plan(week, "--gate", soft, locks=["e4s=/nowhere"]).code == 2


def planned(tmp_path: Path, lock: Any, *arguments: object) -> CommandResult:
    """Run the command on a lock file, in its folder, and a catalog of zlib."""
    spec = a_spec("zlib", name="zlib", version="1.3.1", stacks=("e4s",))
    catalog = catalog_of(tmp_path / "catalog", a_snapshot([spec], "develop", day(0)))
    (tmp_path / "spack.lock").write_bytes(as_bytes(lock))
    return plan(catalog, *arguments, locks=[f"e4s={tmp_path}"])


def test_large_comment_is_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comment states that parts are omitted, and ends with a line."""
    names = [f"p{number}".ljust(199, "x") for number in range(999)]
    edges = [edge(name, hash_of(name), ["link"], []) for name in names]
    top = node("top", hash_of("top"), dependencies=edges)
    specs = [*(node(name, hash_of(name)) for name in names), top]
    result = planned(tmp_path, lock_file(specs, [top["hash"]]), "--format", "markdown")
    assert result.code == 0
    assert len(result.out) <= 65_536
    assert "Left out for want of room" in result.out
    monkeypatch.setattr(plan_comments, "MAX_CHARACTERS", 300)
    text = planned(tmp_path, small_lock_file(), "--format", "markdown").out
    assert len(text) <= 300
    assert text.endswith("\n\n... and more than there is room for.\n")
