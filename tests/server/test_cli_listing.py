"""``cachelog revisions``, ``tags``, ``packages``, ``stacks`` and ``find``: one line per item."""

import re
from pathlib import Path

import orjson
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.models import SHOWN_FACTS, Spec, revision_facts
from tests.schema.worlds import World
from tests.server.commands import cachelog, succeed_in
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.templates import catalog_of


def test_revisions_are_listed_newest_first(world: World) -> None:
    """Newest first, with ref, time of confirmation, numbers and source, none truncated."""
    header, *rows = succeed_in(world, "revisions").lines
    numbers = ["packages", "specs", "stacks"]
    assert re.split("  +", header) == [
        "revision",
        "last seen",
        *numbers,
        "source",
        "hashes",
        "read from",
    ]
    for row, state in zip(rows, world.states[::-1], strict=True):
        info = state.info
        facts = [info.ref, *f"{info.taken_at:%Y-%m-%d %H:%M}".split()]
        facts += [str(getattr(info, f"num_{name}")) for name in numbers]
        facts += ["pages", "(synthetic)", "not", "checked", info.source.location]
        assert row.split() == facts


def test_tags_are_listed(world: World) -> None:
    """In the order of the catalog, with series, number of revisions and the newest one."""
    history = Catalog(world.catalog.location).require_history()
    tags = succeed_in(world, "tags", "--json").json
    first = {"tag": "develop", "series": "develop", "num_revisions": 2}
    assert tags[0] == first | {"latest": revision_facts(world.newest.info)}
    assert [tag["tag"] for tag in tags] == history.tags
    header, *rows = succeed_in(world, "tags").lines
    assert re.split("  +", header)[:4] == ["tag", "series", "revisions", "newest"]
    assert [row.split()[0] for row in rows] == history.tags


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two packages in two stacks."""
    specs = [
        a_spec("1", name="zlib", version="1.2", size=10, stacks=("e4s", "root")),
        a_spec("2", name="zlib", version="1.10", size=None, stacks=("root",)),
        a_spec("3", name="hdf5", version="1.14", size=None, stacks=("e4s", "hep", "root")),
    ]
    snapshots = (a_snapshot(specs, taken_at=day(number)) for number in (0, 2))  # confirmed once
    return catalog_of(tmp_path_factory.mktemp("small"), *snapshots)


def test_packages_are_listed_by_name(small: Path) -> None:
    """By name, the newest version first; ``--stack`` restricts all numbers to the stack."""
    assert cachelog("packages", "develop", catalog=small).lines == [
        "package  newest  versions  specs  stacks     size",
        "hdf5     1.14           1      1       2  unknown",
        "zlib     1.10           2      2       1     10 B",
    ]
    report = cachelog("packages", "develop", "--json", catalog=small).json
    assert (report["revision"]["tag"], report["stack"], report["search"]) == ("develop", None, None)
    numbers = {"num_specs": 2, "num_stacks": 1, "total_size": 10}
    assert report["packages"][1] == {"name": "zlib", "versions": ["1.10", "1.2"], **numbers}
    assert re.match(
        r"develop@2025-01-05\.\w{8}  2025-01-07 00:00 ",
        cachelog("revisions", catalog=small).lines[1],
    )
    of_stack = cachelog("packages", "--stack", "e4s", "--json", catalog=small).json
    assert [package["versions"] for package in of_stack["packages"]] == [["1.14"], ["1.2"]]
    assert of_stack["stack"] == "e4s"


def specs_in(catalog: Path) -> list[Spec]:
    """Return the specs of the newest revision of develop, in the order of the catalog."""
    opened = Catalog(str(catalog))
    frame = opened.reader().frame(opened.require_history().resolve("develop").digest)
    return [frame.spec(row) for row in range(len(frame))]


def test_json_has_all_facts(demo_catalog: Path) -> None:
    """The query, the revision, the number of specs, and all facts of each."""
    spec = specs_in(demo_catalog)[0]
    document = cachelog("find", spec.name, f"/{spec.hash[:9]}", "--json", catalog=demo_catalog).json
    assert (document["query"], document["total"]) == (f"{spec.name} /{spec.hash[:9]}", 1)
    assert document["revision"]["tag"] == "develop"
    facts = {name: getattr(spec, name) for name in SHOWN_FACTS if name != "dependencies"}
    assert document["specs"] == [orjson.loads(orjson.dumps(facts)) | {"short": spec.short}]
    result = cachelog("find", f"{spec.name}@999:", catalog=demo_catalog)
    assert (result.code, result.out) == (0, "")
    assert re.fullmatch(rf"No spec in develop@\S+ matches {spec.name}@999:\.\n", result.err)


@pytest.mark.parametrize(
    ("query", "nearest", "hint"),
    [
        ("hdf5 ^zlip", {"zlip": ["zlib"]}, "'zlip'; nearest: zlib"),
        ("hdf5 %[deptypes=build] qqq", {"qqq": []}, "'qqq'"),
    ],
)
def test_unknown_name_matches_no_spec(
    tmp_path: Path, query: str, nearest: dict[str, list[str]], hint: str
) -> None:
    """Nothing matches, as in Spack; a message lists the nearest names."""
    specs = [a_spec(name, name=name, dependencies=()) for name in ("zlib", "hdf5")]
    catalog_of(tmp_path, a_snapshot(specs))
    code, out, err = cachelog("find", query, catalog=tmp_path)
    assert (code, out) == (0, "")
    assert err.splitlines()[1:] == [f"In this catalog nothing is named {hint}."]
    document = cachelog("find", query, "--json", catalog=tmp_path).json
    assert (document["specs"], document["total"]) == ([], 0)
    assert {name["name"]: name["nearest"] for name in document["unknown_names"]} == nearest
    assert cachelog("diff", "develop..develop", "--matching", query, catalog=tmp_path).code == 1
