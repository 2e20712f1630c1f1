"""Tracing: enabled by a setting, configured by OpenTelemetry's variables, and its spans."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from starlette.routing import Mount, Route
from starlette.types import Message, Receive, Scope, Send

from server.asgi.exchanges import CODE, OPERATION, trusted_among
from server.tracing import Tracing
from tests.server.commands import cachelog
from tests.server.exchanges import Application, respond, scope
from tests.server.servers import environ, serving, until
from tests.server.webhooks.hooks import Hook, receiving


class Received(NamedTuple):
    """A span as received by the collector, with its attributes and those of its resource."""

    name: str
    id: bytes
    parent: bytes
    facts: dict[str, Any]
    resource: dict[str, Any]


def spans_of(hook: Hook) -> list[Received]:
    """Return the spans that a receiver of requests got so far, in order."""
    return [span for request in [*hook.received] for span in _read(request.body)]


def _read(body: bytes) -> Iterator[Received]:
    for group in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _facts(group.resource.attributes)
        for span in (span for part in group.scope_spans for span in part.spans):
            facts = _facts(span.attributes)
            yield Received(span.name, span.span_id, span.parent_span_id, facts, resource)


def _facts(attributes: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, str(attribute.value.WhichOneof("value")))
        for attribute in attributes
    }


def test_disabled_tracing_imports_no_library() -> None:
    """A server without tracing starts without OpenTelemetry."""
    program = (
        "import sys, server.cli\n"
        "from server.app import create_app\n"
        "from server.settings import Settings\n"
        "create_app(Settings())\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, env=environ(), stdout=subprocess.PIPE).stdout == b"[]\n"


def test_missing_package_is_an_error(demo_catalog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra, before anything is served."""
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation", None)
    monkeypatch.delitem(sys.modules, "opentelemetry.instrumentation.asgi", raising=False)
    result = cachelog("serve", catalog=demo_catalog, tracing="yes")
    assert result.code == 1
    assert result.err.splitlines() == [
        "cachelog: CACHELOG_TRACING: OpenTelemetry is not installed: pip install 'cachelog[otel]'"
    ]


def test_server_exports_spans(
    demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request's span contains those of loading and comparing; the last ones are sent at exit."""
    compare = 'compare(base: "v0.22.0", head: "develop") { causes(first: 1) { nodes { title } } }'
    query = {"query": f"query Causes {{ {compare} }}", "operationName": "Causes"}
    with receiving() as hook:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", hook.url.partition("/hooks/")[0])
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        with serving(demo_catalog, tmp_path / "log", tracing="yes") as server:
            assert "errors" not in httpx.post(server.graphql, json=query).json()
            until(lambda: "POST /graphql" in {span.name for span in spans_of(hook)}, "it is sent")
            last = httpx.get(f"{server.url}/last?secret")
        spans = spans_of(hook)
    assert {request.path for request in hook.received} == {"/v1/traces"}
    named = {span.name: span for span in spans}
    request = named["POST /graphql"]
    assert request.facts["graphql.operation.name"] == "Causes"
    assert request.facts["http.response.status_code"] == 200
    assert {named["load"].parent, named["compare"].parent} == {request.id}
    assert not request.parent
    assert named["GET"].facts["url.path"] == "/last"
    ids = named["GET"].facts["http.response.header.x_request_id"].values
    assert [item.string_value for item in ids] == [last.headers["x-request-id"]]
    assert "secret" not in str(spans)
    assert {span.resource["service.name"] for span in spans} == {"cachelog"}
    assert {span.resource["deployment.environment.name"] for span in spans} == {"test"}


# -- spans of requests

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = (b"traceparent", f"00-{TRACE}-{PARENT}-01".encode())
ROUTES = [Route("/graphql", respond), Route("/of/{ref}", respond), Mount("/static", respond)]


def span_of(
    request: Scope, application: Application = respond, trusted: tuple[str, ...] = ()
) -> ReadableSpan:
    """Return the span of a request."""
    exporter = InMemorySpanExporter()
    tracing = Tracing(SimpleSpanProcessor(exporter))

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        pass

    traced = tracing.middleware(application, trusted_among(trusted), ROUTES)
    asyncio.run(_answered(traced, request, receive, send))
    tracing.close()
    (span,) = exporter.get_finished_spans()
    return span


async def _answered(application: Any, request: Scope, receive: Receive, send: Send) -> None:
    await application(request, receive, send)


def with_facts(**facts: str) -> Application:
    """Return an application that adds facts to each request before it responds."""

    async def application(request: Scope, receive: Receive, send: Send) -> None:
        request.update(facts)
        await respond(request, receive, send)

    return application


async def respond_with_error(_request: Scope, _receive: Receive, send: Send) -> None:
    """Respond with status 500."""
    await send({"type": "http.response.start", "status": 500, "headers": []})
    await send({"type": "http.response.body", "body": b""})


CASES: dict[str, tuple[Scope, Application, str, dict[str, object]]] = {
    "unknown method": (scope(method="BREW"), respond, "HTTP /graphql", {"http.method": "_OTHER"}),
    "route": (scope("/of/develop"), respond, "GET /of/{ref}", {"http.route": "/of/{ref}"}),
    "mount": (scope("/static/a.js"), respond, "GET /static/{path}", {}),
    "operation": (
        scope(),
        with_facts(**{OPERATION: "Tags"}),
        "GET /graphql",
        {"graphql.operation.name": "Tags"},
    ),
    "refused request": (
        scope(),
        with_facts(**{CODE: "BAD_REQUEST"}),
        "GET /graphql",
        {"cachelog.code": "BAD_REQUEST"},
    ),
    "error of the server": (
        scope(),
        respond_with_error,
        "GET /graphql",
        {"http.status_code": 500},
    ),
    "long path": (scope("/" + "a" * 60_000), respond, "GET", {"http.target": "/" + "a" * 399}),
    "query": (scope(query_string=b"query={secret}\xff"), respond, "GET /graphql", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_clients_cannot_choose_names(case: str) -> None:
    """Nor fill spans; routes have no values, and only a fault of the server is an error."""
    request, application, name, expected = CASES[case]
    span = span_of(request, application)
    attributes = dict(span.attributes or {})
    assert span.name == name
    assert attributes.items() >= expected.items()
    assert "secret" not in str(attributes)
    assert (span.status.status_code is StatusCode.ERROR) == (application is respond_with_error)


@pytest.mark.parametrize(
    ("trusted", "headers", "is_continued"),
    [
        (("10.0.0.0/8",), [TRACEPARENT], True),
        ((), [TRACEPARENT], False),
        (("192.0.2.0/24",), [TRACEPARENT], False),
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
