"""schemathesis finds no errors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from server.settings import Settings
from tests.expensive import IS_QUICK
from tests.hostile.attack import PATIENCE
from tests.server.servers import application

_EXAMPLES = 2 if IS_QUICK else 15
"""The number of requests for each field of Query."""

_HOOKS = "tests.hostile.schemathesis_hooks"
_ROOT = Path(__file__).parents[2]


def test_schemathesis_finds_no_errors(
    demo_catalog: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The responses to all requests that it draws from the schema are valid and fast."""
    with application(Settings(catalog=str(demo_catalog))) as client:
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run"),
            str(client.base_url.join("graphql")),
            f"--max-examples={_EXAMPLES}",
            f"--max-response-time={PATIENCE}",
            "--generation-deterministic",
            "--checks=has_only_client_errors",
            "--no-color",
            "--suppress-health-check=all",
        ]
        done = subprocess.run(
            command,
            cwd=tmp_path,  # for its stored examples
            env=os.environ | {"SCHEMATHESIS_HOOKS": _HOOKS, "PYTHONPATH": str(_ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in caplog.text, "the server has logged a traceback"
