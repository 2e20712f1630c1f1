"""``cachelog revisions``, ``tags``, ``packages`` and ``stacks``: a line each, as in the records."""

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from snapshots.models import revision_facts
from snapshots.refs import series
from tests.schema.worlds import STATES, World
from tests.server.commands import cachelog, good
from tests.snapshots.factories import a_snapshot, a_spec

BASE = STATES[0][0]


# -- revisions


def test_revisions_are_listed_newest_first(world: World) -> None:
    """In a table for people: tag, digest, time, numbers and source, none of them cut."""
    done = good(world, "revisions")
    heads, *rows = done.lines
    numbers = ["packages", "specs", "stacks"]
    first = ["tag", "digest", "taken at", "last seen"]
    assert re.split("  +", heads) == [*first, *numbers, "source", "hashes", "read from"]
    assert len(rows) == len(STATES)
    for row, state in zip(rows, world.states[::-1], strict=True):
        info = state.info
        times = 2 * f"{info.taken_at:%Y-%m-%d %H:%M}".split()
        facts = [info.tag, info.digest[:12], *times]
        facts += [str(it) for it in (info.num_packages, info.num_specs, info.num_stacks)]
        facts += ["pages", "(synthetic)", "not", "checked", info.source.location]
        assert row.split() == facts


def test_revisions_as_json(world: World) -> None:
    """Newest first, or those of a tag, with whole digests, times in RFC 3339, and their sources."""
    facts = good(world, "revisions", "--tag", "develop", "--json").json
    assert [it["digest"] for it in facts] == [world.states[it].info.digest for it in (5, 4)]
    facts = good(world, "revisions", "--json").json
    assert [it["digest"] for it in facts] == [it.info.digest for it in world.states[::-1]]
    assert facts[0]["taken_at"] == "2025-01-20T00:00:00.125000Z"
    assert facts[0]["num_specs"] == len(world.newest.specs)
    assert facts[0]["source"]["version"] == "0123abcd"


def test_a_revision_that_was_confirmed(tmp_path: Path) -> None:
    """Is listed once, with the time at which it was last seen, for people and for programs."""
    (state,) = history(revisions=1, packages=3, specs=9)
    catalog = Catalog(str(tmp_path))
    days = [datetime(2025, 3, day, tzinfo=UTC) for day in (1, 3)]
    for day in days:
        catalog.publish([msgspec.structs.replace(state, taken_at=day)])
    _, row = cachelog("revisions", catalog=tmp_path).lines
    assert "  2025-03-01 00:00  2025-03-03 00:00  " in row
    (facts,) = cachelog("revisions", "--json", catalog=tmp_path).json
    assert facts["taken_at"] == "2025-03-01T00:00:00Z"
    assert facts["confirmed_at"] == "2025-03-03T00:00:00Z"


# -- tags, packages and stacks


def test_tags(world: World) -> None:
    """In the catalog's order, each with its series, its revisions and the newest of them."""
    history = Catalog(world.catalog.location).require_history()
    assert good(world, "tags", "--json").json == [
        {
            "tag": tag,
            "series": series(tag),
            "num_revisions": len(history.of_tag(tag)),
            "latest": revision_facts(history.of_tag(tag)[0]),
        }
        for tag in history.tags
    ]
    heads, *rows = good(world, "tags").lines
    assert re.split("  +", heads)[:5] == ["tag", "series", "revisions", "digest", "taken at"]
    assert [row.split()[0] for row in rows] == history.tags


def test_limit_and_width(world: World) -> None:
    """The first rows, in lines that fit; without a terminal lines are whole."""
    for command in ("tags", "revisions"):
        assert len(good(world, command, "-n", 2).lines) == 3
        first = good(world, command, "--limit", 2, "--json").json
        assert first == good(world, command, "--json").json[:2]
        assert max(map(len, good(world, command, "--width", 50).lines)) <= 50
        assert max(map(len, good(world, command).lines)) > 50


def test_the_output_names_the_revision_that_no_argument_names(world: World) -> None:
    """The newest of develop; a table of a named revision ends with its last row."""
    newest = world.newest.info
    where = f"develop of {newest.taken_at:%Y-%m-%d} ({newest.digest[:12]})"
    packages, stacks = good(world, "packages"), good(world, "stacks")
    assert packages.lines[-1] == f"{newest.num_packages} packages in {where}"
    assert packages.lines[:-1] == good(world, "packages", "develop").lines
    assert stacks.lines[-1].endswith(f" stacks in {where}")
    in_stack = good(world, "packages", "--stack", "e4s").lines[-1]
    assert in_stack.endswith(f" in the stack e4s of {where}")
    assert good(world, "find").lines[-1].endswith(f" in {where}")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two packages in two stacks."""
    folder = tmp_path_factory.mktemp("small")
    specs = [
        a_spec("1", name="zlib", version="1.2", size=10, stacks=("e4s", "root")),
        a_spec("2", name="zlib", version="1.10", size=None, stacks=("root",)),
        a_spec("3", name="hdf5", version="1.14", size=None, stacks=("e4s", "hep", "root")),
    ]
    Catalog(str(folder)).publish([a_snapshot(specs)])
    return folder


def test_packages(small: Path) -> None:
    """By name, the newest version first; with a stack all numbers are those of the stack."""
    assert cachelog("packages", "develop", catalog=small).lines == [
        "package  newest  versions  specs  stacks     size",
        "hdf5     1.14           1      1       2  unknown",
        "zlib     1.10           2      2       1     10 B",
    ]
    document = cachelog("packages", "develop", "--json", catalog=small).json
    assert document["revision"]["tag"] == "develop"
    assert (document["stack"], document["search"]) == (None, None)
    numbers = {"num_specs": 2, "num_stacks": 1, "total_size": 10}
    assert document["packages"][1] == {"name": "zlib", "versions": ["1.10", "1.2"], **numbers}
    of_stack = cachelog("packages", "--stack", "e4s", "--json", catalog=small).json
    assert [it["versions"] for it in of_stack["packages"]] == [["1.14"], ["1.2"]]
    assert of_stack["stack"] == "e4s"


def test_stacks(small: Path) -> None:
    """By name, root among them."""
    assert cachelog("stacks", "develop", catalog=small).lines == [
        "stack  packages  specs     size",
        "e4s           2      2     10 B",
        "hep           1      1  unknown",
        "root          2      3     10 B",
    ]
    document = cachelog("stacks", "--json", catalog=small).json
    numbers = {"num_packages": 2, "num_specs": 2, "total_size": 10}
    assert document["stacks"][0] == {"name": "e4s", **numbers}


def test_search(demo_catalog: Path) -> None:
    """Packages with the text in their name, in any case; a remark says that none has it."""
    every, some = (
        cachelog("packages", *options, "--json", catalog=demo_catalog).json["packages"]
        for options in ((), ("--search", "LIB"))
    )
    assert some == [it for it in every if "lib" in it["name"]]
    assert 0 < len(some) < len(every)
    nothing = cachelog("packages", "--search", "no such", catalog=demo_catalog)
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.startswith("No package of develop of ")
