"""The README is true: its examples run as they stand."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

import pytest

from tests.server.servers import environ, serving

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SHOWN_SERVER = "http://127.0.0.1:8000"


def examples() -> Iterator[tuple[str, str]]:
    """Yield each command of the README's console blocks with the output that is shown."""
    for block in re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = example.splitlines(keepends=True)
            # A command goes on in the next line as long as a quote is open.
            end = next(
                n for n in range(1, len(lines) + 1) if "".join(lines[:n]).count("'") % 2 == 0
            )
            yield "".join(lines[:end]), "".join(lines[end:])


@pytest.mark.long
def test_examples(tmp_path: Path) -> None:
    """Each command does what the README shows, in the order of the README."""
    if shutil.which("curl") is None and not os.environ.get("CI"):
        pytest.skip("curl is not installed")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    count = 0
    with ExitStack() as stack:
        url = None
        for command, shown in examples():
            if SHOWN_SERVER in command and url is None:
                catalog = tmp_path / "catalog"
                url = stack.enter_context(serving(catalog, tmp_path / "serve.log")).url
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command.replace(SHOWN_SERVER, url or "")],
                cwd=tmp_path,
                env={**environ(), "PATH": path},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{command}: {done.stderr}"
            printed = done.stdout if done.stdout.endswith("\n") or not shown else f"{done.stdout}\n"
            assert OutputChecker().check_output(shown, printed, ELLIPSIS), f"{command}: {printed}"
            count += 1
    assert count >= 7
