"""``cachelog diff /HASH /HASH``: a comparison of two specs."""

import re
import shlex
from pathlib import Path

import pytest

from tests.server.commands import cachelog, succeed
from tests.server.known_catalogs import a_linked_spec
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file, small_lock_file
from tests.snapshots.templates import catalog_of

TWO_SPECS = Path(__file__).parents[2] / "docs" / "two-specs.md"
BEFORE = [
    a_linked_spec("ssl:1", version="3.3"),
    a_linked_spec("cmake:1", "ssl:1"),
    a_linked_spec("zlib"),
    a_linked_spec("app:1", "cmake:1", "zlib", variants=("+mpi", "api=v1")),
]
AFTER = [
    a_linked_spec("ssl:2", version="3.4"),
    a_linked_spec("cmake:2", "ssl:2"),
    a_linked_spec("zlib"),
    a_linked_spec("aec"),
    a_linked_spec("app:2", "aec", "cmake:2", "zlib", variants=("api=v2", "~mpi")),
    a_spec("lone", name="lone", dependencies=None),
]
APP, NEW_APP = f"/{hash_of('app:1')}", f"/{hash_of('app:2')}"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two consecutive revisions."""
    snapshots = a_snapshot(BEFORE, "develop", day(0)), a_snapshot(AFTER, "develop", day(1))
    return catalog_of(tmp_path_factory.mktemp("catalog"), *snapshots)


def test_text_lists_differences_and_causes(catalog: Path) -> None:
    """Own differences, direct dependencies, causes with their paths, and indirect dependencies."""
    result = succeed("diff", APP[:9], NEW_APP[:9], catalog=catalog)
    first, second, *lines = result.lines
    assert first.startswith(f"{APP} app@1.0 in develop of 2025-01-05")
    assert second.startswith(f"{NEW_APP} app@1.0 in develop of 2025-01-06")
    cmake = f"{hash_of('cmake:1')[:7]} → {hash_of('cmake:2')[:7]}"
    assert lines == [
        "",
        "Of their own:",
        "  api=v1 → api=v2",
        "  +mpi → ~mpi",
        "",
        "Direct dependencies that differ:",
        f"  + aec@1.0 /{hash_of('aec')[:7]} (link)",
        f"  ~ cmake@1.0 {cmake} because of ssl",
        "",
        "Why: 2 causes",
        "  cause                          way to it",
        "  app +mpi api=v1 → api=v2 ~mpi  app",
        "  ssl 3.3 → 3.4                  app → cmake → ssl",
        "",
        "Below: 1 spec shared, 2 differ, 1 only below the second",
        "  aec: only below the second",
        "  ssl: version 3.3 → 3.4",
    ]
    assert cachelog("diff", f"{APP}..{NEW_APP}", catalog=catalog).out == result.out


def test_json_keys_are_documented(catalog: Path) -> None:
    """docs/two-specs.md describes its keys in their order."""
    pair = succeed("diff", APP, NEW_APP, "--json", catalog=catalog).json
    keys = re.findall(r"^\| `([a-z_]+)` \|", TWO_SPECS.read_text("utf-8"), re.MULTILINE)
    assert keys == [*pair]
    assert pair["format"] == 1
    assert [pair[side]["spec"]["hash"] for side in ("base", "head")] == [APP[1:], NEW_APP[1:]]
    assert pair["facts"] == []
    assert pair["variants"] == {"removed": ["+mpi", "api=v1"], "added": ["api=v2", "~mpi"]}
    aec, cmake = pair["dependencies"]
    after = {"hash": hash_of("aec"), "version": "1.0", "types": ["link"], "virtuals": []}
    assert (aec["before"], aec["path"], aec["after"]) == (None, [], after)
    assert [step["name"] for step in cmake["path"]] == ["cmake", "ssl"]
    assert cmake["path"][1]["before"] == hash_of("ssl:1")
    assert [len(cause["path"]) for cause in pair["causes"]] == [1, 3]
    assert [pair[key] for key in keys if key.endswith(("_below", "_base", "_head"))] == [1, 2, 0, 1]
    changed = {"root['variants']['mpi']": {"old_value": True, "new_value": False}}
    assert pair["document"]["values_changed"].items() >= changed.items()


def test_different_packages_and_equal_specs_are_compared(catalog: Path) -> None:
    """The shared dependencies of two packages; a spec equals itself."""
    result = cachelog("diff", APP, f"/{hash_of('cmake:2')}", catalog=catalog)
    assert result.lines[3:5] == ["Of their own:", "  name app → cmake"]
    assert "Below: 0 specs shared, 1 differs, 2 only below the first" in result.out
    same = cachelog("diff", APP, APP, "--exit-code", catalog=catalog)
    assert (same.code, same.lines[-1]) == (0, "Both are the same spec: they have the same hash.")
    assert cachelog("diff", APP, APP, "--json", catalog=catalog).json["document"] == {}
    assert cachelog("diff", APP, NEW_APP, "--exit-code", catalog=catalog).code == 1


def test_query_selects_a_spec_of_each_side(catalog: Path, tmp_path: Path) -> None:
    """The only match of a query on each side; a root takes precedence in a lock file."""
    result = cachelog("diff", "develop~1", "develop", "--spec", "app", catalog=catalog)
    assert result.out == cachelog("diff", APP, NEW_APP, catalog=catalog).out
    lock = tmp_path / "spack.lock"
    specs = [node("zlib", digest * 32, "1.2") for digest in "ab"]
    lock.write_bytes(as_bytes(lock_file(specs, ["a" * 32])))
    command = ("diff", lock, "develop", "--spec", "zlib")
    result = succeed(*command, catalog=catalog)
    assert result.lines[0].startswith(f"/{'a' * 32} zlib@1.2 in ")
    assert "  version 1.2 → 1.0" in result.lines
    document = cachelog(*command, "--json", catalog=catalog).json["document"]
    assert document["type_changes"]["root['compiler']"]["new_value"] == "gcc@13.2.0"
    none = cachelog("diff", "develop~1", "develop", "--spec", "aec", catalog=catalog)
    assert none.err.startswith("cachelog: --spec: develop of 2025-01-05")
    assert "has no such spec" in none.err
    several = cachelog("diff", "develop~1", "develop", "--spec", "@1.0", catalog=catalog)
    assert "has 3 such specs: /" in several.err


def test_unknown_dependencies_are_not_none(catalog: Path) -> None:
    """They are not printed as none."""
    result = cachelog("diff", APP, f"/{hash_of('lone')}", catalog=catalog)
    assert "Their dependencies are not known for both." in result.lines
    assert "Below" not in result.out
    result = cachelog("diff", APP, f"/{hash_of('lone')}", "--json", catalog=catalog)
    assert result.json["dependencies"] is None


def test_documented_commands_succeed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with hashes run on the catalog of the tour, those with queries next to a lock file."""
    monkeypatch.chdir(tmp_path)
    Path("spack.lock").write_bytes(as_bytes(small_lock_file()))
    cachelog("demo", "--revisions", 3, "--packages", 60, "--specs", 600, catalog="tour")
    hdf5 = {"name": "hdf5", "version": "1.14.5", "variants": ("+mpi",), "target": "x86_64_v3"}
    builds = [a_snapshot([a_spec(seed, **hdf5)], "develop", day(n)) for n, seed in enumerate("12")]
    catalog_of(Path("other"), *builds)
    (block,) = re.findall(r"```console\n(.*?)```", TWO_SPECS.read_text("utf-8"), re.DOTALL)
    for line in block.splitlines():
        result = cachelog(*shlex.split(line)[1:], catalog="other" if "--spec" in line else "tour")
        assert (result.code, result.err) == (int("--exit-code" in line), ""), line
        assert result.lines
