"""The log: one event a line, or plainly the rest of one, whatever clients have sent."""

import json
import logging

import pytest

from server.asgi.exchanges import REQUEST_ID
from server.logs import JsonFormatter, TextFormatter

FORGED = "a\n2025-01-01T00:00:00Z cachelog.server forged \x1b[2J\u202e\x00\ud800"


def record(
    message: str, *arguments: object, error: BaseException | None = None
) -> logging.LogRecord:
    """Return an event."""
    raised = (type(error), error, None) if error else None
    return logging.LogRecord("cachelog.x", logging.WARNING, "", 0, message, arguments, raised)


def test_a_text_has_time_logger_and_message() -> None:
    """As people read it."""
    line = TextFormatter().format(record("the %s", "catalog"))
    assert line[20:] == " cachelog.x the catalog"


def test_no_text_passes_for_another_line() -> None:
    """Further lines are indented, and what terminals obey is escaped."""
    lines = TextFormatter().format(record("%s", FORGED)).splitlines()
    assert lines[1].startswith("    2025")
    assert all(line.isprintable() or "\ud800" in line for line in lines)


def test_an_event_as_json() -> None:
    """An object with the time, the level, the logger, the message and the error, if any."""
    event = json.loads(JsonFormatter().format(record("the %s", "catalog")))
    assert event | {"time": 0} == {
        "time": 0,
        "level": "warning",
        "logger": "cachelog.x",
        "message": "the catalog",
    }
    failed = json.loads(JsonFormatter().format(record("x", error=ValueError("why"))))
    assert failed["exception"] == "ValueError: why"


def test_an_event_as_json_names_its_request() -> None:
    """Where it belongs to one."""
    token = REQUEST_ID.set("abc")
    try:
        assert json.loads(JsonFormatter().format(record("x")))["request_id"] == "abc"
    finally:
        REQUEST_ID.reset(token)


@pytest.mark.parametrize("text", [FORGED, "\x7f", "\u2028", "😀", '"}\n{"'])
def test_json_is_one_line_of_ascii(text: str) -> None:
    """And read back it is what was logged, as far as that is text at all."""
    line = JsonFormatter().format(record("%s", text))
    assert line.isascii()
    assert line.isprintable()
    if "\ud800" not in text:
        assert json.loads(line)["message"] == text
