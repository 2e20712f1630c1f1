"""Responses with pages: methods, addresses, links, caching, limits and errors."""

import asyncio
import re
import threading
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock, create_autospec
from urllib.parse import unquote, urljoin

import httpx
import orjson
import pytest
from msgspec.structs import replace
from starlette.routing import compile_path
from starlette.types import Scope

from server.app import create_app
from server.graphql.execution import Execution
from server.pages.addresses import Address
from server.pages.documents import DocumentAnswer
from server.pages.error_pages import Nearest, missing
from server.pages.renderer import POLICY, Renderer
from server.pages.routes import PAGES, TABS
from server.settings import Settings
from snapshots.catalog import library
from snapshots.catalog.catalog import Catalog
from snapshots.changes.explanation import Explanation, explain
from tests.demo_histories import history
from tests.schema import questions
from tests.server.exchanges import scope
from tests.server.pages.page_reader import Shown, data_of, shown
from tests.server.servers import PATIENCE, application, serving_app, until

BROWSER = {"Accept": "text/html,*/*;q=0.8"}


def test_page_is_cached(client: httpx.Client) -> None:
    """By ETag and 304; immutable under refs of revisions, revalidated under tags. HEAD as GET."""
    revisions = data_of(client, "{ revisions(first: 2) { nodes { tagName ref } } }")["revisions"]
    head, base = revisions["nodes"]
    for name, lifetime in (("tagName", "no-cache"), ("ref", "immutable")):
        address = f"/compare/{base[name]}...{head[name]}/packages"
        page = client.get(address, headers=BROWSER)
        assert page.status_code == 200
        assert lifetime in page.headers["cache-control"]
        assert page.headers["content-security-policy"].encode() == POLICY
        again = client.get(address, headers={"If-None-Match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        head_only = client.head(address, headers=BROWSER)
        assert (head_only.status_code, head_only.content) == (200, b"")
        assert head_only.headers["etag"] == page.headers["etag"]


def test_urls_of_objects_are_pages(history_client: httpx.Client) -> None:
    """Whatever has a page names it; causes of two specs have none."""
    revisions = data_of(history_client, "{ revisions(first: 2) { nodes { ref } } }")
    head, base = (revision["ref"] for revision in revisions["revisions"]["nodes"])
    specs = data_of(history_client, "{ revision { specs(first: 2) { nodes { hash } } } }")
    first, second = (spec["hash"] for spec in specs["revision"]["specs"]["nodes"])
    variables = {"base": base, "head": head, "hash": first, "other": second}
    answer = data_of(history_client, questions.URLS, **variables)
    assert all(cause["url"] is None for cause in answer["compareSpecs"]["causes"]["nodes"])
    urls = re.findall(r'"url":"([^"]*)"', orjson.dumps(answer).decode())
    assert len(urls) > 20
    for url in urls:
        assert history_client.get(url, headers=BROWSER).status_code == 200, url


def test_comparison_that_is_being_explained(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pages show what is known, and ask again; the API says since when, and to come again."""
    may_explain = threading.Event()

    def wait(*arguments: Any) -> Explanation:
        assert may_explain.wait(PATIENCE)
        return explain(*arguments)

    monkeypatch.setattr(library, "explain", wait)
    app = create_app(Settings(catalog=str(demo_catalog)), patience=0.1)
    with serving_app(app) as client:
        newer, older = data_of(client, "{ revisions(first: 2) { nodes { ref } } }")["revisions"][
            "nodes"
        ]
        pair = f"{older['ref']}...{newer['ref']}"
        why = f"{{ compare(base: {older['ref']!r}, head: {newer['ref']!r}) {{ whyUnknown }} }}"
        before = datetime.now(UTC)
        refused = client.post("/graphql", json={"query": why.replace("'", '"')})
        (error,) = refused.json()["errors"]
        assert error["extensions"]["code"] == "EXPLAINING"
        assert str(error["extensions"]["retryAfter"]) == refused.headers["retry-after"]
        since = datetime.fromisoformat(error["extensions"]["since"])
        assert before.replace(microsecond=0) <= since <= datetime.now(UTC)
        for tab in ("", "/specs"):
            page = client.get(f"/compare/{pair}{tab}", headers=BROWSER)
            assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
            again = re.search(r'hx-get="([^"]*)" hx-trigger="load', page.text)
            assert again
            assert urljoin(str(page.url), unescape(again[1])) == str(page.url)
            assert "Specs added" in page.text
        may_explain.set()
        shown = "What caused the replacements"
        until(lambda: shown in client.get(f"/compare/{pair}", headers=BROWSER).text, "it is shown")


@pytest.mark.parametrize(
    ("method", "address", "status", "title"),
    [
        ("POST", "/", 405, "Not allowed"),
        ("GET", "/?q=" + "x" * 9_000, 414, "URL too long"),
        ("GET", "/r/" + "x" * 9_000, 414, "URL too long"),
    ],
    ids=["method", "query", "path"],
)
def test_other_requests_are_refused(
    client: httpx.Client, method: str, address: str, status: int, title: str
) -> None:
    """By a page; the Allow header lists the allowed methods."""
    page = Shown(client.request(method, address, headers=BROWSER))
    assert (page.status, page.text("h1")) == (status, title)
    assert page.response.headers.get("allow") == ("GET, HEAD" if status == 405 else None)


def test_trailing_slash_redirects(client: httpx.Client) -> None:
    """By a relative location, which works below any prefix."""
    redirect = client.get("/r/develop/?search=a%20b")
    assert (redirect.status_code, redirect.headers["location"]) == (308, "../develop?search=a%20b")
    assert client.get("/r/develop/", follow_redirects=True).status_code == 200
    assert client.get("/r//").status_code == 404


def test_unknown_address_is_a_page_for_browsers(client: httpx.Client) -> None:
    """And a plain text for other clients and methods; its relative links do not make it large."""
    assert len(shown(client, "/x" * 3_000).response.content) < 20_000
    page = shown(client, "/nope/<b>")
    assert (page.status, page.text("h1")) == (404, "Not found")
    assert page.links()["All series"] == str(client.base_url.join("/"))
    for answer in (client.get("/nope"), client.post("/nope", headers=BROWSER)):
        assert (answer.status_code, answer.text) == (404, "Not Found")
        assert answer.headers["cache-control"] == "no-store"
        # The form depends on this header, which caches have to respect.
        assert "accept" in answer.headers["vary"]
    assert "accept" in page.response.headers["vary"]


def test_unexpected_error_is_a_page(
    small: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It contains the id of the log line, and no details."""
    monkeypatch.setattr(Renderer, "page", Mock(side_effect=RuntimeError("a secret")))
    with application(Settings(catalog=small)) as client:
        page = shown(client, "/")
    assert (page.status, page.text("h1")) == (500, "Something went wrong")
    assert "secret" not in page.response.text
    (message,) = [message for message in caplog.messages if "a secret" in message]
    assert message.split()[1].rstrip(":") in page.text(".problem")


def test_pages_beyond_the_limits(small: str) -> None:
    """With a limit too low for any page, every page and form explains the error."""
    with application(Settings(catalog=small, max_cost=1)) as client:
        pages = [shown(client, path) for path in ("/", "/series/develop", "/compare", "/specs")]
        pages += [shown(client, "/check"), Shown(client.post("/check", files={"text": b"[]"}))]
    for page in pages:
        assert page.status == 400
        assert "allowed" in page.text(".problem")


def test_incomplete_history_is_retried() -> None:
    """503 with Retry-After, and a link to try again."""
    error = {"message": "2 of 3 are missing.", "extensions": {"code": "HISTORY_INCOMPLETE"}}
    response = DocumentAnswer({}, [error], is_good=False, is_permanent=False)
    page = missing(Renderer(), Address("/r/a", {}), "revision", response, Nearest())
    assert (page.status, page.code) == (503, "HISTORY_INCOMPLETE")
    assert (b"retry-after", b"2") in page.encoded("identity").headers
    assert b"2 of 3 are missing." in page.body
    assert b'<a href="">Try again</a>' in page.body


@pytest.mark.parametrize("is_late", [False, True])
def test_concurrent_requests_share_a_page(
    small: str, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    """Only the first renders it. One whose cost is estimated later gets the cached page."""
    render, weigh = create_autospec(Renderer.page, side_effect=Renderer.page), Execution.weigh
    is_first_answered = threading.Event()
    waits = iter([False, True])  # the second

    def weigh_late(*arguments: Any) -> Any:
        assert not (is_late and next(waits, False)) or is_first_answered.wait(PATIENCE)
        return weigh(*arguments)

    monkeypatch.setattr(Renderer, "page", render)
    monkeypatch.setattr(Execution, "weigh", weigh_late)

    async def requests() -> None:
        # A refresh of the catalog in between could invalidate the cached page.
        app = create_app(Settings(catalog=small, refresh=3_000), patience=PATIENCE)
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                sent = [asyncio.create_task(client.get("/r/develop")) for _ in range(20)]
                await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
                is_first_answered.set()
                answers = await asyncio.gather(*sent)
                assert {answer.status_code for answer in answers} == {200}
                assert len({answer.headers["etag"] for answer in answers}) == 1

    asyncio.run(requests())
    assert render.call_count == 1


def test_links_are_valid(history_client: httpx.Client, addresses: dict[str, str]) -> None:
    """One of each kind: to a page with parameters of the same names, from any page.

    Links within a page are left out, because the page of a missing revision has them too.
    """
    links = {
        _kind(httpx.URL(link)): link
        for address in addresses.values()
        for link in shown(history_client, address).links("a").values()
        if link.startswith(str(history_client.base_url)) and "#main" not in link
    }
    assert len(links) > 50
    answers = (
        history_client.get(link, headers={"Accept": "text/html,*/*"}, follow_redirects=True)
        for link in links.values()
    )
    assert [answer.url for answer in answers if answer.status_code != 200] == []


def _kind(url: httpx.URL) -> tuple[str, frozenset[str]]:
    routes = (page.path for page in PAGES if compile_path(page.path)[0].match(url.path))
    return next(routes, url.path), frozenset(url.params)


def test_immutable_pages_never_change(tmp_path: Path) -> None:
    """Not even when other tags of the same contents, and new neighbours, are published."""
    earlier, later, newest = history(revisions=3, packages=8, specs=30)
    catalog = Catalog(str(tmp_path))
    base, head = (each.revision.ref for each in catalog.publish([earlier, later]))
    with application(Settings(catalog=str(tmp_path))) as client:
        spec = next(iter(later.content.packages.values())).specs[0]
        pair, stack = f"/compare/{base}...{head}", spec.stacks[0]
        addresses = [pair + tab for tab in TABS]
        addresses += [f"{pair}:{stack}{tab}" for tab in ("", "/coverage")]
        of_head = ("", f"/stacks/{stack}", f"/packages/{spec.name}", f"/specs/{spec.hash}")
        addresses += [f"/r/{head}{rest}" for rest in of_head]
        addresses += [f"/search?in={head}&q={spec.name}", f"/compare?base={base}"]
        pages = {address: client.get(address) for address in addresses}
    catalog.publish(
        [
            replace(later, tag="later", taken_at=datetime(2035, 1, 1, tzinfo=UTC)),
            replace(earlier, tag="earlier", taken_at=datetime(2015, 1, 1, tzinfo=UTC)),
            replace(later, taken_at=datetime(2036, 1, 1, tzinfo=UTC)),
            newest,
        ]
    )
    with application(Settings(catalog=str(tmp_path))) as client:
        now = {address: client.get(address).text for address in addresses}
    headers = {address: page.headers["cache-control"] for address, page in pages.items()}
    immutable = {address for address in addresses if "immutable" in headers[address]}
    assert {pair + tab for tab in ("/packages", "/stacks", "/coverage")} <= immutable
    changed = {address for address in addresses if pages[address].text != now[address]}
    assert changed
    assert not changed & immutable


@pytest.mark.parametrize(
    ("address", "problem", "link", "target"),
    [
        (f"/r/develop/specs/{'a' * 32}", "", "History of this hash", f"/hash/{'a' * 32}"),
        (
            "/r/v0.22.0/specs/a",
            "'a' begins",
            "Specs of this revision whose hash begins with it",
            "/search?q=%2Fa&in=v0.22.0",
        ),
        (
            "/r/develop/packages/%3Cqqqq%3E",
            "",
            "Search this revision for it",
            "/search?q=%3Cqqqq%3E&in=develop",
        ),
        ("/r/a%2Fv0.22.0", "", "All series", "/"),
    ],
)
def test_unknown_names_lead_on(
    client: httpx.Client, address: str, problem: str, link: str, target: str
) -> None:
    """By links to a search or a history; a prefix lists the specs of the same revision."""
    page = shown(client, address)
    assert page.status == 404
    assert bool(page.texts(".nearest")) == ("%2F" in address)
    assert page.text(".problem").startswith(problem)
    assert unquote(address).rpartition("/")[2] in page.text()
    assert page.links()[link] == str(client.base_url.join(target))
    assert all("/a" in link for link in page.links(".candidates a").values())


def scope_of(query: str = "", path: str = "/r/develop") -> Scope:
    """Return the ASGI scope of a browser's request."""
    accept = (b"accept", b"text/html")
    query_string = query.encode()
    return scope(path, raw_path=path.encode(), query_string=query_string, headers=[accept])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/r/develop"),
        ("POST", "/check"),
        ("GET", "/feeds/develop.atom"),
        ("POST", "/graphql"),
    ],
)
def test_disconnected_client_is_sent_nothing(
    small: str, method: str, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log has a status."""
    send = AsyncMock()

    async def answer() -> None:
        app = create_app(Settings(catalog=small))
        request = {**scope_of(path=path), "method": method}
        async with app.router.lifespan_context(app):
            await app(request, AsyncMock(return_value={"type": "http.disconnect"}), send)

    asyncio.run(answer())
    send.assert_not_called()
    assert f"{method} {path} 499 0B" in capsys.readouterr().err
