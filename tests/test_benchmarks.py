"""The benchmarks run, on data too small to say anything."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.past import fill, missing_pairs
from snapshots.catalog.verification import verify
from tests.benchmarks.years import catalog_of_years, copy_of

ROOT = Path(__file__).parents[1]
# One of those that share a module: list1000 and nested are measured as tiny is.
REFERENCES = {
    "import": "orjson",
    "compare": "Python",
    "explain": "Python",
    "tiny": "Strawberry",
    "pages": "its document alone",
    "cost": "unit",
    "bounds": "Python",
    "years": "10 revisions",
}


@pytest.mark.long
def test_a_quick_run_writes_what_it_measured_as_json(tmp_path: Path) -> None:
    """Each subject has its reference first, with ratio 1, and cachelog after it."""
    file, document = tmp_path / "results.json", tmp_path / "document.md"
    document.write_text("Before.\n\n| Page | 1 |\n\n| Years of revisions | 1 |\n\nAfter.\n")
    options = ["--quick", "--in-process", "--json", str(file), "--cache", str(tmp_path / "cache")]
    options += ["--write", str(document)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *REFERENCES, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = orjson.loads(file.read_bytes())
    assert results["quick"] is True
    assert {"cpu", "cores", "python", "versions", "load_average"} <= results["machine"].keys()
    for name, reference in REFERENCES.items():
        found = [it for it in results["measurements"] if it["benchmark"] == name]
        assert found[0]["contender"].startswith(reference)
        assert found[0]["ratio"] == 1
        assert any(it["contender"].startswith("cachelog: ") for it in found[1:])
        for it in found:
            assert 0 < it["low"] <= it["median"] <= it["high"]
            assert it["contender"] in done.stdout
    before, pages, table, after = document.read_text().split("\n\n")
    assert len(pages.splitlines()) > 10
    years = orjson.loads((tmp_path / "results" / "years.json").read_bytes())
    assert {it["benchmark"] for it in years["measurements"]} == {"years"}
    assert (before, after) == ("Before.", "After.\n")
    head, _, *rows = table.splitlines()
    assert [it.strip() for it in head.split("|")[2:5]] == ["10 revisions", "20 revisions", "Times"]
    assert len(rows) >= 4


def test_a_catalog_of_years_is_as_imports_make_it(tmp_path: Path) -> None:
    """Sound, with real churn, made once; a copy of it is a catalog of its own."""
    folder = catalog_of_years(tmp_path, revisions=6, specs=1_000, processes=2)
    assert catalog_of_years(tmp_path, revisions=6, specs=1_000) == folder
    catalog = Catalog(str(copy_of(folder, tmp_path / "copy")))
    history = catalog.require_history()
    hashes = []
    for revision in history.of_series("develop"):
        frame = catalog.load(revision.digest)
        hashes.append({frame.hashes.at(row) for row in range(len(frame))})
    assert [len(it) for it in hashes] == [it.num_specs for it in history.of_series("develop")]
    churn = [len(new - old) / len(new) for new, old in pairwise(hashes)]
    assert 0.02 < sum(churn) / len(churn) < 0.15
    fill(catalog, missing_pairs(catalog, history))
    assert verify(catalog.location, deep=True).findings == ()
    original = Catalog(str(folder))
    assert len(missing_pairs(original, original.require_history())) == 6
