"""Output on a terminal: lines that fit its width, and colours unless they are disabled."""

import os
import pty
import re
import subprocess
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest

from tests.server.commands import cachelog, succeed
from tests.server.servers import CACHELOG, environ
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def plain(columns: int, catalog: Path, *arguments: str) -> list[str]:
    """Return the lines that a command prints on a terminal of this width, without colours."""
    result = succeed(*arguments, terminal=columns, catalog=catalog)
    return ESCAPE.sub("", result.out).splitlines()


def test_narrow_terminals_have_fewer_columns(demo_catalog: Path) -> None:
    """Columns are omitted until the table fits; other programs get all of them."""
    narrow, wide = (plain(columns, demo_catalog, "revisions") for columns in (80, 200))
    assert max(map(len, narrow)) <= 80 < max(map(len, wide)) <= 200
    assert cachelog("revisions", catalog=demo_catalog).lines == wide
    assert re.split("  +", narrow[0])[0] == "revision"


@pytest.mark.parametrize(
    ("terminal", "variables"),
    [(80, {}), (80, {"NO_COLOR": "1"}), (80, {"TERM": "dumb"}), (None, {})],
)
def test_colours_depend_on_the_terminal(
    demo_catalog: Path, terminal: int | None, variables: dict[str, str]
) -> None:
    """Terminals that support colours get them, unless NO_COLOR is set; other programs do not."""
    result = cachelog("revisions", terminal=terminal, variables=variables, catalog=demo_catalog)
    assert bool(ESCAPE.search(result.out)) is (terminal == 80 and not variables)


@pytest.mark.parametrize(
    ("words", "rows", "is_paged"), [("show develop", 50, False), ("find -n 9", 5, True)]
)
def test_long_output_is_paged(
    demo_catalog: Path, tmp_path: Path, words: str, rows: int, *, is_paged: bool
) -> None:
    """The command uses its size; output that does not fit goes through the pager in PAGER."""
    controller, tty = pty.openpty()
    ioctl(tty, TIOCSWINSZ, pack("HHHH", rows, 100, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR")
    variables = {name: text for name, text in environ().items() if name not in unset}
    variables |= {"TERM": "xterm", "PAGER": f"tee {tmp_path / 'read'}"}
    command: list[str | Path] = [CACHELOG, *words.split(), "--catalog", demo_catalog]
    with subprocess.Popen(command, env=variables, stdin=tty, stdout=tty, stderr=tty) as process:
        os.close(tty)
        stream = b""
        try:
            while part := os.read(controller, 65_536):
                stream += part
        except OSError:
            pass  # so a terminal ends whose other side is closed
        os.close(controller)
    assert process.returncode == 0
    assert (tmp_path / "read").exists() is is_paged
    assert bool(ESCAPE.search(stream.decode())) is not is_paged
    lines = ESCAPE.sub("", stream.decode()).splitlines()
    assert lines


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("revisions", 1),
        ("--help", 1),
        ("diff develop-2025-01-05..develop --exit-code", 2),
        ("gate develop --rules {rules}", 2),
        ("plan develop --lock e4s={lock} --gate {rules}", 2),
    ],
)
def test_full_disk_is_an_error(line: str, code: int, demo_catalog: Path, tmp_path: Path) -> None:
    """It is an error of one line, and neither a difference nor a broken rule."""
    rules, lock = tmp_path / "rules.toml", tmp_path / "spack.lock"
    rules.write_text('[[rule]]\nname = "a"\nrequire = "hdf5"\n')
    lock.write_bytes(as_bytes(small_lock_file()))
    with Path("/dev/full").open("w") as full:
        words = line.format(rules=rules, lock=lock).split()
        result = cachelog(*words, output=full, catalog=demo_catalog)
    reason = "cachelog: standard output: cannot be written: No space left on device\n"
    assert (result.code, result.err) == (code, reason)


def test_closed_streams_are_tolerated(demo_catalog: Path) -> None:
    """The command succeeds although the shell has closed its streams."""
    command = ("/bin/sh", "-c", f'"{CACHELOG}" revisions >&- 2>&- <&-')
    result = subprocess.run(command, env=environ(catalog=demo_catalog), capture_output=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
