"""Exports of tables: all rows of a page's list, as CSV (RFC 4180) or lines of JSON."""

import asyncio
import csv
import io
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

import msgspec
import orjson
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    SelectionSetNode,
    parse,
)
from starlette.types import Receive, Scope, Send

from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.exchanges import CODE, unless_gone
from server.asgi.lanes import Lane
from server.asgi.responses import REVALIDATE, send_head, send_in_pieces
from server.asgi.room import Outgoing, Place
from server.pages.documents import IS_PAGE, Answered, Asker, PageDocument, document
from snapshots.models import content_of_stack
from snapshots.texts import visible

_MOST, _FEWEST = 1_000, 50
"""How many rows are requested at once, fewer where they cost much."""

_PATIENCE = 60.0
"""How many seconds a part may wait for room, or for its client to be allowed more."""

_UNSAFE = re.compile(r"[^A-Za-z0-9@~+_.-]+")
_LONGEST_NAME, _DIGEST = 100, 8


_log = logging.getLogger("cachelog.server")

PARAMETER = "as"
"""The parameter of an address that asks for its table, and for the format."""

Result = TypeVar("Result")
Row = Mapping[str, Any]
Columns = Sequence[tuple[str, ...]]


# -- tables


class ExportPart(msgspec.Struct, frozen=True):
    """Rows of a table, and the cursor that the next ones stand after; None after the last."""

    rows: list[dict[str, Any]]
    after: str | None


