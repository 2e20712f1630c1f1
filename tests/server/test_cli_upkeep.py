"""``cachelog upkeep`` and ``status``: steps, records of runs, and exit codes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.runs import Run, RunKind
from snapshots.catalog.verification import SHARES, verify
from tests.server.commands import cachelog
from tests.snapshots.factories import a_snapshot, day
from tests.snapshots.importers import specs_of
from tests.snapshots.removal_catalogs import hours_ago

KEEP = ("upkeep", "--keep", "all")


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog of 12 contents, which no import that is running needs."""
    catalog = Catalog(str(tmp_path / "catalog"))
    with hours_ago(48):
        catalog.publish(a_snapshot(specs_of(n), "develop", day(n)) for n in range(12))
    return catalog


def runs_of(catalog: Catalog, kind: str) -> list[Run]:
    """Return the recorded runs of a kind, newest first."""
    return [run for run in catalog.runs.all() if run.kind == kind]


def test_steps_of_upkeep_and_its_record(catalog: Catalog, tmp_path: Path) -> None:
    """Each step has a result; the record says that all was done."""
    target = tmp_path / "copy"
    document = cachelog(*KEEP, "--backup", target, "--json", catalog=catalog.location).json
    assert [*document["steps"]] == ["verify", "prune", "vacuum", "history", "backup", "runs"]
    assert document["problems"] == {}
    assert Catalog(str(target)).require_history().revisions == catalog.history.revisions
    (run,) = runs_of(catalog, "upkeep")
    assert (run.result, run.message) == ("done", "")


def test_all_contents_are_verified_within_thirty_days(catalog: Catalog) -> None:
    """Each day another share; after a pause, those of the days that were missed."""
    counts = [verify(catalog.location, shares={share}).num_contents for share in range(SHARES)]
    assert sum(counts) == 12
    before = datetime.now(UTC) - timedelta(days=40)
    catalog.runs.add(Run(kind=RunKind.UPKEEP, started_at=before))
    numbers = [
        cachelog(*KEEP, "--json", catalog=catalog.location).json["steps"]["verify"]["numContents"]
        for _ in range(2)
    ]
    assert numbers == [12, counts[datetime.now(UTC).toordinal() % SHARES]]


def _break_contents(folder: Path) -> None:
    for path in folder.glob("specs/*/*.parquet"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)


def _break_changes(folder: Path) -> None:
    for path in folder.glob("changes/*.parquet"):
        path.write_bytes(b"no file of Parquet")


def _break_log(folder: Path) -> None:
    for path in folder.glob("comparisons/_delta_log/*"):
        path.write_bytes(b"{")


@pytest.mark.parametrize("damage", [_break_changes, _break_log])
def test_damaged_history_is_made_again(catalog: Catalog, damage: Callable[[Path], None]) -> None:
    """Upkeep succeeds, and a verification then finds nothing."""
    damage(Path(catalog.location))
    document = cachelog(*KEEP, "--json", catalog=catalog.location).json
    assert document["steps"]["history"] == {"numCompared": 12, "wasDamaged": True}
    assert document["problems"] == {}
    assert cachelog("verify", catalog=catalog.location).code == 0


def test_damaged_contents_are_a_problem_until_they_are_mended(catalog: Catalog) -> None:
    """Verification fails, and the status says so, until the same states are imported again."""
    _break_contents(Path(catalog.location))
    assert cachelog("verify", catalog=catalog.location).code == 1
    status = cachelog("status", catalog=catalog.location)
    assert status.code == 1
    assert "problem: verify fails (always): content " in status.out
    catalog.publish(a_snapshot(specs_of(n), "develop", day(n)) for n in range(12))
    assert cachelog("verify", catalog=catalog.location).code == 0
    status = cachelog("status", catalog=catalog.location)
    assert (status.code, status.out.splitlines()[-1]) == (0, "nothing needs a person")


def test_a_failing_step_does_not_stop_the_others(catalog: Catalog, tmp_path: Path) -> None:
    """The exit code is 1, and the record has the sentence."""
    (tmp_path / "file").write_text("")
    result = cachelog(*KEEP, "--backup", tmp_path / "file", "--json", catalog=catalog.location)
    assert result.code == 1
    assert [*result.json["problems"]] == ["backup"]
    assert "runs" in result.json["steps"]
    (run,) = runs_of(catalog, "upkeep")
    assert run.result == "failed"
    assert run.message.startswith("backup: ")


def test_imports_are_recorded(tmp_path: Path) -> None:
    """What was published, what was not new, what was refused, and what failed."""
    catalog = Catalog(str(tmp_path / "catalog"))
    pages = tmp_path / "pages"
    assert cachelog("demo", "--pages", pages, "--revisions", 3, "--packages", 5).code == 0
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nname = "no specs"\nlimit = "specs-added"\nat-most = 0\n')
    folder, later = sorted(pages.glob("develop-*"))
    assert cachelog("import", tmp_path / "nothing", catalog=catalog.location).code == 1
    assert runs_of(catalog, "import") == []  # there is no catalog yet
    for arguments in ((folder,), (folder,), (later, "--gate", rules)):
        cachelog("import", *arguments, catalog=catalog.location)
    cachelog("import", tmp_path / "nothing", catalog=catalog.location)
    failed, refused, unchanged, published = runs_of(catalog, "import")
    assert published.result == "published"
    assert [ref.partition("@")[0] for ref in published.revisions] == [folder.name]
    assert (unchanged.result, unchanged.series, unchanged.revisions) == (
        "unchanged",
        ["develop-DATE"],
        [],
    )
    assert (refused.result, failed.result) == ("refused", "failed")
    assert "rules are broken" in refused.message
    assert "does not exist" in failed.message
