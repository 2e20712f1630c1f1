"""The benchmarks run, on data too small to say anything."""

import subprocess
import sys
from pathlib import Path

import orjson

ROOT = Path(__file__).parents[1]
REFERENCES = {
    "start": "Python",
    "import": "orjson",
    "load": "pyarrow",
    "compare": "Python",
    "explain": "Python",
    "feed": "Jinja",
    "list1000": "Strawberry",
    "nested": "Strawberry",
    "tiny": "Strawberry",
    "cost": "unit",
    "history": "pyarrow",
}


def test_a_quick_run_writes_what_it_measured_as_json(tmp_path: Path) -> None:
    """Each subject has its reference first, with ratio 1, and cachelog after it."""
    file = tmp_path / "results.json"
    options = ["--quick", "--in-process", "--json", str(file), "--cache", str(tmp_path / "cache")]
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


def test_a_history_is_imported() -> None:
    """From an empty catalog on; then nothing is new, then one day."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "git_history", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [line.split()[:3] for line in done.stdout.splitlines() if " revisions " in line]
    assert found == [["first", "run", "20"], ["nothing", "new", "0"], ["one", "more", "day"]]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """A misspelt benchmark measures nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "lits1000"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "lits1000" in done.stderr
    assert "list1000" in done.stderr
