"""How pages are sent: by which methods and under which addresses, kept, and refused."""

import asyncio
import re
import socket
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from server.app import create_app
from server.pages.addresses import Address
from server.pages.documents import Answered
from server.pages.error_pages import ErrorPages, Nearest
from server.pages.renderer import POLICY, Renderer
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.pages.page_reader import Shown, shown
from tests.server.servers import application

BROWSER = {"Accept": "text/html,*/*;q=0.8"}


def test_a_page_is_kept_as_answers_are(client: httpx.Client) -> None:
    """An ETag and 304; for ever under digests, to be asked for again under tags. HEAD as GET."""
    asked = {"query": "{ revisions(first: 2) { nodes { tag digest } } }"}
    head, base = client.post("/graphql", json=asked).json()["data"]["revisions"]["nodes"]
    for name, kept in (("tag", "no-cache"), ("digest", "immutable")):
        address = f"/compare/{base[name]}...{head[name]}"
        page = client.get(address, headers=BROWSER)
        assert page.status_code == 200
        assert kept in page.headers["cache-control"]
        assert page.headers["content-security-policy"].encode() == POLICY
        again = client.get(address, headers={"If-None-Match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        head_only = client.head(address, headers=BROWSER)
        assert (head_only.status_code, head_only.content) == (200, b"")
        assert head_only.headers["etag"] == page.headers["etag"]


def test_other_methods_are_refused(client: httpx.Client) -> None:
    """With the methods that there are."""
    page = Shown(client.post("/", content=b"x"))
    assert page.status == 405
    assert page.response.headers["allow"] == "GET, HEAD"
    assert page.text("h1") == "Not allowed"


@pytest.mark.parametrize("address", ["/?q=" + "x" * 9_000, "/r/" + "x" * 9_000])
def test_an_address_has_an_end(client: httpx.Client, address: str) -> None:
    """414, in a page."""
    page = shown(client, address)
    assert (page.status, page.text("h1")) == (414, "Too long an address")


def test_a_slash_at_the_end_is_one_too_many(client: httpx.Client) -> None:
    """It leads to the address without, by a link that holds below any prefix."""
    led = client.get("/r/develop/?search=a%20b")
    assert (led.status_code, led.headers["location"]) == (308, "../develop?search=a%20b")
    assert client.get("/r/develop/", follow_redirects=True).status_code == 200
    assert client.get("/r//").status_code == 404


def test_a_name_may_have_a_slash(client: httpx.Client) -> None:
    """Links write it as %2F, and it parts no names."""
    page = shown(client, "/r/a%2Fb")
    assert page.status == 404
    assert "'a/b'" in page.text(".problem")
    assert page.links()["All series"] == str(client.base_url.join("/"))


def test_an_unknown_address_is_a_page_for_browsers(client: httpx.Client) -> None:
    """And a line for programs, as it is for what no page could be at."""
    page = shown(client, "/nope/<b>")
    assert (page.status, page.text("h1")) == (404, "Not found")
    assert page.links()["All series"] == str(client.base_url.join("/"))
    for answer in (client.get("/nope"), client.post("/nope", headers=BROWSER)):
        assert (answer.status_code, answer.text) == (404, "Not Found")
        assert answer.headers["cache-control"] == "no-store"
        # Which of the two forms it is depends on this header, which caches have to know.
        assert "accept" in answer.headers["vary"]
    assert "accept" in page.response.headers["vary"]


def test_a_request_for_no_path_is_answered_too(client: httpx.Client) -> None:
    """HTTP has a target that is not a path, the asterisk of OPTIONS; anybody may GET it."""
    sent = b"GET * HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as connection:
        connection.sendall(sent)
        assert connection.makefile("rb").readline().split()[1] == b"404"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the place of a catalog with a small history, which tests only read."""
    folder = str(tmp_path_factory.mktemp("small"))
    Catalog(folder).publish(list(history(revisions=2, packages=4, specs=12)))
    return folder


def test_what_nobody_expected_is_a_page(
    small: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It names the line of the log that says more, and nothing else."""

    def fails(*_arguments: Any, **_options: Any) -> bytes:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Renderer, "page", fails)
    with application(Settings(catalog=small)) as client:
        page = shown(client, "/")
    assert (page.status, page.text("h1")) == (500, "Something went wrong")
    assert "secret" not in page.response.text
    (logged,) = [it.getMessage() for it in caplog.records if "a secret" in it.getMessage()]
    assert logged.split()[1].rstrip(":") in page.text(".problem")


def test_clients_may_ask_for_so_many_pages(small: str) -> None:
    """As for answers: 429 with Retry-After, and a link to try again."""
    with application(Settings(catalog=small, requests_per_minute=2)) as client:
        assert [shown(client, path).status for path in ("/", "/r/develop")] == [200, 200]
        page = shown(client, "/?after=x")
        assert (page.status, page.text("h1")) == (429, "Too many requests")
        assert int(page.response.headers["retry-after"]) > 0
        assert page.links()["Try again"] == str(page.response.url)


def test_pages_are_counted_in_every_coding(small: str) -> None:
    """One that was compressed for a client takes more bytes from then on."""

    def kept(client: httpx.Client) -> int:
        found = re.search(r'cache_bytes\{cache="responses"\} (\S+)', client.get("/metrics").text)
        assert found
        return int(float(found[1]))

    with application(Settings(catalog=small)) as client:
        client.get("/r/develop", headers={"accept-encoding": "identity"})
        plain = kept(client)
        packed = client.get("/r/develop", headers={"accept-encoding": "gzip"})
        assert kept(client) == plain + int(packed.headers["content-length"])


def test_what_pages_cost_counts(small: str) -> None:
    """What is made is charged as its document is; what is kept is free."""
    with application(Settings(catalog=small, cost_per_minute=10)) as client:
        statuses = [shown(client, path).status for path in ("/", "/", "/r/develop", "/")]
        assert statuses == [200, 200, 429, 200]


@pytest.mark.parametrize("limit", [Settings(max_cost=1), Settings(max_document_bytes=10)])
def test_limits_that_no_page_keeps_are_told(small: str, limit: Settings) -> None:
    """Whatever an operator allows, nothing fails that nobody expected; who sends a form, too."""
    settings = replace(limit, catalog=small)
    with application(settings) as client:
        pages = [shown(client, path) for path in ("/", "/series/develop", "/compare", "/hash")]
        pages += [shown(client, "/check"), Shown(client.post("/check", files={"text": b"[]"}))]
    for page in pages:
        assert page.status == 400
        assert "allowed" in page.text(".problem")


def test_a_history_that_is_not_filled_says_when() -> None:
    """503 with Retry-After, and a link to try again."""
    error = {"message": "2 of 3 are missing.", "extensions": {"code": "HISTORY_INCOMPLETE"}}
    answered = Answered({}, [error], is_good=False, is_permanent=False)
    page = ErrorPages(Renderer()).missing(Address("/r/a", {}), "revision", answered, Nearest())
    assert (page.status, page.code) == (503, "HISTORY_INCOMPLETE")
    assert (b"retry-after", b"2") in page.encoded("identity").headers
    assert b"2 of 3 are missing." in page.body
    assert b'<a href="">Try again</a>' in page.body


def test_a_page_is_made_once_for_all_who_ask(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask at the same time; the next ones get what is kept."""
    made = []
    render = Renderer.page

    def counted(*arguments: Any, **options: Any) -> bytes:
        made.append(arguments)
        return render(*arguments, **options)

    monkeypatch.setattr(Renderer, "page", counted)

    async def asking() -> None:
        # A look at the catalog in between could find what a page of the moment is kept for anew.
        app = create_app(Settings(catalog=small, refresh=3_000))
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                answers = await asyncio.gather(*(client.get("/r/develop") for _ in range(20)))
                assert {it.status_code for it in answers} == {200}
                assert len({it.headers["etag"] for it in answers}) == 1
                await client.get("/r/develop")

    asyncio.run(asking())
    assert len(made) == 1


def scope_of(path: str, query: str = "") -> dict[str, Any]:
    """Return what an ASGI server says of a browser's request."""
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"accept", b"text/html")],
    }


