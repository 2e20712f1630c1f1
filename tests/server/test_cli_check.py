"""``cachelog check`` and ``keep-list``: specs in a build cache, and those that it has to retain."""

import io
import shutil
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.server.commands import cachelog, fail, succeed
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.sources.lockfiles.locks import as_bytes, built, lock_file, locked
from tests.snapshots.templates import catalog_of


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two revisions of develop and two releases; tests only read it."""
    zlib = built("zlib", name="zlib", version="1.3")
    old, new = built("old"), built("new", version="1.14.6")
    return catalog_of(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot([old, zlib], "develop", day(1)),
        a_snapshot([new, zlib], "develop", day(2)),
        a_snapshot([new, zlib], "v1.0.0", day(3)),
        a_snapshot([old, zlib, built("x")], "v0.9.0", day(0)),
    )


WRITER = {"version": "1.3.0.dev0", "type": "git", "commit": "c7c444853d" + "0" * 30}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """Write a lock file: two roots, one in no revision, a dependency, and an external root."""
    specs = [
        locked("old"),
        locked("never", "lua", "5.4"),
        locked("zlib", "zlib", "1.3"),
        locked("gcc", "gcc", "13.2.0", external={"path": "/usr"}),
    ]
    groups = (("old", "apps"), ("never", "apps"), ("old", "libs"), ("gcc", "none"))
    roots = [{"hash": hash_of(label), "spec": "any", "group": group} for label, group in groups]
    file = tmp_path / "spack.lock"
    file.write_bytes(as_bytes(lock_file(specs, [], 8, spack=WRITER) | {"roots": roots}))
    return file


def test_counts_and_missing_specs_are_printed(catalog: Path, lock: Path) -> None:
    """By roots, dependencies and groups; and what is missing, by what became of it."""
    title, *lines = succeed("check", lock, catalog=catalog).lines
    newest = title.split()[1].rstrip(",")
    assert title.startswith("Searched develop@2025-01-07.")
    assert title.endswith(", for a lock file of Spack 1.3.0.dev0 (git, c7c444853d)")
    assert lines[:6] == [
        "  roots         0 of 2    0.0 %",
        "    apps        0 of 2    0.0 %",
        "    libs        0 of 1    0.0 %",
        "    none        0 of 0  100.0 %",
        "  dependencies  1 of 1  100.0 %",
        "  all           1 of 3   33.3 %",
    ]
    assert lines[6] == (
        "Not looked up, because build caches do not contain them: gcc@13.2.0 (external)."
    )
    groups = "\n".join(lines[8:]).split("\n\n")
    old = (
        f"  - {hash_of('old')[:7]} hdf5@1.14.5, a root; "
        f"nearest {hash_of('new')[:7]} hdf5@1.14.6: version: 1.14.5 -> 1.14.6"
    )
    lua = f"  - {hash_of('never')[:7]} lua@5.4, a root; no other spec of the package is available"
    assert {*groups} == {
        f"1 spec: removed in {newest}: replaced because of hdf5 1.14.5 → 1.14.6\n{old}",
        f"1 spec: never seen in this catalog\n{lua}",
    }


def test_a_revision_is_selected(catalog: Path, lock: Path) -> None:
    """The one of ``--in``."""
    command: tuple[object, ...] = ("check", lock)
    before = cachelog(*command, "--in", "develop~1", catalog=catalog)
    assert before.lines[1] == "  roots         1 of 2   50.0 %"


def test_standard_input_and_exit_code(catalog: Path, lock: Path, tmp_path: Path) -> None:
    """A dash reads it; the code is 1 below a share; an unreadable history is only reported."""
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(lock.read_bytes()))):
        result = cachelog("check", "-", "--json", catalog=catalog)
    assert result.json == cachelog("check", lock, "--json", catalog=catalog).json
    for share, code in ((33, 0), (34, 1)):
        result = cachelog("check", lock, "--fail-under", share, catalog=catalog)
        assert (result.code, "That is less than" in result.err) == (code, code == 1)
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{"))):
        error = fail("check", "-", catalog=catalog)
    assert error.startswith("cachelog: standard input, line 1: is not valid JSON: ")
    copy = shutil.copytree(catalog, tmp_path / "catalog")
    for file in (copy / "changes").rglob("*.parquet"):
        file.write_bytes(b"")
    result = cachelog("check", lock, "--json", catalog=copy)
    missing = result.json["revision"]["lookup"]["missing"]["nodes"]
    assert (result.code, {spec["lastSeen"] for spec in missing}) == (0, {None})
    assert "The catalog cannot be read at the moment." in result.err
    result = cachelog("check", lock, catalog=copy)
    assert result.err.startswith("It is unknown when they were last there: ")
    assert "2 specs: it is not known whether they ever were in this catalog" in result.lines


def test_keep_list_has_the_hashes_of_revisions_and_lock_files(lock: Path, tmp_path: Path) -> None:
    """Those that the policy keeps, sorted; a message says whose dependencies are unknown."""
    removed, added = a_spec("removed", name="removed"), a_spec("added", name="added")
    catalog = catalog_of(
        tmp_path / "catalog",
        a_snapshot([removed], "develop", day(0)),
        a_snapshot([added], "develop", day(1)),
    )
    command = ("keep-list", "--keep", "1 last")
    assert succeed(*command, catalog=catalog).lines == [added.hash]
    with_lock = succeed(*command, "--lock", lock, catalog=catalog).lines
    assert with_lock == sorted(with_lock)
    assert (added.hash in with_lock, len(with_lock)) == (True, 4)
    whole = cachelog(*command, "--whole", catalog=catalog)
    assert whole.err.startswith("The dependencies of 1 spec are unknown: ")


def test_keep_list_tells_its_impact(lock: Path, tmp_path: Path) -> None:
    """Specs, bytes and cells outside the list, and the specs that lock files lose."""
    removed = a_spec("removed", name="removed", size=1 << 20, stacks=("e4s",), target="zen4")
    catalog = catalog_of(
        tmp_path / "catalog",
        a_snapshot([removed, a_spec("kept")], "develop", day(0)),
        a_snapshot([a_spec("kept")], "develop", day(1)),
    )
    command = ("keep-list", "--keep", "1 last", "--impact", "--check", lock)
    assert succeed(*command, catalog=catalog).lines == [
        "not on the list: 1 spec, 1.0 MiB",
        "no spec is left in 1 cell of package, stack and target",
        "  - removed e4s zen4",
        f"{lock}: 3 of 3 specs are not on the list, 3 of them in no revision",
    ]
    with_lock = succeed(*command, "--lock", lock, catalog=catalog)
    assert with_lock.lines[-1] == f"{lock}: 0 of 3 specs are not on the list"
