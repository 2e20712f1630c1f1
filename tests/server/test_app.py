"""The application: health, the page for browsers, other origins, and revisions as they come."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from schema.api import sdl
from server.graphiql.editor import EXAMPLES
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.specs_table import ContentReader
from snapshots.demo import history
from snapshots.frames.frame import Frame
from tests.server.servers import Server, application, until

TAGS = {"query": "{ tags { name } }"}


def published(folder: Path, revisions: int = 1) -> Path:
    """Publish the first revisions of a small history in a folder, and return it."""
    Catalog(str(folder)).publish(list(history(revisions=revisions, packages=3, specs=9)))
    return folder


def tags(client: httpx.Client) -> list[str]:
    """Return the tags that the server knows."""
    return [tag["name"] for tag in client.post("/graphql", json=TAGS).json()["data"]["tags"]]


# -- health


def test_a_server_is_live_and_ready(client: httpx.Client) -> None:
    """Live as long as it answers at all; ready while the catalog can be read."""
    live, ready = client.get("/health/live"), client.get("/health/ready")
    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "revisions": 5})


def test_a_catalog_that_is_not_there_yet(tmp_path: Path) -> None:
    """The server is not ready, and says why; something can still be imported while it runs."""
    with application(Settings(catalog=str(tmp_path / "nothing"))) as client:
        ready = client.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert "does not exist" in ready.json()["reason"]
        assert tags(client) == []
        assert client.get("/graphql", headers={"accept": "text/html"}).status_code == 200


def test_a_catalog_that_breaks_and_heals(tmp_path: Path) -> None:
    """503 with the reason while it cannot be read, and 200 again after; answers go on."""
    log = published(tmp_path) / "revisions" / "_delta_log"
    later = log / f"{len(list(log.glob('*.json'))):020}.json"
    with application(Settings(catalog=str(tmp_path), refresh=0.05)) as client:
        assert client.get("/health/ready").status_code == 200
        later.write_text("{ no commit")
        until(lambda: client.get("/health/ready").status_code == 503, "503", 10)
        reason = client.get("/health/ready").json()
        assert reason["status"] == "not ready"
        assert reason["reason"]
        assert client.get("/health/live").status_code == 200
        assert tags(client) == ["develop"]
        later.unlink()
        until(lambda: client.get("/health/ready").status_code == 200, "200", 10)


# -- revisions as they come


def test_new_revisions_are_offered_without_a_restart(tmp_path: Path) -> None:
    """What another process publishes is answered within two seconds, cached answers or not."""
    published(tmp_path)
    snapshot = list(history(revisions=4, packages=3, specs=9))[2]
    with application(Settings(catalog=str(tmp_path))) as client:
        assert tags(client) == tags(client) == ["develop"]
        page = client.get("/graphql", headers={"accept": "text/html"}).text
        Catalog(str(tmp_path)).publish([snapshot])
        until(lambda: snapshot.tag in tags(client), snapshot.tag, 2)
        query = f'{{ revision(ref: "{snapshot.content.digest}") {{ numSpecs }} }}'
        answer = client.post("/graphql", json={"query": query}).json()
        assert answer == {"data": {"revision": {"numSpecs": len(snapshot.content)}}}
        assert client.get("/graphql", headers={"accept": "text/html"}).text != page


def test_other_requests_go_on_while_a_revision_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a revision takes a thread, never the event loop; all who wait share one reading."""
    published(tmp_path)
    load, gate, loads = ContentReader.frame, threading.Event(), []

    def slow(reader: ContentReader, digest: str) -> Frame:
        loads.append(digest)
        assert gate.wait(10)
        return load(reader, digest)

    monkeypatch.setattr(ContentReader, "frame", slow)
    with application(Settings(catalog=str(tmp_path))) as client:
        answers: list[Any] = []

        def ask(number: int) -> None:
            question = {"query": f"{{ revision {{ s{number}: specs {{ totalCount }} }} }}"}
            answers.append(httpx.post(f"{client.base_url}/graphql", json=question).json())

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: loads, "a revision is being loaded")
        began = time.monotonic()
        assert client.get("/health/live").status_code == 200
        assert tags(client) == ["develop"]
        assert time.monotonic() - began < 5
        assert answers == []
        gate.set()
        for thread in threads:
            thread.join(10)
        counts = {
            count["totalCount"]
            for answer in answers
            for count in answer["data"]["revision"].values()
        }
        assert (len(answers), counts, len(loads)) == (3, {9}, 1)


# -- pages


def test_a_browser_is_shown_graphiql(client: httpx.Client) -> None:
    """Whether the address holds a query or not; a program gets JSON at the same address."""
    accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    page = client.get("/graphql", headers={"accept": accept})
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    assert "accept" in page.headers["vary"]
    assert "<!doctype html>" in page.text
    shared = client.get("/graphql", headers={"accept": accept}, params=TAGS)
    assert shared.content == page.content
    for accepted in ("*/*", "application/json", f"application/json, {accept}"):
        answer = client.get("/graphql", headers={"accept": accepted}, params=TAGS)
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.json()["data"]["tags"]


def test_an_address_with_a_slash_leads_to_the_one_without(client: httpx.Client) -> None:
    """With its query; a POST remains a POST, and other origins' pages may follow."""
    redirect = client.get("/graphql/")
    assert (redirect.status_code, redirect.headers["location"]) == (308, "../graphql")
    followed = client.get("/graphql/", params=TAGS, follow_redirects=True)
    posted = client.post("/graphql/", json=TAGS, follow_redirects=True)
    assert followed.json() == posted.json() == client.post("/graphql", json=TAGS).json()


