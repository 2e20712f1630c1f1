"""The benchmarks run, on data that is too small for meaningful results."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ("import", "compare", "explain", "cost")


@pytest.mark.long
def test_quick_run_prints_tables(tmp_path: Path) -> None:
    """Each subject has a table with cachelog and the ratio to its reference."""
    options = ["--quick", "--cache", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "tests.benchmarks", *NAMES, *options]
    printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    tables = printed.stdout.split("\n\n")
    for name in NAMES:
        assert any(f"{name}: " in table and "cachelog: " in table for table in tables)
    assert " 1 x " in printed.stdout
