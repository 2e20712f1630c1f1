"""Rows as lines: of CSV, as RFC 4180 has it, and of JSON."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

Row = Mapping[str, Any]
Columns = Sequence[tuple[str, ...]]

_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""How begins what a spreadsheet calculates: https://owasp.org/www-community/attacks/CSV_Injection."""

_PARTED = re.compile("([;\t\r\n])(?=[=+@\uff1d\uff0b\uff0d\uff20-])")
"""Where cells begin for who opens a file with other separators: in half of Europe a semicolon."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


class Format(NamedTuple):
    """How rows are written: the media type, what stands before them, and how they are."""

    media_type: bytes
    head: Callable[[Columns], bytes]
    body: Callable[[Iterable[Row], Columns], bytes]


def csv_head(columns: Columns) -> bytes:
    """Return the line with the names of the columns, dotted where they stand in an object."""
    return _csv([[".".join(path) for path in columns]])


def csv_body(rows: Iterable[Row], columns: Columns) -> bytes:
    """Return a line for each row.

    Lists are joined by spaces; of a list of objects each column has the values of all. What is not
    known is empty. A text that a spreadsheet would calculate has an apostrophe before it, as has
    what it would calculate of one that it takes for several.
    """
    return _csv([cell(row, path) for path in columns] for row in rows)


def cell(row: Row, path: tuple[str, ...]) -> str:
    """Return what stands in a cell."""
    value = row.get(path[0]) if len(path) == 1 else row
    text = value if type(value) is str else " ".join(_texts(row, path))
    if ";" in text or not text.isprintable():
        text = _PARTED.sub(r"\1'", text)
    if text[:1] in _FORMULA and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def _texts(value: Any, path: tuple[str, ...]) -> Iterable[str]:
    if value is None:
        return
    if isinstance(value, list):
        for it in value:
            yield from _texts(it, path)
    elif path and isinstance(value, dict):
        yield from _texts(value.get(path[0]), path[1:])
    elif isinstance(value, str):
        yield value
    else:
        yield orjson.dumps(value).decode()


def _csv(lines: Iterable[Sequence[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerows(lines)
    return written.getvalue().encode()


def json_lines(rows: Iterable[Row], _columns: Columns) -> bytes:
    """Return a line of JSON for each row, exactly as the API answers."""
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


FORMATS = {
    "csv": Format(b"text/csv; charset=utf-8; header=present", csv_head, csv_body),
    "jsonl": Format(b"application/jsonl; charset=utf-8", lambda _columns: b"", json_lines),
}
"""How a table can be had, by what an address says: ``?as=csv``."""
