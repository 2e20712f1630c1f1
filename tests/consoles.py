"""Console examples of a document: commands after ``$``, and their output."""

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
    """Yield each command of the console blocks in a Markdown text, with its expected output."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = example.splitlines(keepends=True)
            # A command continues on the next line while a quote is open.
            end = next(
                n for n in range(1, len(lines) + 1) if "".join(lines[:n]).count("'") % 2 == 0
            )
            yield "".join(lines[:end]), "".join(lines[end:])


class Shell:
    """A shell that runs commands one after the other."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path, errors: Path) -> None:
        self._process = process
        self._folder = folder
        self._errors = errors

    def type(self, command: str) -> tuple[int, str]:
        """Run a command; return its exit code and its standard output."""
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

    def assert_prints(self, command: str, expected: str) -> None:
        """Assert that a command succeeds and prints the expected output."""
        words = shlex.split(command)
        is_plain = words[0] == "cachelog" and not re.search("[*>|&$]", command)
        code, printed = self._run(words[1:]) if is_plain else self.type(command)
        assert code == 0, f"{command}: {self._errors.read_text('utf-8')}"
        printed = printed if printed.endswith("\n") or not expected else f"{printed}\n"
        assert OutputChecker().check_output(expected, printed, ELLIPSIS), f"{command}: {printed}"

    def _run(self, words: Sequence[str]) -> tuple[int, str]:
        """Run a cachelog command in this process, on the catalog that the shell names."""
        _, catalog = self.type('printf %s "${CACHELOG_CATALOG:-}"')
        settings: dict[str, Any] = {"catalog": catalog} if catalog else {}
        with chdir(self._folder):
            result = cachelog(*words, **settings)
        return result.code, result.out


@contextmanager
def shell(folder: Path) -> Iterator[Shell]:
    """Open a shell in a folder, with the programs of this Python on its path.

    ``assert_prints`` runs plain cachelog commands in this process.
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
        # Background processes end with the shell that started them.
        process.communicate("kill $(jobs -p) 2> /dev/null; wait; exit\n", timeout=60)
