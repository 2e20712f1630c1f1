"""What every answer has: an id, and headers that bound what browsers do with it."""

import asyncio
import re

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from server.asgi.exchanges import SecurityHeaders, trusted_among
from server.pages.renderer import POLICY
from snapshots.errors import InvalidArgument
from tests.server.exchanges import answering, exchanged, failing, scope

MADE = re.compile(r"[0-9a-f]{12}-[0-9a-f]+")


def headers_of(*given: bytes, client: str = "10.0.0.1", trusted: tuple[str, ...] = ()) -> list[str]:
    """Return the ids of the answers to requests with such ids."""
    scopes = [scope(headers=[(b"x-request-id", it)], client=(client, 5)) for it in given]
    messages = exchanged(answering, *scopes, trusted=trusted)
    started = [it for it in messages if it["type"] == "http.response.start"]
    return [dict(it["headers"])[b"x-request-id"].decode() for it in started]


START: Message = {"type": "http.response.start", "status": 201, "headers": []}
PROXIES = ("10.0.0.0/8", "::1")


def test_ids_are_made_and_differ() -> None:
    """Ids of clients that are not trusted proxies are ignored."""
    made = headers_of(b"mine", b"mine", client="192.0.2.1", trusted=PROXIES) + headers_of(b"mine")
    assert len(set(made)) == 3
    assert all(map(MADE.fullmatch, made))


@pytest.mark.parametrize("client", ["10.1.2.3", "::1"])
def test_the_id_of_a_trusted_proxy_is_taken(client: str) -> None:
    """So that its log and this one have the same id."""
    given = b"4bf92f3577b34da6:0/a+b=.-_@Z"
    assert headers_of(given, client=client, trusted=PROXIES) == [given.decode()]


@pytest.mark.parametrize("given", [b"", b"a" * 129, b"a b", b"a\x1b[2J", b"\xff", b"a\r\nb: c"])
def test_an_id_that_is_not_fit_for_a_log_is_replaced(given: bytes) -> None:
    """Whoever it is from."""
    (made,) = headers_of(given, client="10.1.2.3", trusted=PROXIES)
    assert MADE.fullmatch(made)


def test_clients_without_an_address_are_not_trusted() -> None:
    """As over a Unix socket, or with a name in place of an address."""
    is_trusted = trusted_among(("0.0.0.0/0",))
    assert is_trusted("192.0.2.1")
    assert not is_trusted("testclient")


def test_a_bad_network_is_an_error() -> None:
    """The message names the variable."""
    with pytest.raises(InvalidArgument, match="CACHELOG_TRUSTED_PROXIES: 'proxy' is not an addr"):
        trusted_among(("10.0.0.1", "proxy"))


def test_an_error_is_answered_with_the_headers_of_all_answers() -> None:
    """Though the application has raised it."""
    start, body = exchanged(failing, scope())
    assert (start["status"], body["body"]) == (500, b"ZeroDivisionError")
    names = {name for name, _ in start["headers"]}
    assert {b"x-request-id", b"content-security-policy", b"x-content-type-options"} <= names


@pytest.mark.parametrize(("messages", "status"), [([], 503), ([START], 201)])
def test_a_cancelled_request_is_refused(messages: list[Message], status: int) -> None:
    """With 503, unless its answer has begun, to which nothing is added."""

    async def cancelled(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)
        raise asyncio.CancelledError

    start, *rest = exchanged(cancelled, scope())
    assert start["status"] == status
    assert bool(rest) == (status == 503)


ADDRESSES = ["/graphql?query={x}", "/schema.graphql", "/health/live", "/nope", "/static/page.js"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_bounds_what_browsers_do(client: httpx.Client, address: str) -> None:
    """No guessing of types, no address told to others, no frames, nothing loaded."""
    headers = client.get(address).headers
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert_bounded(headers)


def test_pages_load_their_own_files_alone(client: httpx.Client) -> None:
    """They are bounded as all answers, and have a policy of their own."""
    headers = client.get("/").headers
    assert headers.get_list("content-security-policy") == [POLICY.decode()]
    assert "unsafe" not in POLICY.decode()
    assert_bounded(headers)


def assert_bounded(headers: httpx.Headers) -> None:
    """Assert what holds of every answer."""
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert MADE.fullmatch(headers["x-request-id"])


def test_graphiql_may_load_its_files_alone(client: httpx.Client) -> None:
    """No script or style that stands in the page, none from elsewhere, and no eval."""
    page = client.get("/graphql", headers={"accept": "text/html"})
    policy = page.headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "unsafe" not in policy
    assert "<style" not in page.text
    assert " style=" not in page.text


def test_a_page_that_needs_a_cdn_may_load_from_it() -> None:
    """Where the build could not bring the files."""
    html = [(b"content-type", b"text/html; charset=utf-8")]
    policy = dict(SecurityHeaders(needs_cdn=True).complete(html))[b"content-security-policy"]
    assert b"script-src 'self' https://unpkg.com;" in policy
