"""The command line as a whole: help for everything, exit codes, and faults in one line."""

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
from tests.server.servers import CACHELOG, environ

ROOT = Path(__file__).parents[2]


def commands(command: Any, path: str = "cachelog") -> Iterator[tuple[str, Any]]:
    """Yield a command and all below it, with what is typed for each."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


EVERY = dict(commands(root))


@pytest.mark.parametrize("path", EVERY)
def test_help(path: str) -> None:
    """Each command, argument and option has a sentence.

    The page names every option, has no types of Python and no brackets in brackets, and fits a
    terminal.
    """
    command = EVERY[path]
    for parameter in command.params:
        text = getattr(parameter, "help", None)
        assert text, parameter.name
        assert text.endswith("."), parameter.name
    assert command.help
    assert command.help.rstrip().endswith(".")
    done = succeed(*path.split()[1:], "-h", variables={"COLUMNS": "80"})
    options = [it for it in command.params if it.param_type_name == "option"]
    assert all(name in done.out for option in options for name in option.opts)
    assert "[[" not in done.out
    assert "list[" not in done.out
    assert not re.search("<[a-z]", done.out)
    assert "..." not in done.out.partition("Commands:")[2]
    assert max(map(len, done.lines)) <= 80


def test_without_a_command_help_is_printed() -> None:
    """It is wrong usage."""
    done = cachelog()
    assert done.code == 2
    assert all(name in done.out + done.err for name in root.commands)


def test_the_version_is_printed() -> None:
    """That of the installed program."""
    done = cachelog("--version")
    assert (done.code, done.out) == (0, f"cachelog {cachelog_version()}\n")


def test_the_schema_is_printed() -> None:
    """To the byte as it is committed."""
    done = succeed("export-schema")
    assert done.out == api.SCHEMA_FILE.read_text() == api.sdl()


@pytest.mark.parametrize(
    "arguments",
    [
        ("nope",),
        ("--nope",),
        ("import",),
        ("import", ""),
        ("import", "x", "--git", "y"),
        ("import", "x", "--taken-at", "yesterday"),
        ("import", "--git", "x", "--every", "year"),
        ("diff", "develop"),
        ("diff", "a", "b", "c"),
        ("diff", "a.."),
        ("diff", "..b"),
        ("diff", "a....b"),
        ("diff", "a", "b", "--coverage", "stack,nose"),
        ("diff", "a", "b", "--coverage", "stack,stack"),
        ("diff", "a", "b", "--coverage", "stack", "--stat"),
        ("why", "a.."),
        ("why", "a..b", "c", "d"),
        ("why", "a..b", ""),
        ("why", "a", "b", "/"),
        ("why", "a", "b", "c", "--package", "d"),
        ("notes", "a"),
        ("notes", "a", "b", "--format", "pdf"),
        ("remove",),
        ("prune",),
        ("vacuum", "--older-than", "soon"),
        ("vacuum", "--older-than", "1.5d"),
        ("find", "zlib", "--limit", "-1"),
        ("serve", "--port", "70000"),
        ("serve", "--workers", "0"),
        ("demo", "--revisions", "many"),
    ],
    ids=" ".join,
)
def test_wrong_usage_leaves_with_2(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """With a hint on how it is right, and without touching anything."""
    catalog = tmp_path / "catalog"
    done = cachelog(*arguments, catalog=catalog)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: ")
    assert "\nError: " in done.err or "\n  -h, --help" in done.err
    assert not catalog.exists()


def test_an_option_before_its_command(tmp_path: Path) -> None:
    """The error says where an option of commands belongs."""
    done = cachelog("--catalog", tmp_path, "log")
    assert done.code == 2
    hint = "No such option '--catalog'. Write it behind the command: cachelog COMMAND --catalog ..."
    assert done.err.endswith(f"\nError: {hint}\n")
    done = cachelog("history", "--catalog", tmp_path, "fill")
    assert "behind the command: cachelog history COMMAND --catalog ..." in done.err
    assert cachelog("--no-such", "log").err.endswith("\nError: No such option '--no-such'.\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("demo", "--revisions", "0"), "cachelog: revisions: must be at least 1, not 0\n"),
        (
            ("demo", "--packages", "9", "--specs", "8"),
            "cachelog: specs: 8 are too few for 9 packages\n",
        ),
        (("import", "/nope/x"), "cachelog: /nope/x: does not exist\n"),
    ],
)
def test_a_fault_leaves_with_1_and_one_line(
    arguments: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    """It names the place and the reason, and publishes nothing."""
    catalog = tmp_path / "catalog"
    done = cachelog(*arguments, catalog=catalog)
    assert (done.code, done.out, done.err) == (1, "", reason)
    assert not catalog.exists()


def test_an_interruption(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It leaves with the exit code that shells expect, without a traceback."""

    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("snapshots.demo.develop_history", interrupted)
    done = cachelog("demo", catalog=tmp_path / "c")
    assert (done.code, done.out, done.err) == (130, "", "cachelog: interrupted\n")


def test_an_interruption_while_the_program_is_loaded(tmp_path: Path) -> None:
    """It ends the process by the signal, without output, unless interrupts are ignored."""
    loading = tmp_path / "server" / "cli.py"
    loading.parent.mkdir()
    loading.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nmain = print\n")
    program = (
        "import runpy, server, sys; server.__path__ = [sys.argv[1]]; "
        f"runpy.run_path({str(ROOT / 'server/__main__.py')!r}, run_name='__main__')"
    )
    for before, code, out in (("", -signal.SIGINT, ""), ("trap '' INT; ", 0, "\n")):
        done = subprocess.run(
            [
                "/bin/sh",
                "-c",
                f'{before}exec "$0" "$@"',
                sys.executable,
                "-c",
                program,
                loading.parent,
            ],
            env=environ(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            # Interrupts are ignored where the suite itself runs in the background of a script.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


def test_the_program_is_installed_as_cachelog(tmp_path: Path) -> None:
    """What the shell runs is what the tests run; faults show no traceback there either."""
    command: list[str | Path] = [CACHELOG, "diff", "a", "b", "--catalog", tmp_path / "nothing"]
    done = subprocess.run(command, env=environ(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"cachelog: there is no catalog at {tmp_path / 'nothing'}")
    assert done.stderr.count("\n") == 1


def test_a_closed_pipe_is_no_traceback(demo_catalog: Path) -> None:
    """``cachelog diff ... | head -1`` ends quietly, as by SIGPIPE: it is no fault of the data."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        done = cachelog("find", "*", "--json", output=output, catalog=demo_catalog)
    assert (done.code, done.err) == (141, "")


def test_an_interrupt_ends_a_program_of_daft_at_once() -> None:
    """Its threads go on while the interpreter cleans up, and would abort it there."""
    program = (
        "import atexit, os, sys, types; import server.__main__, server.cli;"
        "sys.modules['daft'] = types.ModuleType('daft'); atexit.register(os.abort);"
        "server.cli.main = lambda: sys.exit(130); server.__main__.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)
    assert done.returncode == 130