def test_who_has_left_is_sent_nothing(small: str) -> None:
    """The log has a status; there is no page."""
    messages: list[Any] = []

    async def leave() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)

    async def answer() -> None:
        app = create_app(Settings(catalog=small))
        async with app.router.lifespan_context(app):
            await app(scope_of("/r/develop"), leave, send)

    asyncio.run(answer())
    assert messages[0]["status"] == 499
    assert not any(message.get("body") for message in messages)


def test_what_slow_readers_hold_is_bounded(small: str) -> None:
    """Another large page is refused while one is on its way, with a page that is small."""
    many = "&".join(f"stacks={'x' * 60}{number}" for number in range(110))

    async def asking() -> list[int]:
        app = create_app(Settings(catalog=small, sending_bytes=1))
        async with app.router.lifespan_context(app):
            is_read = asyncio.Event()
            first = asyncio.create_task(asked(app, "/r/develop", many, is_read))
            while not statuses:
                await asyncio.sleep(0.01)
            await asked(app, "/r/develop", f"search=a&{many}")
            is_read.set()
            await first
            await asked(app, "/r/develop", f"search=a&{many}")
        return statuses

    async def asked(app: Any, path: str, query: str, is_read: asyncio.Event | None = None) -> None:
        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            elif is_read is not None:
                await is_read.wait()

        await app(scope_of(path, query), asyncio.Event().wait, send)

    statuses: list[int] = []
    assert asyncio.run(asking()) == [200, 503, 200]


def test_links_go_back_no_further_than_any_page_is_deep(client: httpx.Client) -> None:
    """However many slashes somebody sends: a page that says so is not made of them."""
    page = shown(client, "/x" * 3_000)
    assert page.status == 404
    assert len(page.response.content) < 20_000
