"""The access log: one line a request, whatever becomes of it, and none that a client forges."""

import io
import json
import re
from typing import Any

import pytest
from starlette.types import Scope

from server.asgi.exchanges import CODE, OPERATION
from server.logs import AccessLog
from tests.server.exchanges import (
    Application,
    answering,
    exchanged,
    failing,
    scope,
)

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (?P<client>\S+) (?P<method>\S+) (?P<path>\S+) "
    r"(?P<status>\d+) (?P<size>\d+)B \d+\.\d\dms (?P<id>\S+)"
)


def logged(
    application: Application,
    *scopes: Scope,
    wait: float = 0.0,
    as_json: bool = False,
    is_over: bool = True,
) -> list[str]:
    """Return what is logged of requests until some seconds after the last, or the server's end."""
    stream = io.StringIO()
    log = AccessLog(stream, as_json=as_json)
    exchanged(application, *scopes, observers=[log.note], wait=wait)
    if is_over:
        log.flush()
    return stream.getvalue().splitlines()


def test_a_line_says_who_asked_what_and_what_came_of_it() -> None:
    """Time, client, method, path, status, bytes, duration and the request's id."""
    (line,) = logged(answering, scope())
    match = LINE.fullmatch(line)
    assert match is not None
    assert match.groups()[:-1] == ("10.0.0.1", "GET", "/graphql", "201", "5")
    assert match["id"].isascii()


def test_a_line_as_json_says_the_same_and_more() -> None:
    """Also the operation, or the code of the error; nothing else where there is none."""
    facts: list[dict[str, Any]] = [{OPERATION: "Tags"}, {CODE: "BAD_REQUEST"}, {}]
    lines = logged(answering, *(scope(**it) for it in facts), as_json=True)
    first, refused, other = map(json.loads, lines)
    assert first | {"time": 0, "request_id": 0, "milliseconds": 0} == {
        "time": 0,
        "level": "info",
        "logger": "cachelog.access",
        "request_id": 0,
        "client": "10.0.0.1",
        "method": "GET",
        "path": "/graphql",
        "status": 201,
        "bytes": 5,
        "milliseconds": 0,
        "operation": "Tags",
    }
    assert refused["code"] == "BAD_REQUEST"
    assert not {"operation", "code"} & set(other)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_request_that_fails_is_logged_as_such(as_json: bool) -> None:
    """The line says 500, which is what the client is told."""
    (line,) = logged(failing, scope(), as_json=as_json)
    assert '"status":500' in line if as_json else " 500 " in line


HOSTILE = [
    "/a\n2025-01-01T00:00:00Z 10.0.0.2 GET /b 200 1B 0.01ms x",
    "/a b",
    "/\x1b[2J",
    "/ü",
    "/\u2028\u202e\x9b",
    '/"}',
    "/\ud800",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_client_cannot_forge_lines(text: str) -> None:
    """Line breaks, spaces and what terminals obey stay escaped, wherever they stand."""
    if "\ud800" not in text:  # no server decodes a path to half a character
        (line,) = logged(answering, scope(text))
        match = LINE.fullmatch(line)
        assert match is not None
        assert match["client"] == "10.0.0.1"
        assert match["path"].isascii()
        assert match["path"].isprintable()
    client: dict[str, Any] = {"client": (text, 5)}
    (line,) = logged(answering, scope(**client))
    assert LINE.fullmatch(line)
    asked = scope(text, **client, **{OPERATION: text})
    (line,) = logged(answering, asked, as_json=True)
    assert line.isascii()
    assert line.isprintable()
    if "\ud800" not in text:
        assert json.loads(line)["path"] == json.loads(line)["operation"] == text


def test_a_client_without_an_address_is_a_dash() -> None:
    """Over a Unix socket there is none."""
    (line,) = logged(answering, scope(client=None))
    assert " - GET /graphql " in line


def test_lines_are_written_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written at once, everything soon after, in the order of the requests' ends."""
    monkeypatch.setattr("server.logs.FLUSH_SECONDS", 0.05)
    scopes = [scope(f"/{number}") for number in range(5)]
    assert logged(answering, *scopes, is_over=False) == []
    lines = logged(answering, *scopes, wait=0.2, is_over=False)
    assert [line.split()[3] for line in lines] == [f"/{number}" for number in range(5)]
