"""Examples of a document as a console shows them: commands after ``$``, and what they print."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

from tests.server.servers import environ


def examples(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of the console blocks in Markdown with the output that is shown."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = example.splitlines(keepends=True)
            # A command goes on in the next line as long as a quote is open.
            end = next(
                n for n in range(1, len(lines) + 1) if "".join(lines[:n]).count("'") % 2 == 0
            )
            yield "".join(lines[:end]), "".join(lines[end:])


def assert_prints(command: str, shown: str, folder: Path) -> None:
    """Hold that a command, run in a folder, succeeds and prints what is shown."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={**environ(), "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    printed = done.stdout if done.stdout.endswith("\n") or not shown else f"{done.stdout}\n"
    assert OutputChecker().check_output(shown, printed, ELLIPSIS), f"{command}: {printed}"
