"""The command line as a whole: help, exit codes, usage errors, and interrupts."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schema import api
from server.cli import cachelog as root
from snapshots.program import cachelog_version
from tests.server.commands import cachelog, succeed
from tests.server.servers import environ

ROOT = Path(__file__).parents[2]


def commands(command: Any, path: str = "cachelog") -> Iterator[tuple[str, Any]]:
    """Yield a command and all its subcommands, each with its command line."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


COMMANDS = dict(commands(root))


@pytest.mark.parametrize("path", COMMANDS)
def test_help_describes_every_parameter(path: str) -> None:
    """Each has a sentence; the help has every option, no Python types, and fits 80 columns."""
    command = COMMANDS[path]
    for parameter in command.params:
        text = getattr(parameter, "help", None)
        assert text, parameter.name
        assert text.endswith("."), parameter.name
    assert command.help
    assert command.help.rstrip().endswith(".")
    result = succeed(*path.split()[1:], "-h", variables={"COLUMNS": "80"})
    options = [param for param in command.params if param.param_type_name == "option"]
    assert all(name in result.out for option in options for name in option.opts)
    assert "[[" not in result.out
    assert "list[" not in result.out
    assert not re.search("<[a-z]", result.out)
    assert "..." not in result.out.partition("Commands:")[2]
    assert max(map(len, result.lines)) <= 80


def test_without_a_command_help_is_printed() -> None:
    """It is a usage error."""
    result = cachelog()
    assert result.code == 2
    assert all(name in result.out + result.err for name in root.commands)


def test_version_is_printed() -> None:
    """``--version`` prints the version of the installed program."""
    result = cachelog("--version")
    assert (result.code, result.out) == (0, f"cachelog {cachelog_version()}\n")


def test_schema_is_printed() -> None:
    """It prints exactly the committed schema."""
    result = succeed("export-schema")
    assert result.out == api.SCHEMA_FILE.read_text() == api.sdl()


def test_option_before_its_command_is_explained(tmp_path: Path) -> None:
    """The error states where an option of a command belongs."""
    result = cachelog("--catalog", tmp_path, "log")
    assert result.code == 2
    hint = "No such option '--catalog'. Write it after the command: cachelog COMMAND --catalog ..."
    assert result.err.endswith(f"\nError: {hint}\n")
    assert cachelog("--no-such", "log").err.endswith("\nError: No such option '--no-such'.\n")


def test_interrupt_exits_with_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The exit code is the one that shells expect, without a traceback."""

    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("snapshots.demo.develop_history", interrupt)
    result = cachelog("demo", catalog=tmp_path / "c")
    assert (result.code, result.out, result.err) == (130, "", "cachelog: interrupted\n")


def test_interrupt_during_startup_has_no_traceback(tmp_path: Path) -> None:
    """The process ends by the signal, without output, unless interrupts are ignored."""
    loading = tmp_path / "server" / "cli.py"
    loading.parent.mkdir()
    loading.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nmain = print\n")
    program = (
        "import runpy, server, sys; server.__path__ = [sys.argv[1]]; "
        f"runpy.run_path({str(ROOT / 'server/__main__.py')!r}, run_name='__main__')"
    )
    for before, code, out in (("", -signal.SIGINT, ""), ("trap '' INT; ", 0, "\n")):
        shell = ("/bin/sh", "-c", f'{before}exec "$0" "$@"')
        result = subprocess.run(
            [*shell, sys.executable, "-c", program, loading.parent],
            env=environ(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            # Interrupts are ignored where the suite itself runs in the background of a script.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        assert (result.returncode, result.stdout, result.stderr) == (code, out, "")


def test_closed_pipe_has_no_traceback(demo_catalog: Path) -> None:
    """``cachelog find ... | head -1`` exits as if by SIGPIPE, without a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        result = cachelog("find", "*", "--json", output=output, catalog=demo_catalog)
    assert (result.code, result.err) == (141, "")
