"""The log: formats of its lines, and the lines of requests."""

import json
import logging
import re
import sys
import time
from datetime import UTC, datetime
from typing import TextIO
from urllib.parse import quote

from server.asgi.exchanges import REQUEST_ID, Exchange

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

FORMATS = ("text", "json")

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
"""Control and invisible characters, except line feeds and tabs, which the formatters handle."""


def shown(text: str) -> str:
    """Return a text with control characters of terminals escaped."""
    return _UNSAFE.sub(lambda match: repr(match[0])[1:-1], text)


class TextFormatter(logging.Formatter):
    """Time, logger and message. Further lines are indented, so that none can imitate an event."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(name)s %(message)s", TIME_FORMAT)
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, or lines, of an event."""
        return shown(super().format(record)).replace("\n", "\n    ")


class JsonFormatter(logging.Formatter):
    """One object per line: time, level, logger, message, and the id of the request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of an event."""
        event: dict[str, object] = {
            "time": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        if (request_id := REQUEST_ID.get()) is not None:
            event["request_id"] = request_id
        return json_line(event)


def timestamp(moment: float) -> str:
    """Return the format of a time in log lines, in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime(TIME_FORMAT)


def json_line(event: dict[str, object]) -> str:
    """Return an event as one line of ASCII."""
    return json.dumps(event, separators=(",", ":")).replace("\x7f", "\\u007f")


def configure(form: str) -> None:
    """Write all logged events to standard error, in one of FORMATS."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


_NOT_SHOWN = re.compile(r"[^!-~]")
_PLAIN = re.compile(r"[A-Za-z0-9_.~/-]*")
"""Paths that need no quoting, which takes longer than to find that out."""


class AccessLog:
    """Writes time, client, request, status, bytes, duration and id of each exchange.

    Lines are text, or JSON if ``as_json``.
    """

    def __init__(self, stream: TextIO | None = None, *, as_json: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._line = _json if as_json else _text

    def note(self, exchange: Exchange) -> None:
        """Write the line of an exchange."""
        self._stream.write(self._line(timestamp(time.time()), exchange))
        self._stream.flush()


def _text(moment: str, exchange: Exchange) -> str:
    client = _NOT_SHOWN.sub("?", exchange.client) if exchange.client else "-"
    path = exchange.path if _PLAIN.fullmatch(exchange.path) else quote(exchange.path)
    return (
        f"{moment} {client} {exchange.method} {path} "
        f"{exchange.status} {exchange.num_bytes}B {exchange.seconds * 1000:.2f}ms {exchange.id}\n"
    )


def _json(moment: str, exchange: Exchange) -> str:
    event: dict[str, object] = {
        "time": moment,
        "level": "info",
        "logger": "cachelog.access",
        "request_id": exchange.id,
        "client": exchange.client,
        "method": exchange.method,
        "path": exchange.path,
        "status": exchange.status,
        "bytes": exchange.num_bytes,
        "milliseconds": round(exchange.seconds * 1000, 3),
    }
    if exchange.operation:
        event["operation"] = exchange.operation
    if exchange.code:
        event["code"] = exchange.code
    return json_line(event) + "\n"
