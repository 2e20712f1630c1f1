"""Every check of the project, one after the other: ``python -m tests``."""

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHECKS = (
    "ruff check",
    "ruff format --check",
    "mypy",
    "lint-imports",
    "pytest -n auto",
)


def main() -> int:
    """Run the checks; stop at the first that fails and return its exit code."""
    beside_python = Path(sys.executable).parent
    for check in CHECKS:
        print(f"$ {check}", flush=True)
        program, *arguments = shlex.split(check)
        code = subprocess.run([beside_python / program, *arguments], cwd=ROOT).returncode
        if code:
            print(f"{check}: left with {code}", file=sys.stderr)
            return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
