"""``cachelog keep-list``: the hashes that a build cache has to retain, and the remaining ones."""

import re
from pathlib import Path

import pytest

from server.terminal.printing.maintenance import KEEP_LIST_FORMAT
from tests.server.commands import CommandResult, cachelog, fail
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file
from tests.snapshots.templates import catalog_of

TEXT = (Path(__file__).parents[2] / "docs" / "keeping.md").read_text("utf-8")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of a release and of three days, with added, removed and unchanged specs."""
    unchanged = a_spec("unchanged", name="unchanged", size=1)
    removed = a_spec("removed", name="removed", size=1 << 20, stacks=("e4s", "root"), target="zen4")
    added = a_spec("added", name="added", stacks=("e4s", "root"))
    return catalog_of(
        tmp_path_factory.mktemp("catalog"),
        a_snapshot([unchanged, removed], "develop", day(0)),
        a_snapshot([unchanged], "develop", day(1)),
        a_snapshot([unchanged, added], "develop", day(2)),
        a_snapshot([a_spec("release", name="release")], "v1.0.0", day(1)),
    )


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """Write a lock file of two specs that are in no revision."""
    file = tmp_path / "spack.lock"
    file.write_bytes(as_bytes(small_lock_file()))
    return file


def keep_list(catalog: Path, *arguments: object, keep: str = "1 last") -> CommandResult:
    """Run the command on a catalog."""
    return cachelog("keep-list", "--keep", keep, *arguments, catalog=catalog)


def hashes(*labels: str) -> list[str]:
    """Return the sorted hashes of labels."""
    return sorted(map(hash_of, labels))


def test_list_has_one_hash_per_line(catalog: Path) -> None:
    """One line per hash, sorted, and no other output."""
    result = keep_list(catalog)
    assert (result.code, result.err) == (0, "")
    assert result.lines == hashes("unchanged", "added", "release")
    assert keep_list(catalog, keep="all").lines == hashes(
        "unchanged", "added", "removed", "release"
    )


def test_unknown_dependencies_are_reported(catalog: Path) -> None:
    """A message says that specs which only they need are not listed."""
    result = keep_list(catalog, "--whole")
    assert result.lines == hashes("unchanged", "added", "release")
    remark = "The dependencies of 3 specs are unknown: what only these reach is not on the list."
    assert (result.code, result.err) == (0, f"{remark}\n")


def test_output_file_includes_lock_files(catalog: Path, lock: Path, tmp_path: Path) -> None:
    """It also contains the specs of lock files; standard output states its size."""
    file = tmp_path / "keep.txt"
    result = keep_list(catalog, "-o", file, "--lock", lock)
    assert result.lines == ["5 hashes of 2 revisions and 1 lock file"]
    assert file.read_text() == keep_list(catalog, "--lock", lock).out
    assert {*keep_list(catalog).lines} < {*file.read_text().splitlines()}
    error = fail("keep-list", "--keep", "1 last", "-o", lock / "keep.txt", catalog=catalog)
    assert str(lock) in error


def test_impact_counts_other_specs(catalog: Path, lock: Path) -> None:
    """Specs, bytes and cells outside the list, and the specs that lock files lose."""
    result = keep_list(catalog, "--impact", "--check", lock)
    assert (result.code, result.err) == (0, "")
    assert result.lines == [
        "kept: 3 hashes of 2 revisions",
        "rest: 1 spec of other revisions, 1.0 MiB",
        "no spec is left in 1 cell of package, stack and target",
        "  - removed e4s zen4",
        f"{lock}: 2 of 2 specs are not kept, 2 of them in no revision",
    ]
    with_lock = keep_list(catalog, "--impact", "--check", lock, "--lock", lock)
    assert with_lock.lines[-1] == f"{lock}: 0 of 2 specs are not kept"
    complete = keep_list(catalog, "--impact", keep="all")
    assert complete.lines[1] == "rest: 0 specs of other revisions"


def test_json_keys_are_documented(catalog: Path, lock: Path) -> None:
    """The documentation describes each key, in the order of the document."""
    report = keep_list(catalog, "--json", "--impact", "--check", lock).json
    section = TEXT.split("\n## Keep lists for Spack\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE) == [*report]
    assert report["format"] == KEEP_LIST_FORMAT
    assert [revision["tag"] for revision in report["revisions"]] == ["develop", "v1.0.0"]
    assert report["hashes"] == hashes("unchanged", "added", "release")
    assert report["rest"] == {
        "num_specs": 1,
        "size": 1 << 20,
        "num_unknown": 0,
        "coverage_lost": [{"package": "removed", "stack": "e4s", "target": "zen4"}],
        "lock_files": [{"file": str(lock), "num_specs": 2, "num_lost": 0, "num_absent": 2}],
    }
    assert {*report["rest"]} <= {*re.findall(r"`([a-z_]+)`", section)}
    assert keep_list(catalog, "--json").json["rest"] is None
