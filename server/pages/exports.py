"""Exports of tables: all rows of a page's list, as CSV (RFC 4180) or JSON lines."""

import asyncio
import csv
import io
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial
from typing import Any, TypeVar

import msgspec
import orjson
from graphql import FieldNode, FragmentDefinitionNode, FragmentSpreadNode, SelectionSetNode
from starlette.types import Receive, Scope, Send

from server.asgi.admission import Outgoing
from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.exchanges import CODE, unless_disconnected
from server.asgi.responses import REVALIDATE, send_small
from server.pages.documents import IS_PAGE, DocumentAnswer, DocumentRunner, PageDocument, document
from snapshots.texts import visible

MAX_ROWS = 1_000
"""Maximum number of rows per request."""

_FEW_ROWS = 50
"""More rows per request are halved while they cost too much."""

PATIENCE = 60.0
"""Seconds that a part may wait for an overloaded server, or for its client's allowance."""

_UNSAFE = re.compile(r"[^A-Za-z0-9@~+_.-]+")
_MAX_NAME_LENGTH = 100


_log = logging.getLogger("cachelog.server")

PARAMETER = "as"
"""The URL parameter that requests a page's table in a format."""

Result = TypeVar("Result")
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


class RowFormat(msgspec.Struct, frozen=True):
    """The format of a file: its media type, and functions for its head and its rows."""

    media_type: bytes
    head: Callable[[Columns], bytes]
    body: Callable[[Iterable[Row], Columns], bytes]


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


def json_lines(rows: Iterable[Row], _columns: Columns) -> bytes:
    """Return a line of JSON for each row, with the values of the API's answer."""
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


FORMATS = {
    "csv": RowFormat(b"text/csv; charset=utf-8; header=present", csv_head, csv_body),
    "jsonl": RowFormat(b"application/jsonl; charset=utf-8", lambda _columns: b"", json_lines),
}
"""The formats by the value of the URL parameter: ``?as=csv``."""


# -- parts


class ExportError(Exception):
    """Raised when an export cannot continue; the message is the reason."""


class Export(msgspec.Struct, eq=False):
    """An export of a table for the request of ``scope``; ``suffix`` is the format.

    All rows are from the same revisions as the first part. ``pinned`` has their refs by variable,
    which are part of the file name. A part has up to ``size`` rows.
    """

    table: Table
    suffix: str
    variables: Mapping[str, Any]
    scope: Scope
    runner: DocumentRunner
    outgoing: Outgoing
    size: int = msgspec.field(default_factory=lambda: MAX_ROWS)
    pinned: Mapping[str, str] = {}
    first: ExportPart = ExportPart([], None)

    async def begin(self) -> DocumentAnswer | None:
        """Query the first part; return the answer if it lacks the table, else None.

        Raises BadRequest if the server is overloaded.
        """
        while self.size > _FEW_ROWS and not await self.runner.is_affordable(
            self.table.document.text, self._variables_after(None)
        ):
            self.size //= 2
        answered = await self._answered(None)
        part = self._part(answered)
        if part is None:
            return answered
        self.pinned = self.table.pinned(answered.data)
        self.variables = {**self.variables, **self.pinned}
        self.first = part
        return None

    async def send(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the table until it ends or the client disconnects.

        If the export fails, the response ends without the last chunk, so that the client notices.
        """
        name = file_name(self.table, {**scope["path_params"], **self.pinned}, self.suffix)
        headers = [
            (b"content-type", FORMATS[self.suffix].media_type),
            (b"content-disposition", f'attachment; filename="{name}"'.encode()),
            (b"cache-control", REVALIDATE),
        ]
        if scope["method"] == "HEAD":
            await send_small(send, 200, headers)
            return
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            await unless_disconnected(receive, self.send_rows(send))
        except ExportError as error:
            scope[CODE] = "EXPORT_BROKEN_OFF"
            _log.warning("the export of %s broke off: %s", visible(scope["path"]), error)

    async def send_rows(self, send: Send) -> None:
        """Send all rows from the first part on; raise ExportError if a part is unavailable."""
        written, part = FORMATS[self.suffix], self.first
        text = written.head(self.table.columns)
        while True:
            rows = partial(written.body, part.rows, self.table.columns)
            text += await self._with_retries(partial(self.runner.lanes.light.run, rows))
            part.rows.clear()  # for a slow client, only the text stays in memory
            with ExitStack() as held:
                await self._with_retries(partial(self._hold, held, len(text)))
                await self.outgoing.send(send, text, more_body=part.after is not None)
            if part.after is None:
                return
            text, part = b"", await self._next(part.after)

    async def _next(self, after: str) -> ExportPart:
        answered = await self._with_retries(partial(self._answered, after))
        part = self._part(answered)
        if part is None:
            raise ExportError(
                answered.errors[0]["message"] if answered.errors else "the list is gone"
            )
        return part

    async def _answered(self, after: str | None) -> DocumentAnswer:
        text, variables = self.table.document.text, self._variables_after(after)
        return await self.runner.run(text, variables, self.scope)

    def _variables_after(self, after: str | None) -> dict[str, Any]:
        return {**self.variables, IS_PAGE: False, "first": self.size, "after": after}

    def _part(self, answered: DocumentAnswer) -> ExportPart | None:
        return None if answered.errors else self.table.part(answered.data)

    async def _hold(self, held: ExitStack, size: int) -> None:
        held.enter_context(self.outgoing.room(size))

    async def _with_retries(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of work; retry while it is refused, until the patience ends."""
        waited = 0.0
        while True:
            try:
                return await work()
            except BadRequest as error:
                wait = float(dict(error.headers).get(b"retry-after", RETRY_SECONDS))
                if waited + wait > PATIENCE:
                    raise ExportError(error.message) from None
                waited += wait
                await asyncio.sleep(wait)


def file_name(table: Table, params: Mapping[str, str], suffix: str) -> str:
    """Return a descriptive file name, such as packages-develop@2025-03-30.ab12cd34.csv."""
    words = [table.path[-1], *params.values()]
    names = dict.fromkeys(_UNSAFE.sub("_", word[:_MAX_NAME_LENGTH]).strip("._") for word in words)
    return f"{'-'.join(filter(None, names))[: 2 * _MAX_NAME_LENGTH]}.{suffix}"
