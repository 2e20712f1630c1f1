"""Run all checks of the project: ``python -m tests``.

``python -m tests --static`` runs only those that read the code, which takes seconds.

Tests that fail are run once more, one after the other: beside all others, real servers and
browsers share the cores with them. What fails again, fails; the first report names the others.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STATIC = ("ruff check", "ruff format --check", "mypy", "lint-imports")
TESTS = "pytest -n auto --dist worksteal"
AGAIN = "pytest --last-failed --last-failed-no-failures none -n 0 --maxfail 1"


def run(check: str) -> int:
    """Run one check with the programs of this Python; return its exit code."""
    print(f"$ {check}", flush=True)
    program, *options = shlex.split(check)
    code = subprocess.run([Path(sys.executable).parent / program, *options], cwd=ROOT).returncode
    if code:
        print(f"{check}: exited with {code}", file=sys.stderr)
    return code


def main(arguments: list[str]) -> int:
    """Run the checks up to the first failure; return its exit code."""
    if arguments not in ([], ["--static"]):
        print(__doc__, file=sys.stderr)
        return 2
    for check in STATIC:
        if code := run(check):
            return code
    if arguments or not (code := run(TESTS)):
        return 0
    return run(AGAIN) if code == pytest.ExitCode.TESTS_FAILED else code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
