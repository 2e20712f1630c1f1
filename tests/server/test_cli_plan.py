"""``cachelog plan``: what has to be built for lock files, on a real week."""

from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.notes import plan_comments
from tests import real_data
from tests.server.commands import Done, cachelog, succeed
from tests.snapshots.factories import a_snapshot, a_spec, hash_of
from tests.snapshots.recipes.repositories import the_week
from tests.snapshots.sources.buildcache.indexes import edge, node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file, small_lock_file

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
    """A catalog of the first of two real states, and the lock files of the second."""

    def __init__(self, folder: Path) -> None:
        self.catalog = str(folder / "catalog")
        self.folder = folder
        history = real_data.folder() / "spack-history"
        indexes = [f"{stack}={history}/2026-06-20/{stack}/index.json" for stack in STACKS]
        succeed("import", *indexes, "--tag", "develop", catalog=self.catalog)
        self.locks = [f"{stack}={history}/2026-06-27/{stack}/spack.lock" for stack in STACKS]
        self.rules = folder / "rules.toml"
        self.rules.write_text(RULES)

    def plan(self, *arguments: object, locks: list[str] | None = None) -> Done:
        """Run the command."""
        words = [word for lock in locks or self.locks for word in ("--lock", lock)]
        return cachelog("plan", "develop", *words, *arguments, catalog=self.catalog)


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Week:
    """Return the week."""
    return Week(tmp_path_factory.mktemp("week"))


def test_text(week: Week) -> None:
    """What has to be built, stack by stack, why, and what is downgraded."""
    done = week.plan()
    assert (done.code, done.err) == (0, "")
    _, summary, *lines = done.lines
    assert summary == "191 of 396 specs to build; 205 reused, 4 external (size 101-500)"
    assert [line.split() for line in lines[:3]] == [
        ["stack", "specs", "reused", "to", "build", "rebuilt", "replaced", "new", "gone"],
        ["e4s", "222", "106", "116", "109", "7", "0", "0"],
        ["developer-tools", "174", "99", "75", "70", "5", "0", "0"],
    ]
    assert (
        lines[3] == "191 specs replaced another: 179 rebuilt unchanged, 12 whose own facts differ"
    )
    assert lines[-1] == "downgraded: intel-tbb 2023.0.0 → 2022.3.0"
    (gettext,) = (line for line in lines if line.endswith("recipe of gettext changed"))
    assert gettext.split()[:2] == ["180", "185"]


def test_json(week: Week) -> None:
    """Its numbers add up, and what is built is listed with its cause."""
    document = week.plan("--json").json
    assert document["num_specs"] == document["num_reused"] + document["num_to_build"] == 396
    assert len(document["to_build"]) == document["num_to_build"]
    assert sum(cause["num_specs"] for cause in document["causes"]) == document["num_to_build"]
    for stack in document["stacks"]:
        own = [spec for spec in document["to_build"] if stack["stack"] in spec["stacks"]]
        assert len(own) == stack["num_to_build"]
    (e4s, _) = document["stacks"]
    (downgrade,) = e4s["downgrades"]
    assert downgrade == {"package": "intel-tbb", "before": "2023.0.0", "after": "2022.3.0"}
    assert document["gate"] is None
    assert document["build_cost"] is None
    assert {spec["reason"] for spec in document["to_build"]} == {"rebuilt", "replaces"}


def test_a_comment(week: Week) -> None:
    """It begins with a mark, and fits."""
    text = week.plan("--format", "markdown", "--gate", week.rules).out
    assert text.startswith("<!-- cachelog plan -->\n## 191 of 396 specs have to be built\n")
    assert "Size: **101-500**" in text
    assert "- 180 specs: the recipe of `gettext`, reaching 185\n" in text
    assert "**error**: `Nothing is downgraded`" in text or "**error**: Nothing" in text
    assert "## Downgraded packages (1)\n\n- `intel-tbb` 2023.0.0 → 2022.3.0\n" in text
    assert "## No longer there" not in text
    assert len(text) < 65_536


def test_annotations(week: Week) -> None:
    """What has to be built, what is downgraded in which stack, and broken rules."""
    done = week.plan("--format", "github", "--gate", week.rules)
    notice, stack, *rules = done.lines
    assert notice.startswith("::notice title=Size 101-500::191 of 396 specs to build; 205 reused")
    assert week.plan("--format", "label").out == "101-500\n"
    assert "; causes: recipe of gettext changed, expat 2.8.1 → 2.8.2, " in notice
    assert stack == "::warning title=Stack e4s::downgraded: intel-tbb 2023.0.0 → 2022.3.0"
    assert [rule.split(" ")[0] for rule in rules[:2]] == ["::error", "::warning"]
    assert done.code == 1


