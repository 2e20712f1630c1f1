"""What the commands print cannot act on a terminal, whatever the catalog holds."""

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.terminal.console import faults_end_with, note, say, say_blocks, say_json
from server.terminal.printing import styles
from snapshots.texts import is_plain

FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hdf5@1.14.5+mpi ü", "hdf5@1.14.5+mpi ü"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x1b[8mhidden", r"\x1b[8mhidden"),
        ("\x1b[2J\x1b[1;1H", r"\x1b[2J\x1b[1;1H"),
        ("a\rb\nc", r"a\x0db\x0ac"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202etxt", r"\u202etxt"),
    ],
)
def test_lines(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line of the result is one line, with what is not seen written out."""
    say(text)
    assert capsys.readouterr().out == f"{shown}\n"


def test_styles_stay() -> None:
    """The colours of cachelog itself are not text, and are kept."""
    echoed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(click, "echo", echoed.append)
        for style in (styles.digest, styles.name, styles.quiet, styles.added, styles.removed):
            say(f"{style('zlib')} \x1b[5m")
            assert echoed[-1] == f"{style('zlib')} \\x1b[5m"


def test_faults() -> None:
    """An error of the operating system is none, unless it is that of the standard output."""
    with pytest.raises(PermissionError), faults_end_with(1):
        raise PermissionError(errno.EACCES, "Permission denied", "file")


def test_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    """Remarks may have several lines, a caret below a query; nothing else of them acts."""
    note("a\x1b[31m\n  ^")
    assert capsys.readouterr().err == "a\\x1b[31m\n  ^\n"


def test_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty line stands between them; what is not seen in them is written out."""
    say_blocks([["a", "b\x1b[5m"], ["c"]])
    assert capsys.readouterr().out == "a\nb\\x1b[5m\n\nc\n"
    say_blocks([])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("num_blocks", "is_paged"), [(3, False), (4, True), (100, True)])
def test_blocks_at_a_terminal(
    num_blocks: int,
    is_paged: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They go through the pager where they do not fit, and are made as far as it is read."""
    made: list[int] = []
    read: list[str] = []

    def blocks() -> Iterator[list[str]]:
        for number in range(num_blocks):
            made.append(number)
            yield [str(number)]

    def pager(texts: Iterable[str]) -> None:
        read.extend(text for _, text in zip(range(5), texts, strict=False))

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(
        "server.terminal.console.get_terminal_size", lambda: os.terminal_size((80, 7))
    )
    monkeypatch.setattr(click, "echo_via_pager", pager)
    say_blocks(blocks())
    shown = "".join(read) if is_paged else capsys.readouterr().out
    assert shown.split() == [str(number) for number in range(min(num_blocks, 5 if is_paged else 3))]
    assert len(made) <= 6


@FIXTURES
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_means_the_same(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """JSON says the same to programs, in characters that a terminal shows."""
    say_json({text: [text]})
    out = capsys.readouterr().out
    assert json.loads(out) == {text: [text]}
    assert is_plain(out.replace("\n", ""))
