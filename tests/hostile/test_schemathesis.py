"""schemathesis, a fuzzer of others, finds nothing either."""

import os
import subprocess
import sys
from pathlib import Path

from tests.expensive import cases
from tests.hostile.attack import HOST
from tests.hostile.runner import ANSWER_SECONDS_LOADED
from tests.hostile.target import AttackedServer

_EXAMPLES = cases(15)
"""How many requests it makes for each field of Query."""

_HOOKS = "tests.hostile.schemathesis_hooks"
_ROOT = Path(__file__).parents[2]


def test_schemathesis_finds_nothing(server: AttackedServer, tmp_path: Path) -> None:
    """Whatever schemathesis draws from the schema is answered well, and soon."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "run",
            f"http://{HOST}:{server.port}/graphql",
            f"--max-examples={_EXAMPLES}",
            f"--max-response-time={ANSWER_SECONDS_LOADED}",
            "--generation-deterministic",
            "--checks=errors_are_the_clients",
            "--no-color",
            "--suppress-health-check=all",
        ],
        cwd=tmp_path,  # where it keeps its examples
        env=os.environ | {"SCHEMATHESIS_HOOKS": _HOOKS, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in server.said(), "the server has logged a traceback"
