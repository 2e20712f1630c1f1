"""Tables as responses: the first rows decide whether there is one, then it is streamed."""

import logging
from collections.abc import Mapping
from typing import Any

from starlette.types import Receive, Scope, Send

from server.asgi.errors import BadRequest
from server.asgi.exchanges import CODE
from server.asgi.hang_ups import unless_gone
from server.asgi.sending import REVALIDATE, send_head
from server.pages.exports.exporting import Broken, Export, Piece, file_name
from server.pages.exports.lines import FORMATS
from server.pages.exports.tables import Table, table_of
from server.pages.page import Page
from snapshots.wording import visible

_log = logging.getLogger("cachelog.server")

PARAMETER = "as"
"""What of an address says that its table is asked for, and how."""


def table_asked(page: Page, given: Mapping[str, list[str]]) -> Table:
    """Return the table that an address asks for; raises BadRequest where there is none."""
    if given[PARAMETER][-1] not in FORMATS:
        raise BadRequest(f"{PARAMETER} must be {' or '.join(FORMATS)}")
    if not page.table:
        raise BadRequest("this page has no table to be had whole")
    return table_of(page.query, page.table)


class ExportResponse:
    """A table that is there, from its first piece on."""

    def __init__(self, export: Export, piece: Piece, table: Table, suffix: str) -> None:
        self._export = export
        self._piece = piece
        self._table = table
        self._suffix = suffix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, as long as its client listens.

        Where it breaks off it is left without an end, so that the client notices.
        """
        written = FORMATS[self._suffix]
        name = file_name(self._table, scope["path_params"], self._export.digests, self._suffix)
        headers = [
            (b"content-type", written.media_type),
            (b"content-disposition", f'attachment; filename="{name}"'.encode()),
            (b"cache-control", REVALIDATE),
        ]
        if scope["method"] == "HEAD":
            await send_head(send, 200, headers)
            return
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            await unless_gone(receive, self._sent(send))
        except Broken as error:
            scope[CODE] = "EXPORT_BROKEN_OFF"
            _log.warning("the export of %s broke off: %s", visible(scope["path"]), error)

    async def _sent(self, send: Send) -> None:
        await self._export.send(send, FORMATS[self._suffix], self._piece)


async def export_of(export: Export, table: Table, given: Mapping[str, Any]) -> ExportResponse:
    """Return the response with a table; raises NoTable where there is none."""
    return ExportResponse(export, await export.first(), table, given[PARAMETER][-1])
