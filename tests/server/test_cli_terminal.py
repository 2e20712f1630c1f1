"""What people see at a terminal: lines that fit it, and colour unless they want none."""

import os
import pty
import re
import subprocess
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest

from tests.server.commands import cachelog
from tests.server.servers import CACHELOG, environ

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = (
    ("revisions",),
    ("find", "*", "--limit", "20"),
    ("diff", "develop-2025-01-05..develop"),
)


def plain(columns: int, catalog: Path, *arguments: str) -> list[str]:
    """Return the lines that a command shows at a terminal that is so wide, without colours."""
    done = cachelog(*arguments, terminal=columns, catalog=catalog)
    assert (done.code, done.err) == (0, "")
    return ESCAPE.sub("", done.out).splitlines()


def characters(lines: list[str]) -> str:
    """Return all that is in the lines but blanks."""
    return "".join("".join(lines).split())


@pytest.mark.parametrize("arguments", [*COMMANDS, ("find", "--help"), ("--help",)], ids=" ".join)
@pytest.mark.parametrize("columns", [80, 200])
def test_lines_fit(columns: int, arguments: tuple[str, ...], demo_catalog: Path) -> None:
    """Nothing is wider than the terminal."""
    lines = plain(columns, demo_catalog, *arguments)
    assert lines
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_wide_terminal_is_used(arguments: tuple[str, ...], demo_catalog: Path) -> None:
    """There is more in a line than 80 columns hold; for other programs lines are never parted."""
    wide = plain(200, demo_catalog, *arguments)
    assert max(map(len, wide)) > 80
    whole = cachelog(*arguments, catalog=demo_catalog).lines
    assert characters(whole) == characters(wide)
    assert len(whole) <= len(wide)


def test_what_a_narrow_terminal_shows(demo_catalog: Path) -> None:
    """Of a revision what tells it from others; of specs everything, on more lines."""
    heads = re.split("  +", plain(80, demo_catalog, "revisions")[0])
    assert heads[:3] == ["tag", "digest", "taken at"]
    for arguments in COMMANDS[1:]:
        narrow, wide = (plain(columns, demo_catalog, *arguments) for columns in (80, 200))
        assert characters(narrow) == characters(wide)
        assert len(narrow) > len(wide)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_colour(arguments: tuple[str, ...], demo_catalog: Path) -> None:
    """At a terminal, unless it knows none or nobody wants any; never for other programs."""

    def colours(terminal: int | None, **variables: str) -> bool:
        done = cachelog(*arguments, terminal=terminal, variables=variables, catalog=demo_catalog)
        return ESCAPE.search(done.out) is not None

    assert colours(80)
    assert not colours(80, NO_COLOR="1")
    assert not colours(80, TERM="dumb")
    assert not colours(None)


def test_a_real_terminal(demo_catalog: Path) -> None:
    """Its width is taken from itself."""
    ours, its = pty.openpty()
    ioctl(its, TIOCSWINSZ, pack("HHHH", 50, 100, 0, 0))
    unset = ("COLUMNS", "NO_COLOR", "TERM")
    variables = {name: text for name, text in environ().items() if name not in unset}
    command: list[str | Path] = [CACHELOG, "find", "*", "--limit", "5", "--catalog", demo_catalog]
    with subprocess.Popen(
        command, env=variables | {"TERM": "xterm"}, stdout=its, stderr=its
    ) as process:
        os.close(its)
        found = b""
        try:
            while some := os.read(ours, 65_536):
                found += some
        except OSError:
            pass  # so a terminal ends whose other side is closed
        os.close(ours)
    assert process.returncode == 0
    assert ESCAPE.search(found.decode())
    lines = ESCAPE.sub("", found.decode()).splitlines()
    assert 80 < max(map(len, lines)) <= 100


@pytest.mark.parametrize("arguments", [("revisions",), ("export-schema",), ("--help",)])
def test_output_that_cannot_be_written(arguments: tuple[str, ...], demo_catalog: Path) -> None:
    """A full disk is told in one line, and the exit code tells it as well."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [CACHELOG, *arguments],
            env=environ(catalog=demo_catalog),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    reason = b"cachelog: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, reason)


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&- <&-"])
def test_closed_streams(closed: str, demo_catalog: Path) -> None:
    """A shell may close what a command would write to; the command runs as it would."""
    command = f'"{CACHELOG}" diff develop-2025-01-05..develop {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=environ(catalog=demo_catalog),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_output_without_the_characters(demo_catalog: Path) -> None:
    """What an encoding lacks is written out."""
    done = subprocess.run(
        [CACHELOG, "why", "develop-2025-01-05..develop"],
        env=environ(catalog=demo_catalog) | {"PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )
    assert b"\\u2192" in done.stdout
