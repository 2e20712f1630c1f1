"""The application: health, GraphiQL, other origins, and new revisions."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from schema.api import sdl
from server.graphiql.editor import EXAMPLES
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.specs_table import ContentReader
from snapshots.frames.frame import Frame
from tests.demo_histories import history
from tests.server.servers import application, tags, until

TAGS = {"query": "{ tags { name } }"}


def publish(folder: Path, revisions: int = 1) -> Path:
    """Publish the first revisions of a small history in a folder; return the folder."""
    Catalog(str(folder)).publish(list(history(revisions=revisions, packages=3, specs=9)))
    return folder


def test_server_is_live_and_ready(client: httpx.Client) -> None:
    """A server is ready while its catalog can be read; no header names its software."""
    live, ready = client.get("/health/live"), client.get("/health/ready")
    assert (live.status_code, live.json()) == (200, {"status": "live"})
    assert "server" not in live.headers
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "revisions": 5})


def test_server_without_a_catalog_is_not_ready(tmp_path: Path) -> None:
    """The server is not ready, and states the reason; the catalog can be created while it runs."""
    with application(Settings(catalog=str(tmp_path / "nothing"))) as client:
        ready = client.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert "does not exist" in ready.json()["reason"]
        assert tags(client) == []
        assert client.get("/graphql", headers={"accept": "text/html"}).status_code == 200


def test_new_revisions_are_served(tmp_path: Path) -> None:
    """Within two seconds, although responses are cached."""
    publish(tmp_path)
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


def test_loading_blocks_no_other_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision is loaded in a thread, once for all requests that wait for it."""
    publish(tmp_path)
    load, gate, loads = ContentReader.frame, threading.Event(), []

    def slow(reader: ContentReader, digest: str) -> Frame:
        loads.append(digest)
        assert gate.wait(10)
        return load(reader, digest)

    monkeypatch.setattr(ContentReader, "frame", slow)
    with application(Settings(catalog=str(tmp_path))) as client:

        def send(number: int) -> Any:
            request = {"query": f"{{ revision {{ s{number}: specs {{ totalCount }} }} }}"}
            return client.post("/graphql", json=request).json()["data"]["revision"]

        with ThreadPoolExecutor(3) as pool:
            responses = [pool.submit(send, number) for number in range(3)]
            until(lambda: loads, "a revision is being loaded")
            assert client.get("/health/live").status_code == 200
            assert tags(client) == ["develop"]
            assert not any(response.done() for response in responses)
            gate.set()
        for number, response in enumerate(responses):
            assert response.result() == {f"s{number}": {"totalCount": 9}}
        assert len(loads) == 1


def test_browsers_get_graphiql(client: httpx.Client) -> None:
    """Also if the URL contains a query; other clients get JSON at the same URL."""
    page = client.get("/graphql", headers={"accept": "text/html,*/*;q=0.8"}, params=TAGS)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    assert "accept" in page.headers["vary"]
    assert "<!doctype html>" in page.text
    answer = client.get("/graphql", headers={"accept": "*/*"}, params=TAGS)
    assert answer.json()["data"]["tags"]


def test_trailing_slash_redirects(client: httpx.Client) -> None:
    """The query and the method are preserved."""
    redirect = client.get("/graphql/")
    assert (redirect.status_code, redirect.headers["location"]) == (308, "../graphql")
    followed = client.get("/graphql/", params=TAGS, follow_redirects=True)
    posted = client.post("/graphql/", json=TAGS, follow_redirects=True)
    assert followed.json() == posted.json() == client.post("/graphql", json=TAGS).json()


def test_schema_is_served_as_text(client: httpx.Client) -> None:
    """It is text; a client that has it gets 304."""
    response = client.get("/schema.graphql")
    assert (response.status_code, response.text) == (200, sdl())
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    again = client.get("/schema.graphql", headers={"if-none-match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    refused = client.post("/schema.graphql")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


def test_examples_of_graphiql_return_data(client: httpx.Client) -> None:
    """Each returns data without errors; none has a digest, which tabs of a browser may outlast."""
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


def test_server_without_introspection(demo_catalog: Path) -> None:
    """It shows neither its schema nor GraphiQL."""
    with application(Settings(catalog=str(demo_catalog), introspection=False)) as client:
        assert client.get("/schema.graphql").status_code == 404
        browser = {"accept": "text/html"}
        assert "text/html" not in client.get("/graphql", headers=browser).headers["content-type"]
        assert "GraphiQL" not in client.get("/", headers=browser).text


ORIGIN = {"origin": "https://front.example"}
PREFLIGHT = ORIGIN | {
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
}


@pytest.mark.parametrize("origins", [(), ("https://front.example",), ("*",)], ids=str)
def test_allowed_origins_may_read_responses(demo_catalog: Path, origins: tuple[str, ...]) -> None:
    """None by default, particular ones or all, also in preflights and errors."""
    with application(Settings(catalog=str(demo_catalog), cors_origins=origins)) as client:
        for response in (
            client.options("/graphql", headers=PREFLIGHT),
            client.post("/graphql", json=TAGS, headers=ORIGIN),
            client.post("/graphql", content=b"?", headers=ORIGIN),
        ):
            assert response.headers.get("access-control-allow-origin") == (*origins, None)[0]
            if origins and origins != ("*",):
                assert "origin" in response.headers["vary"].lower()
        other = client.post("/graphql", json=TAGS, headers={"origin": "https://evil.example"})
        assert ("access-control-allow-origin" in other.headers) == (origins == ("*",))


def test_unexpected_error_is_logged_with_an_id(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The response is 500 with an id; the log has the error under that id."""

    def fail(*_: object) -> bytes:
        raise ZeroDivisionError("the secret of the house")

    monkeypatch.setattr("server.app.graphiql_page", fail)
    with application(Settings(catalog=str(demo_catalog))) as client:
        response = client.get("/graphql", headers={"accept": "text/html"})
    (error,) = response.json()["errors"]
    assert (response.status_code, "secret" in response.text) == (500, False)
    (logged, *_) = (text for text in caplog.messages if error["extensions"]["id"] in text)
    assert "the secret of the house" in logged


def test_loads_are_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where OpenTelemetry is installed, whose own command makes those of requests."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer", provider.get_tracer)
    with application(Settings(catalog=str(publish(tmp_path)))) as client:
        assert client.get("/r/develop").status_code == 200
    assert {span.name for span in exporter.get_finished_spans()} == {"load"}
