"""The record of runs, and the status of a catalog."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.runs import Run, RunKind, RunResult
from snapshots.catalog.status import status_of
from tests.snapshots.factories import a_snapshot, a_spec, day

NOW = datetime(2026, 3, 30, tzinfo=UTC)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog of two revisions."""
    catalog = Catalog(str(tmp_path))
    catalog.publish([a_snapshot([a_spec(f"{n}")], "develop", day(n)) for n in range(2)])
    return catalog


def an_import(
    hours_ago: float, result: RunResult = RunResult.UNCHANGED, source: str = "index.json"
) -> Run:
    """Return an import of the series develop."""
    return Run(
        kind=RunKind.IMPORT,
        subject=source,
        series=["develop"],
        started_at=NOW - timedelta(hours=hours_ago),
        seconds=60,
        result=result,
        message="" if result.is_success else "a sentence",
    )


def test_runs_are_read_as_they_were_added(catalog: Catalog) -> None:
    """Newest first; another process reads the same."""
    runs = [an_import(3, RunResult.PUBLISHED), an_import(1)]
    for run in runs:
        catalog.runs.add(run)
    assert Catalog(catalog.location).runs.all() == runs[::-1]


def test_failed_import_has_the_series_of_its_source(catalog: Catalog) -> None:
    """An import that could read nothing does not know its series."""
    catalog.runs.add(an_import(3))
    failed = an_import(1, RunResult.FAILED)
    failed.series = []
    catalog.runs.add(failed)
    assert catalog.runs.all()[0].series == ["develop"]


@pytest.mark.parametrize(
    ("runs", "problems"),
    [
        ([], []),
        ([an_import(1, RunResult.FAILED)], []),  # a person saw it
        ([an_import(30), an_import(1)], []),
        (
            [an_import(30), an_import(1, RunResult.FAILED)],
            ["import of index.json fails (the last success was 2026-03-28 18:01): a sentence"],
        ),
        (
            [an_import(30, RunResult.REFUSED), an_import(1, RunResult.REFUSED)],
            ["import of index.json is refused (always): a sentence"],
        ),
        ([an_import(30, RunResult.FAILED), an_import(1)], []),  # mended
        (
            [  # one source does not hide another
                an_import(30, source="a"),
                an_import(29, source="b"),
                an_import(2, RunResult.FAILED, source="a"),
                an_import(1, source="b"),
            ],
            ["import of a fails (the last success was 2026-03-28 18:01): a sentence"],
        ),
        ([an_import(24 * 60, RunResult.FAILED), an_import(24 * 40, RunResult.FAILED)], []),
        (
            [Run(kind=RunKind.UPKEEP, started_at=NOW - timedelta(days=4))],
            ["no upkeep since 2026-03-26 00:00 UTC"],
        ),
        (
            [Run(kind=RunKind.VERIFY, started_at=NOW, result=RunResult.FAILED, message="damage")],
            ["verify fails (always): damage"],
        ),
    ],
)
def test_problems(catalog: Catalog, runs: list[Run], problems: list[str]) -> None:
    """What runs regularly and fails, upkeep that is overdue, and nothing else."""
    for run in runs:
        catalog.runs.add(run)
    assert status_of(catalog, NOW).problems == problems


def test_status_has_the_numbers_of_the_catalog(catalog: Catalog) -> None:
    """And the last import of each series, whatever became of it."""
    catalog.runs.add(an_import(2))
    failed = an_import(1, RunResult.FAILED)
    catalog.runs.add(failed)
    status = status_of(catalog, NOW)
    assert (status.num_revisions, status.num_contents, status.num_missing_pairs) == (2, 2, 0)
    assert status.num_bytes > 0
    (series,) = status.series
    assert (series.name, series.num_revisions, series.last_import) == ("develop", 2, failed)
    assert series.newest == catalog.history.revisions[0].ref
