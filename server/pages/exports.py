"""Exports of tables: all rows of a page's list as CSV (RFC 4180)."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any

import msgspec
import orjson
from graphql import FieldNode, FragmentDefinitionNode, FragmentSpreadNode, SelectionSetNode

from server.asgi.errors import BadRequest
from server.pages.documents import IS_PAGE, DocumentAnswer, DocumentRunner, PageDocument, document

MAX_ROWS = 1_000
"""Maximum number of rows per request."""

_FEW_ROWS = 50
"""More rows per request are halved while they cost too much."""

_UNSAFE = re.compile(r"[^A-Za-z0-9@~+_.-]+")
_MAX_NAME_LENGTH = 100

PARAMETER = "as"
"""The URL parameter that requests a page's table in a format, of which there is one."""

CSV = "csv"
CSV_TYPE = b"text/csv; charset=utf-8; header=present"

Row = Mapping[str, Any]
Columns = Sequence[tuple[str, ...]]


# -- tables


class ExportPart(msgspec.Struct, frozen=True):
    """Rows of a table, and the cursor of the next part; None if it is the last."""

    rows: list[dict[str, Any]]
    after: str | None


class Table(msgspec.Struct, frozen=True):
    """A list that a document queries, in parts if it is a connection.

    ``path`` is its path in the answer. ``columns`` are the paths of the fields in a row.
    """

    document: PageDocument
    path: tuple[str, ...]
    columns: Columns

    def part(self, data: Mapping[str, Any]) -> ExportPart | None:
        """Return the rows in an answer; None if it lacks the list."""
        values: Any = data
        for name in self.path:
            values = values.get(name) if values else None
        if values is None or isinstance(values, list):
            return None if values is None else ExportPart(values, None)
        page = values["pageInfo"]
        rows = values.get("nodes")
        if rows is None:  # the fields of an edge and of its node form one row
            rows = [{**edge, **edge.pop("node")} for edge in values["edges"]]
        return ExportPart(rows, page["endCursor"] if page["hasNextPage"] else None)

    def pinned(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Return variables that name the revisions of an answer by their refs."""
        root = data[self.path[0]]
        if self.path[0] == "compare":
            return {side: _pinned_side(root, side) for side in ("base", "head")}
        return {name: root["ref"] for name in ("ref", "in") if name in self.document.parameters}


def _pinned_side(comparison: Mapping[str, Any], side: str) -> str:
    """Return a ref that names a side of a comparison permanently."""
    ref, stack = comparison[side]["ref"], comparison[f"{side}Stack"]
    return ref if stack is None else f"{ref}:{stack}"


@cache
def table_of(document_name: str, table: str) -> Table:
    """Return the list at a dotted path in the document of a page.

    Raises KeyError if the document has no such list.
    """
    page = document(document_name)
    path = tuple(table.split("."))
    fragments = {
        node.name.value: node
        for node in page.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    row = page.operation.selection_set
    for name in path:
        row = _field(row, name)
    for name in ("nodes", "edges"):
        with suppress(KeyError):
            row = _field(row, name)
    return Table(page, path, tuple(dict.fromkeys(_columns(row, fragments))))


def _field(parent: SelectionSetNode, name: str) -> SelectionSetNode:
    for field in parent.selections:
        if isinstance(field, FieldNode) and _response_name(field) == name and field.selection_set:
            return field.selection_set
    raise KeyError(name)


def _response_name(field: FieldNode) -> str:
    return (field.alias or field.name).value


def _columns(
    row: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> Iterator[tuple[str, ...]]:
    for selection in row.selections:
        if isinstance(selection, FragmentSpreadNode):
            yield from _columns(fragments[selection.name.value].selection_set, fragments)
        elif isinstance(selection, FieldNode):
            name = (_response_name(selection),)
            if selection.selection_set is None:
                yield name
            else:
                prefix = () if selection.name.value == "node" else name
                yield from ((*prefix, *end) for end in _columns(selection.selection_set, fragments))


# -- lines


_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""First characters of spreadsheet formulas: https://owasp.org/www-community/attacks/CSV_Injection."""

_FORMULA_IN_TEXT = re.compile("([;\t\r\n])(?=[=+@\uff1d\uff0b\uff0d\uff20-])")
"""Formulas after other cell separators, such as the semicolon in half of Europe."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def csv_head(columns: Columns) -> bytes:
    """Return the line of column names; fields of nested objects are dotted."""
    return _csv([[".".join(path) for path in columns]])


def csv_body(rows: Iterable[Row], columns: Columns) -> bytes:
    """Return a line for each row.

    Lists are joined by spaces. For a list of objects, each column contains the values of all
    objects in the same order, separated by semicolons. Unknown values are empty. Text that a
    spreadsheet would evaluate is prefixed with an apostrophe, also after a character that some
    locales use as a separator.
    """
    return _csv([cell(row, path) for path in columns] for row in rows)


def cell(row: Row, path: tuple[str, ...]) -> str:
    """Return the text of a cell."""
    value = row.get(path[0]) if len(path) == 1 else row
    text = value if type(value) is str else _text(row, path)
    if ";" in text or not text.isprintable():
        text = _FORMULA_IN_TEXT.sub(r"\1'", text)
    if text[:1] in _FORMULA and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def _text(value: Any, path: tuple[str, ...]) -> str:
    """Return the text at a path in a value; empty if it is unknown."""
    if value is None:
        return ""
    if isinstance(value, list):
        texts = [_text(item, path) for item in value]
        return ";".join(texts) if path and any(texts) else " ".join(filter(None, texts))
    if path and isinstance(value, dict):
        return _text(value.get(path[0]), path[1:])
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _csv(lines: Iterable[Sequence[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerows(lines)
    return written.getvalue().encode()


# -- parts


class Export(msgspec.Struct, frozen=True):
    """An exported table; ``pinned`` has the refs of its revisions by variable."""

    content: bytes
    pinned: Mapping[str, str]


async def export(
    table: Table, variables: Mapping[str, Any], runner: DocumentRunner
) -> Export | DocumentAnswer:
    """Return all rows of a table, of the same revisions; the first answer if it lacks the table.

    Raises BadRequest if the server is overloaded, or if a later part cannot be queried.
    """
    size, text = MAX_ROWS, table.document.text
    variables = {**variables, IS_PAGE: False, "after": None}
    while size > _FEW_ROWS and not await runner.is_affordable(text, {**variables, "first": size}):
        size //= 2
    variables["first"] = size
    answered = await runner.run(text, variables)
    part = None if answered.errors else table.part(answered.data)
    if part is None:
        return answered
    pinned = table.pinned(answered.data)
    variables |= pinned
    parts = [csv_head(table.columns)]
    while True:
        rows = partial(csv_body, part.rows, table.columns)
        parts.append(await runner.lanes.light.run(rows))
        if part.after is None:
            return Export(b"".join(parts), pinned)
        answered = await runner.run(text, {**variables, "after": part.after})
        part = None if answered.errors else table.part(answered.data)
        if part is None:
            reason = answered.errors[0]["message"] if answered.errors else "the list is gone"
            raise BadRequest(f"the export broke off: {reason}", status=503)


def file_name(table: Table, params: Mapping[str, str]) -> str:
    """Return a descriptive file name, such as packages-develop@2025-03-30.ab12cd34.csv."""
    words = [table.path[-1], *params.values()]
    names = dict.fromkeys(_UNSAFE.sub("_", word[:_MAX_NAME_LENGTH]).strip("._") for word in words)
    return f"{'-'.join(filter(None, names))[: 2 * _MAX_NAME_LENGTH]}.csv"