def test_a_gate(week: Week, tmp_path: Path) -> None:
    """Exits with 1 for a broken error, 0 for a warning alone, 2 where nothing was judged."""
    done = week.plan("--gate", week.rules, "--json")
    assert done.code == 1
    assert len(done.json["gate"]["rules"]) == 2
    assert done.json["gate"]["passed"] is False
    assert "error: Nothing is downgraded" in week.plan("--gate", week.rules).out
    soft = tmp_path / "soft.toml"
    soft.write_text(RULES.partition("\n\n")[2])
    assert week.plan("--gate", soft).code == 0
    assert week.plan("--gate", tmp_path / "none.toml").code == 2
    assert week.plan("--gate", soft, locks=["e4s=/nowhere"]).code == 2


def test_commits(week: Week, tmp_path: Path) -> None:
    """Those of a range explain causes; without the first of them none are known."""
    repository = the_week(tmp_path / "recipes")
    recipes = ("--recipes", repository.folder)
    done = week.plan(*recipes, "--commits", "refs/snapshots/base..refs/snapshots/head", "--json")
    assert (done.code, done.err) == (0, "")
    subjects = [commit["subject"] for commit in done.json["commits"]]
    assert subjects[0] == "gettext: fix libintl argument (#5277)"
    assert done.json["recipes"]["head"]["found_by"] == "given"
    bad = week.plan(*recipes, "--commits", "A")
    assert (bad.code, bad.err) == (1, "cachelog: --commits: 'A' is not written as A..B\n")
    done = week.plan(*recipes)
    assert (done.code, done.err) == (
        0,
        "no commits: that of base is not known; name both by --commits A..B\n",
    )
    cachelog(
        "recipes", "develop", *recipes, "--commit", "refs/snapshots/base", catalog=week.catalog
    )
    lines = week.plan(*recipes).lines
    assert any("gettext: fix libintl argument (#5277)" in line for line in lines)


def test_a_stack_that_base_does_not_have(week: Week) -> None:
    """A remark has the nearest names; specs of other stacks are reused."""
    lock = week.locks[0].replace("e4s=", "e5s=")
    done = week.plan(locks=[lock])
    assert done.err == "develop has no stack 'e5s'; nearest: e4s\n"
    assert done.lines[1].startswith("116 of 222 specs to build; 106 reused")


# -- made-up lock files


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a catalog of zlib."""
    catalog = tmp_path / "catalog"
    spec = a_spec("zlib", name="zlib", version="1.3.1", stacks=("e4s",))
    Catalog(str(catalog)).publish([a_snapshot([spec], "develop")])
    return catalog


def planned(catalog: Path, lock: Any, *arguments: object) -> Done:
    """Run the command on a lock file, in its folder."""
    folder = catalog.parent / "environment"
    folder.mkdir(exist_ok=True)
    (folder / "spack.lock").write_bytes(as_bytes(lock))
    return cachelog("plan", "develop", "--lock", f"e4s={folder}", *arguments, catalog=catalog)


def test_nothing_to_build(small: Path) -> None:
    """Nothing took a place."""
    lock = lock_file([node("zlib", hash_of("zlib"), version="1.3.1")], [hash_of("zlib")])
    text = planned(small, lock, "--format", "markdown").out
    assert "## Nothing has to be built\n" in text
    assert planned(small, lock, "--format", "label").out == "0\n"
    assert planned(small, lock, "--json").json["num_reused"] == 1
    assert planned(small, lock).lines[1] == ("0 of 1 spec to build; 1 reused, 0 external (size 0)")


def test_a_comment_is_cut_at_the_end_of_a_line(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the fixed parts alone have more characters."""
    monkeypatch.setattr(plan_comments, "MOST_CHARACTERS", 300)
    text = planned(small, small_lock_file(), "--format", "markdown").out
    assert len(text) <= 300
    assert text.endswith("\n\n... and more than there is room for.\n")


def deep(size: int) -> dict[str, Any]:
    """Return a chain of specs."""
    hashes = [hash_of(str(number)) for number in range(size)]
    specs = [
        node(
            f"p{number}",
            digest,
            dependencies=[edge(f"p{number + 1}", hashes[number + 1], ["link"], [])]
            if number + 1 < size
            else [],
        )
        for number, digest in enumerate(hashes)
    ]
    return lock_file(specs, [hashes[0]])


def wide(size: int) -> dict[str, Any]:
    """Return specs of long names that one depends on."""
    names = [f"p{number}".ljust(199, "x") for number in range(size)]
    specs = [node(name, hash_of(name)) for name in names]
    edges = [edge(name, hash_of(name), ["link"], []) for name in names]
    return lock_file([*specs, node("top", hash_of("top"), dependencies=edges)], [hash_of("top")])


@pytest.mark.parametrize("lock", [deep(2_000), wide(999)], ids=["deep", "wide"])
def test_a_comment_of_any_plan_fits(small: Path, lock: Any) -> None:
    """The comment says that parts are left out."""
    done = planned(small, lock, "--format", "markdown")
    assert done.code == 0
    assert len(done.out) <= 65_536
    assert "want of room" in done.out or "more than there is room for" in done.out
