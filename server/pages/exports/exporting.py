"""A table whole, on its way: one piece after the other, so that a slow reader holds one."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from starlette.types import Scope, Send

from server.asgi.errors import RETRY_SECONDS, BadRequest
from server.asgi.lanes import Lane
from server.asgi.room import Place
from server.asgi.sending import send_in_pieces
from server.graphql.outgoing import Outgoing
from server.pages.asking import Answered, Asker
from server.pages.exports.lines import Format
from server.pages.exports.tables import Table

Result = TypeVar("Result")

_MOST, _FEWEST = 1_000, 50
"""How many rows are asked for at once, fewer where they cost much."""

_PATIENCE = 60.0
"""How many seconds a piece may wait for room, or for its client to be allowed more."""

_UNSAFE = re.compile(r"[^A-Za-z0-9@~+_.-]+")
_LONGEST_NAME, _DIGEST = 100, 8


class Piece(NamedTuple):
    """Rows of a table, and where the next ones begin; None after the last."""

    rows: list[dict[str, Any]]
    after: str | None


class NoTable(Exception):
    """The answer has no such table: the page says why."""

    def __init__(self, answered: Answered) -> None:
        self.answered = answered
        super().__init__("no table")


class Broken(Exception):
    """An export that cannot go on; the text says why."""


class Export:
    """A table on its way to a client, whose request has this ``scope``.

    All rows are of the revisions that the first piece was of.
    """

    def __init__(
        self,
        table: Table,
        variables: Mapping[str, Any],
        scope: Scope,
        asker: Asker,
        lane: Lane,
        outgoing: Outgoing,
    ) -> None:
        self._table = table
        self._variables = dict(variables)
        self._scope = scope
        self._asker = asker
        self._lane = lane
        self._outgoing = outgoing
        self._size = _MOST
        self.digests: list[str] = []

    async def first(self) -> Piece:
        """Return the first piece; raises NoTable, and BadRequest where there is no room."""
        while self._size > _FEWEST and not await self._asker.is_affordable(
            self._table.text, self._asked(None)
        ):
            self._size //= 2
        answered = await self._ask(None)
        piece = self._piece(answered)
        if piece is None:
            raise NoTable(answered)
        pinned = self._table.pinned(answered.data)
        self._variables |= pinned
        self.digests = [*pinned.values()]
        return piece

    async def send(self, send: Send, written: Format, piece: Piece) -> None:
        """Send all rows from the first piece on, after the head of the response.

        Raises Broken where one of the pieces cannot be had.
        """
        text = written.head(self._table.columns)
        while True:
            text += await self._patiently(partial(self._written, written, piece.rows))
            piece.rows.clear()  # a slow reader holds their text alone
            with await self._patiently(partial(self._place, len(text))):
                await send_in_pieces(send, text, more_body=piece.after is not None)
            if piece.after is None:
                return
            text, piece = b"", await self._next(piece.after)

    async def _written(self, written: Format, rows: list[dict[str, Any]]) -> bytes:
        return await self._lane.run(partial(written.body, rows, self._table.columns))

    async def _next(self, after: str) -> Piece:
        answered = await self._patiently(partial(self._ask, after))
        piece = self._piece(answered)
        if piece is None:
            raise Broken(answered.errors[0]["message"] if answered.errors else "the list is gone")
        return piece

    async def _ask(self, after: str | None) -> Answered:
        return await self._asker.answered(
            await self._asker.weighed(self._table.text, self._asked(after), self._scope)
        )

    def _asked(self, after: str | None) -> dict[str, Any]:
        return self._variables | self._table.variables(self._size, after)

    def _piece(self, answered: Answered) -> Piece | None:
        found = self._table.found(answered.data)
        if found is None or answered.errors:
            return None
        after = None
        if self._table.is_connection and found["pageInfo"]["hasNextPage"]:
            after = found["pageInfo"]["endCursor"]
        return Piece(self._table.rows(found), after)

    async def _place(self, size: int) -> Place:
        return self._outgoing.begin_bytes(size, self._scope)

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


def file_name(table: Table, params: Mapping[str, str], digests: list[str], suffix: str) -> str:
    """Return a name that says what a file holds: packages-develop-ab12cd34.csv."""
    named = [table.path[-1], *params.values(), *(digest[:_DIGEST] for digest in digests)]
    # A ref that is a digest is told once.
    told = dict.fromkeys(_UNSAFE.sub("_", it[:_LONGEST_NAME]).strip("._") for it in named)
    return f"{'-'.join(it for it in told if it)[: 2 * _LONGEST_NAME]}.{suffix}"
