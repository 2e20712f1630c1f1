"""``cachelog revisions``, ``packages`` and ``find``: one line per item."""

import re
from pathlib import Path

import pytest
from strawberry.utils.str_converters import to_camel_case

from snapshots.catalog.catalog import Catalog
from snapshots.models import SHOWN_FACTS, Spec
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
    assert re.match(
        r"develop@2025-01-05\.\w{8}  2025-01-07 00:00 ",
        cachelog("revisions", catalog=small).lines[1],
    )
    of_stack = cachelog("packages", "--stack", "e4s", "--json", catalog=small).json
    specs = [package["specs"] for package in of_stack["revision"]["packages"]["nodes"]]
    assert [[it["value"] for it in each["facet"]] for each in specs] == [
        ["1.14"],
        ["1.2"],
    ]


def specs_in(catalog: Path) -> list[Spec]:
    """Return the specs of the newest revision of develop, in the order of the catalog."""
    opened = Catalog(str(catalog))
    frame = opened.reader().frame(opened.require_history().resolve("develop").digest)
    return [frame.spec(row) for row in range(len(frame))]


def test_json_has_all_facts(demo_catalog: Path) -> None:
    """Each fact that the text of a spec can show."""
    spec = specs_in(demo_catalog)[0]
    document = cachelog("find", spec.name, f"/{spec.hash[:9]}", "--json", catalog=demo_catalog).json
    (node,) = document["revision"]["specs"]["nodes"]
    facts = {to_camel_case(name) for name in SHOWN_FACTS} - {"dependencies", "stacks"}
    assert facts <= node.keys() | {"provides"}
    assert (node["short"], tuple(node["stackNames"])) == (spec.short, spec.stacks)
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
    specs = document["revision"]["specs"]
    assert specs["totalCount"] == 0
    assert {name["name"]: name["nearestNames"] for name in specs["unknownNames"]} == nearest
    assert cachelog("diff", "develop..develop", "--matching", query, catalog=tmp_path).code == 1
