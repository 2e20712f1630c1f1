"""The benchmarks run, on data that is too small for meaningful results."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.verification import verify
from tests.benchmarks.years import catalog_of_years, copy_of

ROOT = Path(__file__).parents[1]
REFERENCES = {
    "import": "orjson",
    "compare": "Python",
    "explain": "Python",
    "pages": "its document alone",
    "cost": "unit",
    "years": "10 revisions",
}


@pytest.mark.long
def test_quick_run_measures_all_subjects(tmp_path: Path) -> None:
    """Each subject has its reference first, with ratio 1, followed by cachelog."""
    file, document = tmp_path / "results.json", tmp_path / "document.md"
    document.write_text("Before.\n\n| Page | 1 |\n\n| Years of revisions | 1 |\n\nAfter.\n")
    options = ["--quick", "--in-process", "--json", str(file), "--cache", str(tmp_path / "cache")]
    options += ["--write", str(document)]
    result = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *REFERENCES, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    results = orjson.loads(file.read_bytes())
    assert results["quick"] is True
    assert {"cpu", "cores", "python", "versions", "load_average"} <= results["machine"].keys()
    for name, reference in REFERENCES.items():
        rows_of_name = [row for row in results["measurements"] if row["benchmark"] == name]
        assert rows_of_name[0]["contender"].startswith(reference)
        assert rows_of_name[0]["ratio"] == 1
        assert any(row["contender"].startswith("cachelog: ") for row in rows_of_name[1:])
        for row in rows_of_name:
            assert 0 < row["low"] <= row["median"] <= row["high"]
            assert row["contender"] in result.stdout
    before, pages, table, after = document.read_text().split("\n\n")
    assert len(pages.splitlines()) > 10
    years = orjson.loads((tmp_path / "results" / "years.json").read_bytes())
    assert {row["benchmark"] for row in years["measurements"]} == {"years"}
    assert (before, after) == ("Before.", "After.\n")
    head, _, *rows = table.splitlines()
    assert [word.strip() for word in head.split("|")[2:5]] == [
        "10 revisions",
        "20 revisions",
        "Times",
    ]
    assert len(rows) >= 4


def test_catalog_of_years_is_sound(tmp_path: Path) -> None:
    """It is sound and has realistic changes; a copy is independent of it."""
    folder = catalog_of_years(tmp_path, revisions=6, specs=1_000)
    assert catalog_of_years(tmp_path, revisions=6, specs=1_000) == folder
    catalog = Catalog(str(copy_of(folder, tmp_path / "copy")))
    history = catalog.require_history()
    hashes = []
    for revision in history.of_series("develop"):
        frame = catalog.reader().frame(revision.digest)
        hashes.append({frame.hashes.at(row) for row in range(len(frame))})
    assert [len(hash_) for hash_ in hashes] == [
        revision.num_specs for revision in history.of_series("develop")
    ]
    churn = [len(new - old) / len(new) for new, old in pairwise(hashes)]
    assert 0.02 < sum(churn) / len(churn) < 0.15
    assert verify(catalog.location, deep=True).findings == ()
