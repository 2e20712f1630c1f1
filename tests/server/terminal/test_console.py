"""Output of commands cannot control a terminal, for any content of the catalog."""

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.terminal.console import (
    faults_end_with,
    note,
    print_json,
    print_paged,
    print_text,
    progress,
)
from server.terminal.printing import text as styles
from snapshots.texts import is_plain


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("hdf5@1.14.5+mpi ü", "hdf5@1.14.5+mpi ü"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\rb\nc", r"a\x0db\x0ac"),
        ("\u202etxt", r"\u202etxt"),
    ],
)
def test_lines_are_escaped(text: str, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A result is one line, with invisible characters escaped."""
    print_text(text)
    assert capsys.readouterr().out == f"{output}\n"


def test_styles_are_preserved() -> None:
    """Colours of cachelog itself are not escaped."""
    echoed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(click, "echo", echoed.append)
        for style in (styles.digest, styles.name, styles.quiet, styles.added, styles.removed):
            print_text(f"{style('zlib')} \x1b[5m")
            assert echoed[-1] == f"{style('zlib')} \\x1b[5m"


def test_operating_system_errors_propagate() -> None:
    """They propagate, unless they concern the standard output."""
    with pytest.raises(PermissionError), faults_end_with(1):
        raise PermissionError(errno.EACCES, "Permission denied", "file")


def test_messages_have_several_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Such as a caret below a query; controls are escaped."""
    note("a\x1b[31m\n  ^")
    print_paged([])
    print_paged(["a", "b\x1b[5m"])
    assert capsys.readouterr() == ("a\nb\\x1b[5m\n", "a\\x1b[31m\n  ^\n")


@pytest.mark.parametrize(("num_lines", "is_paged"), [(6, False), (7, True), (99, True)])
def test_long_output_is_paged(
    num_lines: int,
    is_paged: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Lines go through the pager if they do not fit, and are generated as it reads them."""
    generated: list[int] = []
    read: list[str] = []

    def lines() -> Iterator[str]:
        for number in range(num_lines):
            generated.append(number)
            yield str(number)

    def pager(texts: Iterable[str]) -> None:
        read.extend(text for _, text in zip(range(8), texts, strict=False))

    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    size = os.terminal_size((80, 7))
    monkeypatch.setattr("server.terminal.console.get_terminal_size", lambda: size)
    monkeypatch.setattr(click, "echo_via_pager", pager)
    print_paged(lines())
    output = "".join(read) if is_paged else capsys.readouterr().out
    assert output.split() == list(map(str, range(min(num_lines, 8))))
    assert len(generated) <= 9


def test_progress_is_one_line_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is erased at the end; elsewhere nothing is written."""
    with progress() as report:
        report("reading", 1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress() as report:
        report("reading", 1, 2)
        report("checking", 1_000, None)
    erase = "\r\x1b[K"
    assert capsys.readouterr().err == f"{erase}reading: 1 of 2{erase}checking: 1,000{erase}"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_is_escaped_but_equal(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """It has the same value, in visible characters."""
    print_json({text: [text]})
    out = capsys.readouterr().out
    assert json.loads(out) == {text: [text]}
    assert is_plain(out.replace("\n", ""))
