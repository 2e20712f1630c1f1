"""Tracing: enabled by a setting, configured by OpenTelemetry's variables, and spans of requests."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from server.asgi.exchanges import CODE, OPERATION, trusted_among
from server.settings import Settings
from server.tracing.spans import Spans, spans_from, telemetry_from
from server.tracing.telemetry import RequestSpans, Telemetry
from server.watch import CatalogWatch
from snapshots.catalog.catalog import Catalog
from snapshots.errors import InvalidArgument, NoCatalog
from tests.server.cache_pages import demo_pages
from tests.server.commands import cachelog, succeed
from tests.server.exchanges import Application, exchange, fail, respond, scope
from tests.server.servers import environ, serving, until
from tests.server.webhooks.hooks import Hook, receiving


class Received(NamedTuple):
    """A span as received by the collector, with its attributes and those of its resource."""

    name: str
    trace: bytes
    id: bytes
    parent: bytes
    facts: dict[str, Any]
    resource: dict[str, Any]


class Collector(NamedTuple):
    """The spans that a receiver of requests got so far, in order."""

    hook: Hook

    @property
    def spans(self) -> list[Received]:
        """The spans of all requests."""
        requests = [*self.hook.received]
        assert {request.path for request in requests} <= {"/v1/traces"}
        return [span for request in requests for span in _read(request.body)]

    def named(self, name: str) -> list[Received]:
        """Return the spans with a name."""
        return [span for span in self.spans if span.name == name]


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    """Collect spans until the context exits; yield the value for OTEL_EXPORTER_OTLP_ENDPOINT."""
    with receiving() as hook:
        yield Collector(hook), hook.url.partition("/hooks/")[0]


@contextmanager
def in_memory() -> Iterator[tuple[Telemetry, InMemorySpanExporter]]:
    """Return telemetry, and the exporter of its ended spans."""
    exporter = InMemorySpanExporter()
    telemetry = Telemetry(SimpleSpanProcessor(exporter))
    yield telemetry, exporter
    telemetry.close()


def _read(body: bytes) -> Iterator[Received]:
    for group in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _facts(group.resource.attributes)
        for span in (span for part in group.scope_spans for span in part.spans):
            ids = (span.trace_id, span.span_id, span.parent_span_id)
            yield Received(span.name, *ids, _facts(span.attributes), resource)


def _facts(attributes: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, str(attribute.value.WhichOneof("value")))
        for attribute in attributes
    }


def test_disabled_tracing_imports_no_library() -> None:
    """Neither in the server nor in commands."""
    program = (
        "import sys, server.cli\n"
        "from server.app import create_app\n"
        "from server.settings import Settings\n"
        "create_app(Settings())\n"
        "assert not [it for it in sys.modules if it.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", program], env=environ(), check=True)
    assert type(spans_from(Settings())) is Spans


@pytest.mark.parametrize("command", ["serve", "import"])
def test_missing_package_is_an_error(
    command: str, demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the extra, before anything is served or imported."""
    monkeypatch.delitem(sys.modules, "server.tracing.telemetry", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    location = [tmp_path] if command == "import" else []
    result = cachelog(command, *location, catalog=demo_catalog, tracing="yes")
    assert result.code == 1
    assert result.err.splitlines() == [
        "cachelog: CACHELOG_TRACING: OpenTelemetry is not installed: pip install 'cachelog[otel]'"
    ]


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "'zipkin' is not otlp, console or none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "'grpc' is not http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "'http/json' is not http/protobuf"),
    ],
)
def test_unsupported_variable_is_an_error(
    variable: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the variable."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidArgument, match=f"{variable}: {expected}"):
        telemetry_from(Settings(tracing=True))


def test_refresh_has_a_span(demo_catalog: Path, tmp_path: Path) -> None:
    """It has the number of revisions, or the error."""
    with in_memory() as (telemetry, exporter):
        for catalog in (demo_catalog, tmp_path / "none"):
            CatalogWatch(Catalog(str(catalog)), 1.0, telemetry).look()
        good, bad = exporter.get_finished_spans()
    assert (good.name, good.status.status_code) == ("refresh", StatusCode.UNSET)
    assert dict(good.attributes or {}) == {"cachelog.is_new": True, "cachelog.revisions": 5}
    assert bad.status.status_code is StatusCode.ERROR
    assert NoCatalog.__name__ in str(bad.status.description)


def test_server_exports_spans(
    demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server sends all spans, including the last ones."""
    with collecting() as (collector, url):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        query = {"query": "query Tags { tags { name } }", "operationName": "Tags"}
        with serving(demo_catalog, tmp_path / "log", tracing="yes") as server:
            for _ in range(2):
                httpx.post(server.graphql, json=query)
            until(lambda: len(collector.named("POST /graphql")) == 2, "the spans are sent")
            httpx.get(f"{server.url}/last", headers={"x-request-id": "mine"})
        assert [span.facts["url.path"] for span in collector.named("GET")] == ["/last"]
    received = collector.hook.received
    assert {request.headers["content-type"] for request in received} == {"application/x-protobuf"}
    requests = collector.named("POST /graphql")
    assert {request.facts["graphql.operation.name"] for request in requests} == {"Tags"}
    assert {request.facts["http.response.status_code"] for request in requests} == {200}
    assert not any(request.parent for request in requests)
    assert len({request.trace for request in requests}) == len(requests)
    refreshed = collector.named("refresh")
    assert {span.facts["cachelog.revisions"] for span in refreshed} == {5}
    assert {span.resource["service.name"] for span in collector.spans} == {"cachelog"}
    assert {span.resource["deployment.environment.name"] for span in collector.spans} == {"test"}


def test_import_exports_spans(tmp_path: Path) -> None:
    """One span contains those of reading and publishing, with their numbers."""
    snapshots = demo_pages(tmp_path / "pages")
    with collecting() as (collector, url):
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_SERVICE_NAME": "nightly"}
        settings = {"catalog": tmp_path / "catalog", "tracing": "yes"}
        succeed("import", tmp_path / "pages", variables=variables, **settings)
    (parent,), (publishing,) = collector.named("import"), collector.named("publish")
    number = len(snapshots)
    assert parent.facts == {"cachelog.revisions": number, "cachelog.skipped": 0}
    assert publishing.facts == {"cachelog.revisions": number, "cachelog.new_revisions": number}
    reads = {span.facts["cachelog.tag"]: span for span in collector.named("read") if span.facts}
    specs = {snapshot.tag: len(snapshot.content) for snapshot in snapshots}
    assert {tag: span.facts["cachelog.specs"] for tag, span in reads.items()} == specs
    assert {span.parent for span in [publishing, *reads.values()]} == {parent.id}
    assert {span.resource["service.name"] for span in collector.spans} == {"nightly"}


def test_failed_import_prints_its_own_error(tmp_path: Path) -> None:
    """The import prints its own error."""
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
    }
    missing = tmp_path / "none"
    catalog = tmp_path / "catalog"
    result = cachelog("import", missing, catalog=catalog, variables=variables, tracing="yes")
    assert result.code == 1
    assert "Traceback" not in result.err
    assert result.err.splitlines()[-1].startswith(f"cachelog: {missing}")


# -- spans of requests

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = (b"traceparent", f"00-{TRACE}-{PARENT}-01".encode())
ROUTES = [Route("/graphql", respond), Route("/of/{ref}", respond), Mount("/static", respond)]


def span_of(
    request: Scope, application: Application = respond, trusted: tuple[str, ...] = ()
) -> ReadableSpan:
    """Return the span of a request."""
    with in_memory() as (telemetry, exporter):
        is_trusted = trusted_among(trusted)
        spans = RequestSpans(telemetry.tracer, is_trusted, ROUTES)
        exchange(application, request, tracing=spans)
        (span,) = exporter.get_finished_spans()
    return span


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    """Return the attributes of a span."""
    return dict(span.attributes or {})


def test_span_has_conventional_attributes() -> None:
    """Those of OpenTelemetry's conventions, and the id of the request in the log."""
    span = span_of(scope("/graphql", query_string=b"query={secret}", scheme="https"))
    attributes = attributes_of(span)
    (request_id,) = attributes.pop("http.response.header.x-request-id")
    assert request_id
    assert (span.name, span.kind) == ("GET /graphql", SpanKind.SERVER)
    assert span.status.status_code is StatusCode.UNSET
    assert attributes == {
        "http.request.method": "GET",
        "http.route": "/graphql",
        "http.response.status_code": 201,
        "http.response.body.size": 5,
        "url.path": "/graphql",
        "url.scheme": "https",
        "network.protocol.version": "1.1",
        "client.address": "10.0.0.1",
    }


def with_facts(**attributes_of: str) -> Application:
    """Return an application that adds facts to each request before it responds."""

    async def application(request: Scope, receive: Receive, send: Send) -> None:
        request.update(attributes_of)
        await respond(request, receive, send)

    return application


CASES: dict[str, tuple[Scope, Application, str, dict[str, object]]] = {
    "unknown method": (
        scope(method="BREW"),
        respond,
        "HTTP /graphql",
        {"http.request.method": "_OTHER", "http.request.method_original": "BREW"},
    ),
    "route": (scope("/of/develop"), respond, "GET /of/{ref}", {"http.route": "/of/{ref}"}),
    "mount": (scope("/static/a.js"), respond, "GET /static/{path}", {"url.path": "/static/a.js"}),
    "operation": (
        scope(),
        with_facts(**{OPERATION: "Tags"}),
        "GET /graphql",
        {"graphql.operation.name": "Tags", "graphql.operation.type": "query"},
    ),
    "refused request": (
        scope(),
        with_facts(**{CODE: "BAD_REQUEST"}),
        "GET /graphql",
        {"cachelog.code": "BAD_REQUEST"},
    ),
    "error of the server": (scope(), fail, "GET /graphql", {"error.type": "500"}),
    "long path": (scope("/" + "a" * 60_000), respond, "GET", {"url.path": "/" + "a" * 399}),
}


@pytest.mark.parametrize("case", CASES)
def test_clients_cannot_choose_names(case: str) -> None:
    """Nor fill spans; routes have no values, and only a fault of the server is an error."""
    request, application, name, expected = CASES[case]
    span = span_of(request, application)
    assert span.name == name
    assert ("http.route" in attributes_of(span)) == (" " in name)
    assert attributes_of(span).items() >= expected.items()
    assert "graphql.document" not in attributes_of(span)
    assert (span.status.status_code is StatusCode.ERROR) == (application is fail)


@pytest.mark.parametrize(
    ("trusted", "headers", "is_continued"),
    [
        (("10.0.0.0/8",), [TRACEPARENT], True),
        ((), [TRACEPARENT], False),
        (("192.0.2.0/24",), [TRACEPARENT], False),
        (("10.0.0.0/8",), [TRACEPARENT, TRACEPARENT], False),
        (("10.0.0.0/8",), [(b"traceparent", b"00-\xff-01")], False),
        (("10.0.0.0/8",), [], False),
    ],
)
def test_trace_of_a_trusted_proxy_continues(
    trusted: tuple[str, ...], headers: list[tuple[bytes, bytes]], *, is_continued: bool
) -> None:
    """Untrusted clients cannot add to the traces of others."""
    parent = span_of(scope(headers=headers), trusted=trusted).parent
    ids = None if parent is None else (f"{parent.trace_id:032x}", f"{parent.span_id:016x}")
    assert ids == ((TRACE, PARENT) if is_continued else None)