class Table(msgspec.Struct, frozen=True):
    """The list that a document asks for, in parts where it is a connection.

    ``path`` leads to it in the answer. ``columns`` are the fields of a row, by the names that lead
    to each.
    """

    document: PageDocument
    path: tuple[str, ...]
    columns: Columns

    def part(self, data: Mapping[str, Any]) -> ExportPart | None:
        """Return the rows in an answer; None where it lacks the list."""
        values: Any = data
        for name in self.path:
            values = values.get(name) if values else None
        if values is None or isinstance(values, list):
            return None if values is None else ExportPart(values, None)
        page = values["pageInfo"]
        rows = values.get("nodes")
        if rows is None:  # an edge has what its node has
            rows = [{**edge, **edge.pop("node")} for edge in values["edges"]]
        return ExportPart(rows, page["endCursor"] if page["hasNextPage"] else None)

    def pinned(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Return the variables that name the very revisions of an answer: digests."""
        root = data[self.path[0]]
        if self.path[0] == "compare":
            return {side: _pinned_side(root, side) for side in ("base", "head")}
        return {name: root["digest"] for name in ("ref", "in") if name in self.document.parameters}


def _pinned_side(comparison: Mapping[str, Any], side: str) -> str:
    """Return what names a side of a comparison for ever."""
    digest, stack = comparison[side]["digest"], comparison[f"{side}Stack"]
    return digest if stack is None else content_of_stack(digest, stack)


@cache
def table_of(query: str, table: str) -> Table:
    """Return the list that ``table`` names with dots in the document of a page.

    Raises KeyError where the page has no such list.
    """
    page = document(query)
    path = tuple(table.split("."))
    definitions = parse(page.text, no_location=True).definitions
    fragments = {
        node.name.value: node for node in definitions if isinstance(node, FragmentDefinitionNode)
    }
    (row,) = (
        node.selection_set for node in definitions if isinstance(node, OperationDefinitionNode)
    )
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
"""How begins what a spreadsheet calculates: https://owasp.org/www-community/attacks/CSV_Injection."""

_PARTED = re.compile("([;\t\r\n])(?=[=+@\uff1d\uff0b\uff0d\uff20-])")
"""Where cells begin for who opens a file with other separators: in half of Europe a semicolon."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


class RowFormat(msgspec.Struct, frozen=True):
    """How rows are written: the media type, what stands before them, and how they are."""

    media_type: bytes
    head: Callable[[Columns], bytes]
    body: Callable[[Iterable[Row], Columns], bytes]


def csv_head(columns: Columns) -> bytes:
    """Return the line with the names of the columns, dotted where they stand in an object."""
    return _csv([[".".join(path) for path in columns]])


def csv_body(rows: Iterable[Row], columns: Columns) -> bytes:
    """Return a line for each row.

    Lists are joined by spaces. Of a list of objects each column has the values of all in the same
    order, with semicolons between them. What is not known is empty. A text that a spreadsheet would
    calculate has an apostrophe before it, as has what it would calculate of one that it takes for
    several.
    """
    return _csv([cell(row, path) for path in columns] for row in rows)


def cell(row: Row, path: tuple[str, ...]) -> str:
    """Return what stands in a cell."""
    value = row.get(path[0]) if len(path) == 1 else row
    text = value if type(value) is str else _text(row, path)
    if ";" in text or not text.isprintable():
        text = _PARTED.sub(r"\1'", text)
    if text[:1] in _FORMULA and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def _text(value: Any, path: tuple[str, ...]) -> str:
    """Return the text of what a path leads to in a value; empty where nothing is known."""
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
    """Return a line of JSON for each row, exactly as the API answers."""
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


FORMATS = {
    "csv": RowFormat(b"text/csv; charset=utf-8; header=present", csv_head, csv_body),
    "jsonl": RowFormat(b"application/jsonl; charset=utf-8", lambda _columns: b"", json_lines),
}
"""How a table can be had, by what an address says: ``?as=csv``."""


# -- parts


class Broken(Exception):
    """An export that cannot go on; the text says why."""


class Export(msgspec.Struct, eq=False):
    """A table on its way to a client, whose request has this ``scope``; ``suffix`` is its format.

    All rows are of the revisions that the first part was of, whose ``digests`` are in the file's
    name. A part has up to ``size`` rows.
    """

    table: Table
    suffix: str
    variables: Mapping[str, Any]
    scope: Scope
    asker: Asker
    lane: Lane
    outgoing: Outgoing
    size: int = msgspec.field(default_factory=lambda: _MOST)
    digests: Sequence[str] = ()
    first: ExportPart = ExportPart([], None)

    async def begin(self) -> Answered | None:
        """Ask for the first part; return the answer where it lacks the table.

        Raises BadRequest where there is no room.
        """
        while self.size > _FEWEST and not await self.asker.is_affordable(
            self.table.document.text, self._variables_after(None)
        ):
            self.size //= 2
        answered = await self._answered(None)
        part = self._part(answered)
        if part is None:
            return answered
        pinned = self.table.pinned(answered.data)
        self.variables = {**self.variables, **pinned}
        self.first, self.digests = part, [*pinned.values()]
        return None

    async def send(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the table, as long as its client listens.

        Where it breaks off it is left without an end, so that the client notices.
        """
        name = file_name(self.table, scope["path_params"], self.digests, self.suffix)
        headers = [
            (b"content-type", FORMATS[self.suffix].media_type),
            (b"content-disposition", f'attachment; filename="{name}"'.encode()),
            (b"cache-control", REVALIDATE),
        ]
        if scope["method"] == "HEAD":
            await send_head(send, 200, headers)
            return
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            await unless_gone(receive, self.send_rows(send))
        except Broken as error:
            scope[CODE] = "EXPORT_BROKEN_OFF"
            _log.warning("the export of %s broke off: %s", visible(scope["path"]), error)

    async def send_rows(self, send: Send) -> None:
        """Send all rows, from the first part on; raises Broken where a part cannot be had."""
        written, part = FORMATS[self.suffix], self.first
        text = written.head(self.table.columns)
        while True:
            text += await self._patiently(partial(self._written, written, part.rows))
            part.rows.clear()  # a slow reader holds their text alone
            with await self._patiently(partial(self._place, len(text))):
                await send_in_pieces(send, text, more_body=part.after is not None)
            if part.after is None:
                return
            text, part = b"", await self._next(part.after)

    async def _written(self, written: RowFormat, rows: list[dict[str, Any]]) -> bytes:
        return await self.lane.run(partial(written.body, rows, self.table.columns))

    async def _next(self, after: str) -> ExportPart:
        answered = await self._patiently(partial(self._answered, after))
        part = self._part(answered)
        if part is None:
            raise Broken(answered.errors[0]["message"] if answered.errors else "the list is gone")
        return part

    async def _answered(self, after: str | None) -> Answered:
        text, variables = self.table.document.text, self._variables_after(after)
        return await self.asker.answered(await self.asker.weighed(text, variables, self.scope))

    def _variables_after(self, after: str | None) -> dict[str, Any]:
        return {**self.variables, IS_PAGE: False, "first": self.size, "after": after}

    def _part(self, answered: Answered) -> ExportPart | None:
        return None if answered.errors else self.table.part(answered.data)

    async def _place(self, size: int) -> Place:
        return self.outgoing.begin_bytes(size, self.scope)

    async def _patiently(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return what some work returns, as soon as there is room for it."""
        waited = 0.0
        while True:
            try:
                return await work()
            except BadRequest as error:
                wait = float(dict(error.headers).get(b"retry-after", RETRY_SECONDS))
                if waited + wait > _PATIENCE:
                    raise Broken(error.message) from None
                waited += wait
                await asyncio.sleep(wait)


def file_name(table: Table, params: Mapping[str, str], digests: Sequence[str], suffix: str) -> str:
    """Return a name that says what a file holds: packages-develop-ab12cd34.csv."""
    words = [table.path[-1], *params.values(), *(digest[:_DIGEST] for digest in digests)]
    # A ref that is a digest is named once.
    names = dict.fromkeys(_UNSAFE.sub("_", word[:_LONGEST_NAME]).strip("._") for word in words)
    return f"{'-'.join(filter(None, names))[: 2 * _LONGEST_NAME]}.{suffix}"
