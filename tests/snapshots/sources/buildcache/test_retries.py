"""Requests over HTTP: what is tried again, for how long, and what is refused at once."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import msgspec
import pytest

from snapshots.errors import SourceError
from snapshots.sources.inputs import Missing
from snapshots.sources.reports import Report
from snapshots.sources.transport import Transport
from tests.snapshots.sources.buildcache.fetching import DATA, QUICK, fetched, keeping, kept, loaded
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    content,
    cut,
    in_turn,
    serving,
    silence,
    status,
)


@pytest.mark.parametrize(
    "failures",
    [[status(500), status(503)], [status(429), status(502)], [status(500), cut(DATA)]],
    ids=["500-503", "429-502", "500-cut"],
)
def test_trying_again(server: Server, failures: list[Reply]) -> None:
    """A server that recovers is read, after as many failures as attempts allow."""
    server["/a.json"] = in_turn(*failures, content(DATA))
    assert fetched(server.at("/a.json")) == DATA
    assert server.downloads() == 3


def test_the_server_says_when_to_come_back(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry-After is waited for, as seconds or as a date, however short the backoff is."""
    waits: list[float] = []
    past, later = "Wed, 21 Oct 2015 07:28:00 GMT", datetime.now(UTC) + timedelta(seconds=50)
    dates = [status(503, Retry_After=when) for when in (past, format_datetime(later), "soon")]
    server["/a.json"] = in_turn(status(429, Retry_After="7"), *dates, content(DATA))
    with Transport(msgspec.structs.replace(QUICK, attempts=5), Report()) as transport:
        monkeypatch.setattr(transport._stopped, "wait", waits.append)
        assert loaded(transport.fetch(server.at("/a.json"))) == DATA
    assert [round(wait / 10) * 10 for wait in waits] == [10, 0, 50, 0]
    assert waits[0] == 7


def test_the_waits_grow(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait is about twice the one before, with some jitter."""
    waits: list[float] = []
    server["/a.json"] = status(500)
    settings = msgspec.structs.replace(QUICK, attempts=4, backoff=8)
    with Transport(settings, Report()) as transport:
        monkeypatch.setattr(transport._stopped, "wait", waits.append)
        with pytest.raises(SourceError, match="tried 4 times"):
            transport.fetch(server.at("/a.json"))
    assert all(4 * 2**index <= wait <= 12 * 2**index for index, wait in enumerate(waits))
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (500, r"HTTP 500 Internal Server Error \(tried 3 times\); try again later"),
        (404, "HTTP 404 Not Found: it is not there"),
        (403, "HTTP 403 Forbidden: it is not there, or not for everyone to read"),
        (401, "HTTP 401 Unauthorized: check the URL"),
        (204, "HTTP 204 No Content: check the URL"),
        (304, "HTTP 304 Not Modified: check the URL"),
    ],
)
def test_statuses(server: Server, code: int, reason: str) -> None:
    """An error names the URL, the status and what to do."""
    server["/a.json"] = status(code)
    with pytest.raises(SourceError, match=reason) as caught:
        fetched(server.at("/a.json"))
    assert caught.value.location == server.at("/a.json")
    assert isinstance(caught.value, Missing) == (code in (403, 404))


def test_a_long_wait_is_not_waited_for(server: Server) -> None:
    """A server that asks for minutes of patience ends the reading at once."""
    server["/a.json"] = status(429, Retry_After="600")
    with pytest.raises(SourceError, match=r"HTTP 429 .*; try again in 600 s"):
        fetched(server.at("/a.json"))
    assert server.downloads() == 1


def test_a_silent_server(server: Server) -> None:
    """A server that does not answer is given up on after its time, so many times."""
    server["/a.json"] = silence(server)
    settings = msgspec.structs.replace(QUICK, timeout=0.1, attempts=2)
    with pytest.raises(SourceError, match=r"no answer within 0.1 s \(tried 2 times\)"):
        fetched(server.at("/a.json"), settings)


def test_no_server() -> None:
    """A port that nobody listens on is a broken connection."""
    with serving() as server:
        url = server.at("/a.json")
    with pytest.raises(SourceError, match=r"the connection failed: .*refused"):
        fetched(url)


def test_a_body_that_is_always_cut(server: Server, tmp_path: Path) -> None:
    """What never comes whole is an error, and nothing of it stays on disk."""
    server["/a.json"] = cut(DATA)
    with pytest.raises(SourceError, match=r"the connection failed: .*without sending complete"):
        fetched(server.at("/a.json"), keeping(tmp_path))
    assert kept(tmp_path) == []


def test_redirects(server: Server) -> None:
    """A redirect is followed; a circle of them is an error that is not tried again."""
    server["/old.json"] = status(302, Location="/a.json")
    server["/a.json"] = content(DATA)
    assert fetched(server.at("/old.json")) == DATA
    server["/circle.json"] = status(302, Location="/circle.json")
    server.asked.clear()
    with pytest.raises(SourceError, match="redirects more than 10 times, perhaps in a circle"):
        fetched(server.at("/circle.json"))
    assert server.downloads() == 11
    server["/file.json"] = status(302, Location="file:///etc/hostname")
    with pytest.raises(SourceError, match="is no URL that can be read"):
        fetched(server.at("/file.json"))
