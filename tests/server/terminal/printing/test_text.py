"""Tables that fit the terminal."""

import sys
from operator import itemgetter

import pytest

from server.terminal.printing.text import TableColumn, number, table

ROWS = [("develop", 9, "here"), ("v1", 1_000, "elsewhere")]
COLUMNS = [
    TableColumn("tag", 0, itemgetter(0)),
    number("specs", 1, itemgetter(1)),
    TableColumn("read from", 2, itemgetter(2)),
]


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
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    assert list(table(ROWS, COLUMNS)) == lines


def test_styles_do_not_count_as_width() -> None:
    """Cells are padded before they are styled; heads are not styled."""
    columns = [TableColumn("tag", 0, itemgetter(0), lambda text: f"<{text}>"), COLUMNS[1]]
    assert list(table([("a", None)], columns)) == ["tag    specs", "<a  >  unknown"]
