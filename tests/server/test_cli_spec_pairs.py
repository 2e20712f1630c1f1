"""``cachelog diff /HASH /HASH``: two specs beside each other."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.models import Dependency, Spec
from tests.server.commands import cachelog, succeed
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file


def built(seed: str, *needs: tuple[str, str], **facts: Any) -> Spec:
    """Return a spec whose hash is that of a seed, linked to others: names and seeds."""
    edges = tuple(sorted(Dependency(name, hash_of(of), ("link",)) for name, of in needs))
    facts = {"name": seed.rstrip("12"), "version": "1.0"} | facts
    return a_spec(seed, dependencies=edges, **facts)


TWO_SPECS = Path(__file__).parents[2] / "docs" / "two-specs.md"
BEFORE = [
    built("ssl1", version="3.3"),
    built("cmake1", ("ssl", "ssl1")),
    built("zlib"),
    built("app1", ("cmake", "cmake1"), ("zlib", "zlib"), variants=("+mpi", "api=v1")),
]
AFTER = [
    built("ssl2", version="3.4"),
    built("cmake2", ("ssl", "ssl2")),
    built("zlib"),
    built("aec"),
    built(
        "app2", ("aec", "aec"), ("cmake", "cmake2"), ("zlib", "zlib"), variants=("api=v2", "~mpi")
    ),
    a_spec("lone", name="lone", dependencies=None),
]
APP, NEW_APP = f"/{hash_of('app1')}", f"/{hash_of('app2')}"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two states in a row."""
    folder = tmp_path_factory.mktemp("catalog")
    Catalog(str(folder)).publish(
        [a_snapshot(BEFORE, "develop", day(0)), a_snapshot(AFTER, "develop", day(1))]
    )
    return folder


def test_everything_that_differs_and_why(catalog: Path) -> None:
    """Of their own, of direct dependencies, the causes with the way to each, and below."""
    done = succeed("diff", APP[:9], NEW_APP[:9], catalog=catalog)
    first, second, *lines = done.lines
    assert first.startswith(f"{APP} app@1.0 in develop of 2025-01-05")
    assert second.startswith(f"{NEW_APP} app@1.0 in develop of 2025-01-06")
    cmake = f"{hash_of('cmake1')[:7]} → {hash_of('cmake2')[:7]}"
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
    assert cachelog("diff", f"{APP}..{NEW_APP}", catalog=catalog).out == done.out


def document(catalog: Path, *hashes: str) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    done = succeed("diff", *hashes, "--json", catalog=catalog)
    loaded: dict[str, Any] = json.loads(done.out)
    return loaded


def test_json(catalog: Path) -> None:
    """One document, whose keys docs/two-specs.md describes in their order."""
    pair = document(catalog, APP, NEW_APP)
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
    assert cmake["path"][1]["before"] == hash_of("ssl1")
    assert {cause["title"]: len(cause["path"]) for cause in pair["causes"]} == {
        "ssl 3.3 → 3.4": 3,
        "app +mpi api=v1 → api=v2 ~mpi": 1,
    }
    assert [pair[key] for key in keys if key.endswith(("_below", "_base", "_head"))] == [1, 2, 0, 1]
    assert pair["document"]["values_changed"]["root['variants']['mpi']"] == {
        "old_value": True,
        "new_value": False,
    }


def test_two_packages_and_one_spec(catalog: Path) -> None:
    """What two packages share, and that a spec is itself."""
    done = cachelog("diff", APP, f"/{hash_of('cmake2')}", catalog=catalog)
    assert done.lines[3:5] == ["Of their own:", "  name app → cmake"]
    assert "Below: 0 specs shared, 1 differs, 2 only below the first" in done.out
    same = cachelog("diff", APP, APP, "--exit-code", catalog=catalog)
    assert (same.code, same.lines[-1]) == (0, "Both are one spec: they have one hash.")
    assert document(catalog, APP, APP)["document"] == {}
    assert cachelog("diff", APP, NEW_APP, "--exit-code", catalog=catalog).code == 1


def test_a_spec_of_two_sides(catalog: Path, tmp_path: Path) -> None:
    """The one that a query means on each; of several that which a lock file requests."""
    done = cachelog("diff", "develop~1", "develop", "--spec", "app", catalog=catalog)
    assert done.out == cachelog("diff", APP, NEW_APP, catalog=catalog).out
    lock = tmp_path / "spack.lock"
    lock.write_text(json.dumps(LOCK))
    done = succeed("diff", str(lock), "develop", "--spec", "zlib", catalog=catalog)
    assert done.lines[0].startswith(f"/{'a' * 32} zlib@1.2 in ")
    assert "  version 1.2 → 1.0" in done.lines
    done = cachelog("diff", str(lock), "develop", "--spec", "zlib", "--json", catalog=catalog)
    compiler = {"old_type": "NoneType", "old_value": None}
    compiler |= {"new_type": "str", "new_value": "gcc@13.2.0"}
    assert done.json["document"]["type_changes"] == {"root['compiler']": compiler}
    none = cachelog("diff", "develop~1", "develop", "--spec", "aec", catalog=catalog)
    assert none.err.startswith("cachelog: --spec: develop of 2025-01-05")
    assert "has no such spec" in none.err
    some = cachelog("diff", "develop~1", "develop", "--spec", "@1.0", catalog=catalog)
    assert "has 3 such specs: /" in some.err


def _zlib(digest: str) -> dict[str, Any]:
    arch = {"platform": "linux", "platform_os": "ubuntu22.04", "target": "x86_64_v3"}
    return {"name": "zlib", "version": "1.2", "arch": arch, "parameters": {}, "hash": digest}


LOCK = {
    "_meta": {"file-type": "spack-lockfile", "lockfile-version": 6, "specfile-version": 5},
    "roots": [{"hash": "a" * 32, "spec": "zlib"}],
    "concrete_specs": {digest * 32: _zlib(digest * 32) for digest in "ab"},
}


def test_unknown_dependencies(catalog: Path) -> None:
    """What a source does not state is not printed."""
    done = cachelog("diff", APP, f"/{hash_of('lone')}", catalog=catalog)
    assert "What they depend on is not known of both." in done.lines
    assert "Below" not in done.out
    assert document(catalog, APP, f"/{hash_of('lone')}")["dependencies"] is None


def test_the_documentation_s_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with hashes on the catalog of the tour, those with queries beside a lock file."""
    monkeypatch.chdir(tmp_path)
    Path("spack.lock").write_bytes(as_bytes(small_lock_file()))
    cachelog("demo", "--revisions", 3, "--packages", 60, "--specs", 600, catalog="tour")
    hdf5 = {"name": "hdf5", "version": "1.14.5", "variants": ("+mpi",), "target": "x86_64_v3"}
    Catalog("other").publish(
        [a_snapshot([a_spec(seed, **hdf5)], "develop", day(n)) for n, seed in enumerate("12")]
    )
    (block,) = re.findall(r"```console\n(.*?)```", TWO_SPECS.read_text("utf-8"), re.DOTALL)
    for line in block.splitlines():
        done = cachelog(*shlex.split(line)[1:], catalog="other" if "--spec" in line else "tour")
        assert (done.code, done.err) == (int("--exit-code" in line), ""), line
        assert done.lines