def test_the_schema_is_a_file(client: httpx.Client) -> None:
    """As text that a browser shows and a tool reads; a client that has it gets 304."""
    gzip = {"accept-encoding": "gzip"}
    response = client.get("/schema.graphql", headers=gzip)
    assert (response.status_code, response.text) == (200, sdl())
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["cache-control"] == "no-cache"
    etag = response.headers["etag"]
    again = client.get("/schema.graphql", headers=gzip | {"if-none-match": etag})
    assert (again.status_code, again.content) == (304, b"")
    head = client.head("/schema.graphql", headers=gzip)
    assert (head.headers["etag"], head.content) == (etag, b"")
    refused = client.post("/schema.graphql")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


def test_the_examples_of_the_page_have_answers(client: httpx.Client) -> None:
    """Each query runs without errors and has data in this catalog; none names a digest.

    Tags outlast what they name: a tab that a reader keeps is valid for a later catalog, too.
    """
    page = client.get("/graphql", headers={"accept": "text/html"}).text
    (examples,) = re.findall(r'id="examples">(\[.*\])</script>\n', page)
    queries = [example["query"] for example in orjson.loads(examples)]
    assert len(queries) == len(EXAMPLES)
    for query in queries:
        answer = client.post("/graphql", json={"query": query}).json()
        assert "errors" not in answer
        assert all(answer["data"].values())
    assert 'develop-2025-01-26~1\\"' in examples
    assert not re.search(r'\\"[0-9a-f]{6,64}\\"', examples)


def test_without_pages_the_start_page_leads_to_the_api(demo_catalog: Path) -> None:
    """Whoever opens the bare address ends where there is something to see."""
    with application(Settings(catalog=str(demo_catalog), pages=False)) as client:
        response = client.get("/")
        assert response.is_redirect
        assert response.headers["location"] == "/graphql"
        assert client.get("/compare").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/nope",
        "/graphql/x",
        "/static/nope.js",
        "/static/../app.py",
        "/health",
        "/health/live/",
        "/static",
    ],
)
def test_other_addresses_are_not_found(client: httpx.Client, path: str) -> None:
    """404; no path leads out of the folder of static files."""
    assert client.get(path).status_code == 404


# -- other origins


ORIGIN = {"origin": "https://front.example"}
PREFLIGHT = ORIGIN | {
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
}


def test_other_origins_are_not_let_in_by_default(client: httpx.Client) -> None:
    """Without the setting a browser keeps other pages from reading answers."""
    response = client.post("/graphql", json=TAGS, headers=ORIGIN)
    assert not any(name.startswith("access-control") for name in response.headers)
    preflight = client.options("/graphql", headers=PREFLIGHT)
    assert "access-control-allow-origin" not in preflight.headers


@pytest.mark.parametrize("origins", [("https://front.example",), ("*",)], ids=str)
def test_other_origins_are_let_in_by_the_setting(
    demo_catalog: Path, origins: tuple[str, ...]
) -> None:
    """Named ones, or all; preflights and refusals included."""
    with application(Settings(catalog=str(demo_catalog), cors_origins=origins)) as client:
        preflight = client.options("/graphql", headers=PREFLIGHT)
        assert preflight.status_code == 200
        for response in (
            preflight,
            client.post("/graphql", json=TAGS, headers=ORIGIN),
            client.post("/graphql", content=b"?", headers=ORIGIN),
        ):
            allowed = response.headers["access-control-allow-origin"]
            assert allowed in ("*", "https://front.example")
            if origins != ("*",):
                assert "origin" in response.headers["vary"].lower()
        stranger = client.post("/graphql", json=TAGS, headers={"origin": "https://evil.example"})
        assert ("access-control-allow-origin" in stranger.headers) == (origins == ("*",))


# -- limits and faults


def test_a_fault_of_the_server_shows_an_id_alone(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """500 as JSON, also where no GraphQL error can be made of it; the log has the rest."""

    def fail(*_: object) -> bytes:
        raise ZeroDivisionError("the secret of the house")

    monkeypatch.setattr("server.app.graphiql_page", fail)
    with application(Settings(catalog=str(demo_catalog))) as client:
        response = client.get("/graphql", headers={"accept": "text/html"})
    (error,) = response.json()["errors"]
    assert response.status_code == 500
    assert error["extensions"]["code"] == "INTERNAL_SERVER_ERROR"
    assert "secret" not in response.text
    logged = [
        record for record in caplog.records if error["extensions"]["id"] in record.getMessage()
    ]
    assert "the secret of the house" in logged[0].getMessage()


def test_headers_do_not_tell_what_serves(demo_server: Server) -> None:
    """No name or version of the software behind."""
    assert "server" not in httpx.get(f"{demo_server.url}/health/live").headers


def test_pages_are_framed_by_the_origins_that_are_named(demo_catalog: Path) -> None:
    """By no other, and nothing but pages is: not GraphiQL, nor data."""
    origins = ("https://a.example", "https://b.example")
    with application(Settings(catalog=str(demo_catalog), frame_ancestors=origins)) as client:
        page = client.get("/packages/zlib").headers
        policy = page["content-security-policy"]
        assert policy.endswith("; frame-ancestors https://a.example https://b.example")
        assert "x-frame-options" not in page
        for path in ("/graphql", "/graphql?query={x}", "/health/live", "/static/pages/pages.css"):
            headers = client.get(path, headers={"accept": "text/html"}).headers
            assert headers["content-security-policy"].endswith("frame-ancestors 'none'"), path
            assert headers["x-frame-options"] == "DENY", path
