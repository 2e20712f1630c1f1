"""How lines of the log look: as text for people, or as JSON for programs; one line an event."""

import logging
import re
import time
from datetime import UTC, datetime

import orjson

from server.asgi.request_ids import REQUEST_ID

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

FORMATS = ("text", "json")

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters and invisible ones; of line feeds and tabs the formatters take care."""


def shown(text: str) -> str:
    """Return a text with what terminals obey escaped."""
    return _UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)


class TextFormatter(logging.Formatter):
    """Time, logger and message. Further lines are indented: none can pass for an event."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(name)s %(message)s", TIME_FORMAT)
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, or lines, of an event."""
        return shown(super().format(record)).replace("\n", "\n    ")


class JsonFormatter(logging.Formatter):
    """An object a line: time, level, logger, message, and the request that it belongs to."""

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
    """Return a moment as lines show it, in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime(TIME_FORMAT)


def json_line(event: dict[str, object]) -> str:
    """Return an event as one line of ASCII."""
    try:
        text = orjson.dumps(event).decode()
    except TypeError:  # a lone surrogate, which is no text in UTF-8
        safe = {
            name: value.encode("utf-8", "backslashreplace").decode()
            if isinstance(value, str)
            else value
            for name, value in event.items()
        }
        text = orjson.dumps(safe).decode()
    return "".join(it if it.isascii() and it != "\x7f" else _escaped(it) for it in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def configure(form: str) -> None:
    """Write all events that are logged to the standard error output, in a form of FORMATS."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
