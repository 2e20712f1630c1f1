"""The span of a request: its name, attributes and trace."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from server.asgi.exchanges import CODE, OPERATION, trusted_among
from server.tracing.telemetry import RequestSpans
from tests.server.exchanges import Application, exchange, fail, respond, scope
from tests.server.tracing.collectors import in_memory

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = (b"traceparent", f"00-{TRACE}-{PARENT}-01".encode())
ROUTES = [
    Route("/graphql", respond),
    Route("/of/{ref}", respond),
    Mount("/static", respond),
]


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
