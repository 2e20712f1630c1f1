"""What people see at a terminal: lines that fit it, and colour unless they want none."""

import io
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
COMMANDS = (
    ("revisions",),
    ("find", "*", "--limit", "20"),
    ("diff", "develop-2025-01-05..develop"),
)


def plain(columns: int, catalog: Path, *arguments: str) -> list[str]:
    """Return the lines that a command prints at a terminal of this width, without colours."""
    done = succeed(*arguments, terminal=columns, catalog=catalog)
    return ESCAPE.sub("", done.out).splitlines()


def characters(lines: list[str]) -> str:
    """Return all that is in the lines but blanks."""
    return "".join("".join(lines).split())


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_lines_fit(arguments: tuple[str, ...], demo_catalog: Path) -> None:
    """Nothing is wider than the terminal, and all columns of a wide one are used.

    For other programs lines are not broken. A narrow terminal shows fewer columns of revisions, and
    everything of specs on more lines.
    """
    narrow, wide = (plain(columns, demo_catalog, *arguments) for columns in (80, 200))
    assert max(map(len, narrow)) <= 80 < max(map(len, wide)) <= 200
    whole = cachelog(*arguments, catalog=demo_catalog).lines
    assert characters(whole) == characters(wide)
    assert len(whole) <= len(wide)
    if arguments == ("revisions",):
        assert re.split("  +", narrow[0])[:3] == ["tag", "digest", "taken at"]
    else:
        assert characters(narrow) == characters(wide)
        assert len(narrow) > len(wide)


@pytest.mark.parametrize(
    ("arguments", "terminal", "variables", "is_coloured"),
    [
        (("revisions",), 80, {}, True),
        (("diff", "develop-2025-01-05..develop"), 80, {}, True),
        (("revisions",), 80, {"NO_COLOR": "1"}, False),
        (("revisions",), 80, {"TERM": "dumb"}, False),
        (("find", "*"), None, {}, False),
    ],
)
def test_colour(
    demo_catalog: Path,
    arguments: tuple[str, ...],
    terminal: int | None,
    variables: dict[str, str],
    is_coloured: bool,
) -> None:
    """At a terminal that has colours, unless NO_COLOR is set; never for other programs."""
    done = cachelog(*arguments, terminal=terminal, variables=variables, catalog=demo_catalog)
    assert bool(ESCAPE.search(done.out)) is is_coloured


@pytest.mark.parametrize(("rows", "is_paged"), [(50, False), (5, True)])
def test_a_real_terminal(demo_catalog: Path, tmp_path: Path, rows: int, *, is_paged: bool) -> None:
    """It states its size; what does not fit goes through the pager that PAGER names."""
    ours, its = pty.openpty()
    ioctl(its, TIOCSWINSZ, pack("HHHH", rows, 100, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR")
    variables = {name: text for name, text in environ().items() if name not in unset}
    variables |= {"TERM": "xterm", "PAGER": f"tee {tmp_path / 'read'}"}
    command: list[str | Path] = [CACHELOG, "show", "develop", "--catalog", demo_catalog]
    with subprocess.Popen(command, env=variables, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        output = b""
        try:
            while part := os.read(ours, 65_536):
                output += part
        except OSError:
            pass  # so a terminal ends whose other side is closed
        os.close(ours)
    assert process.returncode == 0
    assert (tmp_path / "read").exists() is is_paged
    assert bool(ESCAPE.search(output.decode())) is not is_paged
    lines = ESCAPE.sub("", output.decode()).splitlines()
    assert 80 < max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("revisions", 1),
        ("--help", 1),
        ("diff develop-2025-01-05..develop --exit-code", 2),
        ("gate develop --rules {}", 2),
        ("plan develop --lock e4s={} --gate {}", 2),
    ],
)
def test_output_that_cannot_be_written(
    line: str, code: int, demo_catalog: Path, tmp_path: Path
) -> None:
    """A full disk is an error of one line, and neither a difference nor a broken rule."""
    rules, lock = tmp_path / "rules.toml", tmp_path / "spack.lock"
    rules.write_text('[[rule]]\nname = "a"\nrequire = "hdf5"\n')
    lock.write_bytes(as_bytes(small_lock_file()))
    files = (rules,) if "gate develop" in line else (lock, rules)
    with Path("/dev/full").open("w") as full:
        done = cachelog(*line.format(*files).split(), output=full, catalog=demo_catalog)
    reason = "cachelog: standard output: cannot be written: No space left on device\n"
    assert (done.code, done.err) == (code, reason)


def test_closed_streams(demo_catalog: Path) -> None:
    """A shell may close the streams of a command, which runs as with them."""
    command = f'"{CACHELOG}" revisions >&- 2>&- <&-'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=environ(catalog=demo_catalog),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_output_without_the_characters(demo_catalog: Path) -> None:
    """Characters that the encoding lacks are escaped."""
    out = io.BytesIO()
    output = io.TextIOWrapper(out, "latin-1", write_through=True)
    cachelog("why", "develop-2025-01-05..develop", output=output, catalog=demo_catalog)
    assert b"\\u2192" in out.getvalue()
