"""Text that fits the terminal."""

import re
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.terminal.printing import text as layout
from server.terminal.printing.text import TableColumn, number, table

ROWS = [("develop", 9, "here"), ("v1", 1_000, "elsewhere")]
COLUMNS = [
    TableColumn("tag", 0, itemgetter(0)),
    number("specs", 1, itemgetter(1)),
    TableColumn("read from", 2, itemgetter(2)),
]


def wrapped(text: str, width: int | None, indent: str = "    ") -> list[str]:
    """Return the lines of a text at a terminal of so many columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "width", lambda: width)
        return layout.wrapped(text, indent)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (25, ["tag      specs  read from", "develop      9  here", "v1       1,000  elsewhere"]),
        (24, ["tag      specs", "develop      9", "v1       1,000"]),
        (3, ["tag", "develop", "v1"]),
    ],
)
def test_table_omits_columns_until_it_fits(
    width: int, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those with the highest rank first, never the one of rank 0; numbers are right-aligned."""
    monkeypatch.setattr(layout, "width", lambda: width)
    assert list(table(ROWS, COLUMNS)) == lines


def test_styles_do_not_count_as_width() -> None:
    """Cells are padded before they are styled; heads are not styled."""
    columns = [TableColumn("tag", 0, itemgetter(0), lambda text: f"<{text}>"), COLUMNS[1]]
    assert list(table([("a", None)], columns)) == ["tag    specs", "<a  >  unknown"]


SPEC = 'abc@1.2 +mpi~cxx+shared build_type=Release cflags="-O2 -g" arch=linux-zen  (stacks: e4s)'


def test_spec_is_wrapped() -> None:
    """At spaces and between switches, not within quotes; without a width, it is one line."""
    first, *others = wrapped(SPEC, 20)
    assert first == "abc@1.2 +mpi~cxx"
    pieces = ["+shared", "build_type=Release", 'cflags="-O2 -g"', "arch=linux-zen", "(stacks: e4s)"]
    assert others == [f"    {piece}" for piece in pieces]
    assert wrapped(SPEC, None) == wrapped(SPEC, 200) == [SPEC]
    assert wrapped("hash: abcdefgh", 8, "  ") == ["hash:", "  abcdefgh"]


PIECE = r"""[+~]?(?:"[^"]*"|'[^']*'|[^\s+~])+|[+~]"""


@given(st.text("ab+~ \"'=@", max_size=80), st.integers(8, 60))
def test_wrapped_lines_have_all_characters(text: str, width: int) -> None:
    """All but spaces; only a piece that cannot be broken exceeds the width."""
    lines = wrapped(text, width)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
    for line in lines:
        assert len(line) <= width or len(re.findall(PIECE, line.strip())) == 1
