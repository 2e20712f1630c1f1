"""``cachelog check``: which specs of a lock file are in a build cache."""

import io
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from snapshots.models import Spec
from tests.server.commands import CommandResult, cachelog, fail, succeed
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file
from tests.snapshots.templates import catalog_of

TEXT = (Path(__file__).parents[2] / "docs" / "lock-files.md").read_text("utf-8")
ARCH = {"platform": "linux", "platform_os": "ubuntu22.04", "target": "x86_64_v3"}


def a_built_spec(label: str, **facts: Any) -> Spec:
    """Return a spec of the catalog."""
    return a_spec(label, compiler=None, variants=("+mpi",), **facts)


def a_locked_spec(
    label: str, name: str = "hdf5", version: str = "1.14.5", **more: Any
) -> dict[str, Any]:
    """Return a node of a lock file that describes the same spec as ``a_built_spec``."""
    facts = {"arch": ARCH, "parameters": {"mpi": True}, "namespace": None, "package_hash": None}
    return node(name, hash_of(label), version, **facts | more)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two revisions of develop and two releases; tests only read it."""
    zlib = a_built_spec("zlib", name="zlib", version="1.3")
    return catalog_of(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot([a_built_spec("old"), zlib], "develop", day(1)),
        a_snapshot([a_built_spec("new", version="1.14.6"), zlib], "develop", day(2)),
        a_snapshot([a_built_spec("new", version="1.14.6"), zlib], "v1.0.0", day(3)),
        a_snapshot([a_built_spec("old"), zlib, a_built_spec("x")], "v0.9.0", day(0)),
    )


WRITER = {"version": "1.3.0.dev0", "type": "git", "commit": "c7c444853d" + "0" * 30}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """Write a lock file: two roots, one in no revision, a dependency, and an external root."""
    specs = [
        a_locked_spec("old"),
        a_locked_spec("never", "lua", "5.4"),
        a_locked_spec("zlib", "zlib", "1.3"),
        a_locked_spec("gcc", "gcc", "13.2.0", external={"path": "/usr"}),
    ]
    groups = (("old", "apps"), ("never", "apps"), ("old", "libs"), ("gcc", "none"))
    roots = [{"hash": hash_of(label), "spec": "any", "group": group} for label, group in groups]
    file = tmp_path / "spack.lock"
    file.write_bytes(as_bytes(lock_file(specs, [], 8, spack=WRITER) | {"roots": roots}))
    return file


def check(catalog: Path, *arguments: object) -> CommandResult:
    """Run the command on a catalog."""
    return cachelog("check", *arguments, catalog=catalog)


def test_counts_and_missing_specs_are_printed(catalog: Path, lock: Path) -> None:
    """For the newest revision of develop: counts, also by groups of roots, and missing specs.

    The first line also names the Spack that wrote the file.
    """
    title, *lines = succeed("check", lock, catalog=catalog).lines
    assert title.startswith("Searched develop of 2025-01-07 (")
    assert title.endswith("), for a lock file of Spack 1.3.0.dev0 (git, c7c444853d)")
    (last_seen,) = (line for line in lines if "last in" in line)
    assert last_seen.startswith("    last in develop of 2025-01-06 (")
    assert ", removed in develop of 2025-01-07 (" in last_seen
    assert last_seen.endswith("): replaced")
    lines.remove(last_seen)
    assert lines == [
        "  roots         0 of 2    0.0 %",
        "    apps        0 of 2    0.0 %",
        "    libs        0 of 1    0.0 %",
        "    none        0 of 0  100.0 %",
        "  dependencies  1 of 1  100.0 %",
        "  all           1 of 3   33.3 %",
        "Not looked up, because build caches do not contain them: gcc@13.2.0 (external).",
        "",
        f"- hdf5@1.14.5 {hash_of('old')[:7]}, a root",
        f"    nearest: hdf5@1.14.6 {hash_of('new')[:7]}: version: 1.14.5 -> 1.14.6",
        f"- lua@5.4 {hash_of('never')[:7]}, a root",
        "    never seen in this catalog",
        "    no other spec of the package is available",
    ]


def test_revisions_are_selected(catalog: Path, lock: Path) -> None:
    """The one of ``--in``, or the best of the newest ones of all tags or of a series."""
    assert check(catalog, lock, "--in", "develop~1").lines[1:4] == [
        "  roots         1 of 2   50.0 %",
        "    apps        1 of 2   50.0 %",
        "    libs        1 of 1  100.0 %",
    ]
    result = check(catalog, lock, "--best")
    assert [line.split()[0] for line in result.lines[:4]] == ["tag", "v0.9.0", "v1.0.0", "develop"]
    assert result.lines[1].endswith("2 of 3  1 of 2")
    assert result.lines[5].startswith("Searched v0.9.0 of 2025-01-05 (")
    of_series = check(catalog, lock, "--best", "--series", "develop", "--json").json
    assert [revision["num_found"] for revision in of_series["best"]] == [2, 1]
    assert of_series["revision"] == of_series["best"][0]["revision"]


def test_json_keys_are_documented(catalog: Path, lock: Path) -> None:
    """It contains the same data; docs/lock-files.md describes each key."""
    report = check(catalog, lock, "--json").json
    assert report["format"] == 1
    assert report["revision"]["tag"] == "develop"
    keys = ("num_wanted", "num_found", "num_roots_wanted", "num_roots_found")
    assert [report[name] for name in keys] == [3, 1, 2, 0]
    assert report["found"] == [hash_of("zlib")]
    assert report["spack"] == WRITER
    groups = [tuple(group.values()) for group in report["groups"]]
    assert groups == [("apps", 2, 0), ("libs", 1, 0), ("none", 0, 0)]
    (gcc,) = report["left_out"]
    facts = {"hash": hash_of("gcc"), "name": "gcc", "version": "13.2.0"}
    assert gcc == facts | {"why": "external", "is_root": True}
    old, unknown = report["missing"]
    assert (old["hash"], old["reason"], old["is_root"]) == (hash_of("old"), "replaced", True)
    assert old["nearest"]["hash"] == hash_of("new")
    assert old["differences"] == [{"path": "version", "before": "1.14.5", "after": "1.14.6"}]
    assert (unknown["last_seen"], unknown["reason"], unknown["gone_in"]) == (None, None, None)
    assert unknown["nearest"] is None
    parts = gcc, old, old["differences"][0], report["spack"], report["groups"][0]
    for key in {"best", *report}.union(*parts):
        assert f"`{key}`" in TEXT, key


@pytest.mark.parametrize(("share", "code"), [("33.3 %", 0), ("33.4", 1)])
def test_share_determines_the_exit_code(catalog: Path, lock: Path, share: str, code: int) -> None:
    """1 below the share of ``--fail-under``, with a message."""
    result = check(catalog, lock, "--fail-under", share)
    assert (result.code, "That is less than" in result.err) == (code, code == 1)


def test_dash_reads_standard_input(catalog: Path, lock: Path) -> None:
    """A dash reads it."""
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(lock.read_bytes()))):
        result = check(catalog, "-", "--json")
    assert result.json == check(catalog, lock, "--json").json
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{"))):
        error = fail("check", "-", catalog=catalog)
    assert error.startswith("cachelog: standard input, line 1: is not valid JSON: ")


def test_unreadable_history_is_reported(catalog: Path, lock: Path, tmp_path: Path) -> None:
    """All other parts are printed, with a message."""
    catalog = Path(shutil.copytree(catalog, tmp_path / "catalog"))
    for file in (catalog / "changes").rglob("*.parquet"):
        file.write_bytes(b"")
    result = check(catalog, lock, "--json")
    assert result.code == 0
    assert result.err.startswith("It is unknown when they were last there: ")
    assert result.json["is_history_known"] is False
    assert result.json["missing"][0]["nearest"]["hash"] == hash_of("new")
