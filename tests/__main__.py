"""Run all checks of the project: ``python -m tests``.

``python -m tests --static`` runs only those that read the code, which takes seconds.
"""

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
STATIC = ("ruff check", "ruff format --check", "mypy", "lint-imports")
TESTS = "pytest -n auto --dist worksteal"


def main(arguments: list[str]) -> int:
    """Run the checks up to the first failure; return its exit code."""
    if arguments not in ([], ["--static"]):
        print(__doc__, file=sys.stderr)
        return 2
    beside_python = Path(sys.executable).parent
    for check in STATIC if arguments else (*STATIC, TESTS):
        print(f"$ {check}", flush=True)
        program, *options = shlex.split(check)
        code = subprocess.run([beside_python / program, *options], cwd=ROOT).returncode
        if code:
            print(f"{check}: exited with {code}", file=sys.stderr)
            return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
