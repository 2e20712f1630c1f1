"""``cachelog upkeep`` and ``status``: steps, records of runs, and exit codes."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.runs import Run, RunKind
from snapshots.catalog.verification import SHARES, verify
from snapshots.texts import counted
from tests.demo_histories import history, write_pages
from tests.server.commands import cachelog, succeed
from tests.snapshots.catalog.expected_histories import TABLES, forget
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
    lines = succeed(*KEEP, "--backup", target, catalog=catalog.location).lines
    steps = [line.partition(":")[0] for line in lines]
    assert steps == ["verify", "prune", "vacuum", "history", "backup", "runs"]
    assert Catalog(str(target)).require_history().revisions == catalog.history.revisions
    (run,) = runs_of(catalog, "upkeep")
    assert (run.result, run.message) == ("done", "")


def test_upkeep_without_a_policy_removes_nothing(catalog: Catalog) -> None:
    """As where a message asks for it, because the history is not complete."""
    forget(catalog, *TABLES)
    lines = succeed("upkeep", catalog=catalog.location).lines
    assert [line for line in lines if line.startswith(("prune", "history"))] == [
        "history: 12 pairs of neighbours compared"
    ]
    assert len(Catalog(catalog.location).require_history().revisions) == 12


def test_all_contents_are_verified_within_thirty_days(catalog: Catalog) -> None:
    """Each day another share; after a pause, those of the days that were missed."""
    counts = [verify(catalog.location, shares={share}).num_contents for share in range(SHARES)]
    assert sum(counts) == 12
    before = datetime.now(UTC) - timedelta(days=40)
    catalog.runs.add(Run(kind=RunKind.UPKEEP, started_at=before))
    today = counts[datetime.now(UTC).toordinal() % SHARES]
    for expected in (12, today):
        result = succeed(*KEEP, catalog=catalog.location)
        assert result.lines[0] == f"verify: {counted(expected, 'content')} read"


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


def _lose_changes(folder: Path) -> None:
    shutil.rmtree(folder / "changes")


@pytest.mark.parametrize("damage", [_break_changes, _break_log, _lose_changes])
def test_damaged_history_is_made_again(catalog: Catalog, damage: Callable[[Path], None]) -> None:
    """Upkeep succeeds, and a verification then finds nothing."""
    damage(Path(catalog.location))
    lines = succeed(*KEEP, catalog=catalog.location).lines
    assert lines[0].endswith(" read; the history is damaged, and made again")
    assert "history: 12 pairs of neighbours compared" in lines
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
    result = cachelog(*KEEP, "--backup", tmp_path / "file", catalog=catalog.location)
    assert result.code == 1
    (problem,) = [line for line in result.lines if "problem" in line]
    assert problem.startswith("backup: problem: ")
    assert result.lines[-1].startswith("runs: ")
    (run,) = runs_of(catalog, "upkeep")
    assert run.result == "failed"
    assert run.message.startswith("backup: ")


def test_imports_are_recorded(tmp_path: Path) -> None:
    """What was published, what was not new, what was refused, and what failed."""
    catalog = Catalog(str(tmp_path / "catalog"))
    pages = tmp_path / "pages"
    for snapshot in history(revisions=3, packages=5, specs=20):
        write_pages(snapshot, pages)
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


def test_pairs_that_cannot_be_compared_are_a_problem(catalog: Catalog, tmp_path: Path) -> None:
    """It names the reason; once the content is back, the pairs are compared."""
    forget(catalog, *TABLES)
    digest = catalog.history.resolve("develop~3").digest
    folder = Path(catalog.location) / "specs" / f"digest={digest}"
    content = folder.rename(tmp_path / "away")
    lines = cachelog(*KEEP, catalog=catalog.location).lines
    (problem,) = [line for line in lines if line.startswith("history: ")]
    assert "problem: not compared: catalog " in problem
    assert "is missing; import the same again" in problem
    content.rename(folder)
    lines = cachelog(*KEEP, catalog=catalog.location).lines
    assert "history: 2 pairs of neighbours compared" in lines
