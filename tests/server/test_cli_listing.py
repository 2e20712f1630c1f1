"""``cachelog revisions``, ``tags``, ``packages`` and ``stacks``: one line per item."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.models import revision_facts
from tests.schema.worlds import STATES, World
from tests.server.commands import cachelog, succeed_in
from tests.snapshots.factories import a_snapshot, a_spec
from tests.snapshots.templates import catalog_of

BASE = STATES[0][0]


def test_revisions_are_listed_newest_first(world: World) -> None:
    """Newest first, with tag, digest, times, numbers and source, none of them truncated."""
    result = succeed_in(world, "revisions")
    header, *rows = result.lines
    numbers = ["packages", "specs", "stacks"]
    first = ["tag", "digest", "taken at", "last seen"]
    assert re.split("  +", header) == [*first, *numbers, "source", "hashes", "read from"]
    assert len(rows) == len(STATES)
    for row, state in zip(rows, world.states[::-1], strict=True):
        info = state.info
        times = 2 * f"{info.taken_at:%Y-%m-%d %H:%M}".split()
        facts = [info.tag, info.digest[:12], *times]
        facts += [str(number) for number in (info.num_packages, info.num_specs, info.num_stacks)]
        facts += ["pages", "(synthetic)", "not", "checked", info.source.location]
        assert row.split() == facts


def test_json_has_full_digests(world: World) -> None:
    """Newest first, or those of a tag, with full digests, times in RFC 3339, and sources."""
    rows = succeed_in(world, "revisions", "--tag", "develop", "--json").json
    assert [row["digest"] for row in rows] == [world.states[n].info.digest for n in (5, 4)]
    rows = succeed_in(world, "revisions", "--json").json
    assert [row["digest"] for row in rows] == [state.info.digest for state in world.states[::-1]]
    assert rows[0]["taken_at"] == "2025-01-20T00:00:00.125000Z"
    assert rows[0]["num_specs"] == len(world.newest.specs)
    assert rows[0]["source"]["version"] == "0123abcd"


def test_confirmed_revision_is_listed_once(tmp_path: Path) -> None:
    """It is listed once, with the time of its last confirmation."""
    catalog = Catalog(str(tmp_path))
    for number in (1, 3):
        catalog.publish([a_snapshot([a_spec()], "develop", datetime(2025, 3, number, tzinfo=UTC))])
    _, row = cachelog("revisions", catalog=tmp_path).lines
    assert "  2025-03-01 00:00  2025-03-03 00:00  " in row
    (rows,) = cachelog("revisions", "--json", catalog=tmp_path).json
    assert rows["taken_at"] == "2025-03-01T00:00:00Z"
    assert rows["confirmed_at"] == "2025-03-03T00:00:00Z"


def test_tags_are_listed(world: World) -> None:
    """In the order of the catalog, with series, number of revisions and the newest one."""
    history = Catalog(world.catalog.location).require_history()
    tags = succeed_in(world, "tags", "--json").json
    assert tags[0] == {
        "tag": "develop",
        "series": "develop",
        "num_revisions": 2,
        "latest": revision_facts(world.newest.info),
    }
    assert [tag["tag"] for tag in tags] == history.tags
    header, *rows = succeed_in(world, "tags").lines
    assert re.split("  +", header)[:5] == ["tag", "series", "revisions", "digest", "taken at"]
    assert [row.split()[0] for row in rows] == history.tags


def test_limit_and_width_shorten_tables(world: World) -> None:
    """``--limit`` prints the first rows, and ``--width`` limits the lines."""
    for command in ("tags", "revisions"):
        assert len(succeed_in(world, command, "-n", 2).lines) == 3
        first = succeed_in(world, command, "--limit", 2, "--json").json
        assert first == succeed_in(world, command, "--json").json[:2]
        assert max(map(len, succeed_in(world, command, "--width", 50).lines)) <= 50
        assert max(map(len, succeed_in(world, command).lines)) > 50


def test_default_revision_is_named(world: World) -> None:
    """The newest of develop; a last line names it if no argument does."""
    newest = world.newest.info
    revision = f"develop of {newest.taken_at:%Y-%m-%d} ({newest.digest[:12]})"
    packages, stacks = succeed_in(world, "packages"), succeed_in(world, "stacks")
    assert packages.lines[-1] == f"{newest.num_packages} packages in {revision}"
    assert packages.lines[:-1] == succeed_in(world, "packages", "develop").lines
    assert stacks.lines[-1].endswith(f" stacks in {revision}")
    in_stack = succeed_in(world, "packages", "--stack", "e4s").lines[-1]
    assert in_stack.endswith(f" in the stack e4s of {revision}")
    assert succeed_in(world, "find").lines[-1].endswith(f" in {revision}")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two packages in two stacks."""
    specs = [
        a_spec("1", name="zlib", version="1.2", size=10, stacks=("e4s", "root")),
        a_spec("2", name="zlib", version="1.10", size=None, stacks=("root",)),
        a_spec("3", name="hdf5", version="1.14", size=None, stacks=("e4s", "hep", "root")),
    ]
    return catalog_of(tmp_path_factory.mktemp("small"), a_snapshot(specs))


def test_packages_are_listed_by_name(small: Path) -> None:
    """By name, the newest version first; ``--stack`` restricts all numbers to the stack."""
    assert cachelog("packages", "develop", catalog=small).lines == [
        "package  newest  versions  specs  stacks     size",
        "hdf5     1.14           1      1       2  unknown",
        "zlib     1.10           2      2       1     10 B",
    ]
    report = cachelog("packages", "develop", "--json", catalog=small).json
    assert report["revision"]["tag"] == "develop"
    assert (report["stack"], report["search"]) == (None, None)
    numbers = {"num_specs": 2, "num_stacks": 1, "total_size": 10}
    assert report["packages"][1] == {"name": "zlib", "versions": ["1.10", "1.2"], **numbers}
    of_stack = cachelog("packages", "--stack", "e4s", "--json", catalog=small).json
    assert [package["versions"] for package in of_stack["packages"]] == [["1.14"], ["1.2"]]
    assert of_stack["stack"] == "e4s"


def test_stacks_are_listed_by_name(small: Path) -> None:
    """By name, including root."""
    assert cachelog("stacks", "develop", catalog=small).lines == [
        "stack  packages  specs     size",
        "e4s           2      2     10 B",
        "hep           1      1  unknown",
        "root          2      3     10 B",
    ]
    report = cachelog("stacks", "--json", catalog=small).json
    numbers = {"num_packages": 2, "num_specs": 2, "total_size": 10}
    assert report["stacks"][0] == {"name": "e4s", **numbers}


def test_search_ignores_case(demo_catalog: Path) -> None:
    """It ignores case; a message says if no package matches."""
    packages, matches = (
        cachelog("packages", *options, "--json", catalog=demo_catalog).json["packages"]
        for options in ((), ("--search", "LIB"))
    )
    assert matches == [package for package in packages if "lib" in package["name"]]
    assert 0 < len(matches) < len(packages)
    result = cachelog("packages", "--search", "no such", catalog=demo_catalog)
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("No package of develop of ")
