"""The logs: one line per request or event, in text or JSON, and none that a client forges."""

import io
import json
import logging
import re
from contextvars import copy_context
from typing import Any

import pytest
from starlette.types import Scope

from server.asgi.exchanges import CODE, OPERATION, REQUEST_ID
from server.logs import AccessLog, JsonFormatter, TextFormatter
from tests.server.exchanges import Application, exchange, fail, respond, scope

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (?P<client>\S+) (?P<method>\S+) (?P<path>\S+) "
    r"(?P<status>\d+) (?P<size>\d+)B \d+\.\d\dms (?P<id>\S+)"
)


def logged(application: Application, *scopes: Scope, as_json: bool = False) -> list[str]:
    """Return the log of requests."""
    stream = io.StringIO()
    log = AccessLog(stream, as_json=as_json)
    exchange(application, *scopes, observers=[log.note])
    return stream.getvalue().splitlines()


def test_line_describes_the_request() -> None:
    """Time, client, method, path, status, bytes, duration and id; a Unix socket has no client."""
    line, of_socket = logged(respond, scope(), scope(client=None))
    match = LINE.fullmatch(line)
    assert match is not None
    assert match.groups()[:-1] == ("10.0.0.1", "GET", "/graphql", "201", "5")
    assert match["id"].isascii()
    assert " - GET /graphql " in of_socket


def test_json_line_has_the_operation_or_code() -> None:
    """It also has the operation, or the code of the error."""
    facts: list[dict[str, Any]] = [{OPERATION: "Tags"}, {CODE: "BAD_REQUEST"}, {}]
    lines = logged(respond, *(scope(**fact) for fact in facts), as_json=True)
    first, refused, other = map(json.loads, lines)
    varying = {"time": "", "request_id": "", "milliseconds": ""}
    usual = {"level": "info", "logger": "cachelog.access", "client": "10.0.0.1", "method": "GET"}
    own = {"path": "/graphql", "status": 201, "bytes": 5, "operation": "Tags"}
    assert first | varying == usual | own | varying
    assert refused["code"] == "BAD_REQUEST"
    assert not {"operation", "code"} & set(other)


@pytest.mark.parametrize("as_json", [False, True])
def test_failed_request_has_status_500(as_json: bool) -> None:
    """The status is 500, as in the response."""
    (line,) = logged(fail, scope(), as_json=as_json)
    assert '"status":500' in line if as_json else " 500 " in line


FORGED_LINE = "/a\n2025-01-01T00:00:00Z 10.0.0.2 GET /b 200 1B 0.01ms x"
HOSTILE = [FORGED_LINE, "/a b", "/\x1b[2J", "/ü", "/\u2028\u202e\x9b", '/"}', "/\ud800"]


@pytest.mark.parametrize("text", HOSTILE)
def test_clients_cannot_forge_lines(text: str) -> None:
    """Line breaks, spaces and terminal controls are escaped in all fields."""
    if "\ud800" not in text:  # no server decodes a path to half a character
        (line,) = logged(respond, scope(text))
        match = LINE.fullmatch(line)
        assert match is not None
        assert match["client"] == "10.0.0.1"
        assert match["path"].isascii()
        assert match["path"].isprintable()
    client: dict[str, Any] = {"client": (text, 5)}
    (line,) = logged(respond, scope(**client))
    assert LINE.fullmatch(line)
    request = scope(text, **client, **{OPERATION: text})
    (line,) = logged(respond, request, as_json=True)
    assert line.isascii()
    assert line.isprintable()
    if "\ud800" not in text:
        assert json.loads(line)["path"] == json.loads(line)["operation"] == text


def test_lines_have_the_order_of_responses() -> None:
    """Each is written when its response ends."""
    scopes = [scope(f"/{number}") for number in range(5)]
    lines = logged(respond, *scopes)
    assert [line.split()[3] for line in lines] == [f"/{number}" for number in range(5)]


FORGED = "a\n2025-01-01T00:00:00Z cachelog.server forged \x1b[2J\u202e\x00\ud800"


def record(text: object, error: Exception | None = None) -> logging.LogRecord:
    """Return an event with a text."""
    raised = (type(error), error, None) if error else None
    return logging.LogRecord("cachelog.x", logging.WARNING, "", 0, "the %s", (text,), raised)


def test_text_cannot_forge_lines() -> None:
    """After time, logger and message, lines are indented, and terminal controls are escaped."""
    assert TextFormatter().format(record("catalog"))[20:] == " cachelog.x the catalog"
    lines = TextFormatter().format(record(FORGED)).splitlines()
    assert lines[1].startswith("    2025")
    assert all(line.isprintable() or "\ud800" in line for line in lines)


def test_json_event_has_all_facts() -> None:
    """Time, level, logger and message; an exception, and the id of the request, if there is one."""
    event = json.loads(JsonFormatter().format(record("catalog")))
    assert event.pop("time")
    assert event == {"level": "warning", "logger": "cachelog.x", "message": "the catalog"}
    context = copy_context()
    context.run(REQUEST_ID.set, "abc")
    event = json.loads(context.run(JsonFormatter().format, record("x", ValueError("why"))))
    assert (event["exception"], event["request_id"]) == ("ValueError: why", "abc")


@pytest.mark.parametrize("text", [FORGED, "\x7f", "\u2028", "😀", '"}\n{"'])
def test_json_is_one_line_of_ascii(text: str) -> None:
    """It is parsed to the original text, except for surrogates."""
    line = JsonFormatter().format(record(text))
    assert line.isascii()
    assert line.isprintable()
    if "\ud800" not in text:
        assert json.loads(line)["message"] == f"the {text}"
