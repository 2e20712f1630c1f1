"""Examples of a document as a console shows them: commands after ``$``, and what they print."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from typing import Any

from tests.server.commands import cachelog
from tests.server.servers import environ

_END = "this command has ended with"


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


class Shell:
    """A shell that commands are typed into, one after the other."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path, errors: Path) -> None:
        self._process = process
        self._folder = folder
        self._errors = errors

    def type(self, command: str) -> tuple[int, str]:
        """Run a command to its end; return its exit code and what it printed."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{command.rstrip()}\nprintf '\\n%s\\n' \"{_END} $?\"\n")
        self._process.stdin.flush()
        printed = ""
        for line in self._process.stdout:
            if line.startswith(_END):
                return int(line.split()[-1]), printed.removesuffix("\n")
            printed += line
        raise AssertionError(f"{command}: the shell ended: {self._errors.read_text('utf-8')}")

    def assert_prints(self, command: str, shown: str) -> None:
        """Hold that a command succeeds and prints what is shown."""
        words = shlex.split(command)
        is_alone = words[0] == "cachelog" and not re.search("[*>|&$]", command)
        code, printed = self._run(words[1:]) if is_alone else self.type(command)
        assert code == 0, f"{command}: {self._errors.read_text('utf-8')}"
        printed = printed if printed.endswith("\n") or not shown else f"{printed}\n"
        assert OutputChecker().check_output(shown, printed, ELLIPSIS), f"{command}: {printed}"

    def _run(self, words: Sequence[str]) -> tuple[int, str]:
        """Run a command of cachelog in this process, on the catalog that the shell names."""
        _, catalog = self.type('printf %s "${CACHELOG_CATALOG:-}"')
        settings: dict[str, Any] = {"catalog": catalog} if catalog else {}
        with chdir(self._folder):
            done = cachelog(*words, **settings)
        return done.code, done.out


@contextmanager
def shell(folder: Path) -> Iterator[Shell]:
    """Open a shell in a folder, with this Python's programs in its path, and end it.

    What is asserted of cachelog alone is run in this process.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    errors = folder / "errors.log"
    with (
        errors.open("wb") as stderr,
        subprocess.Popen(
            ["bash", "-uo", "pipefail"],
            cwd=folder,
            env={**environ(), "PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        yield Shell(process, folder, errors)
        # What was started in the background ends with the shell that started it.
        process.communicate("kill $(jobs -p) 2> /dev/null; wait; exit\n", timeout=60)
