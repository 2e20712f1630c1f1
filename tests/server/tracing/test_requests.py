"""The span of a request: its name, its attributes, and its trace."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from server.asgi.exchanges import CODE, OPERATION, trusted_among
from server.tracing.telemetry import RequestSpans
from tests.server.exchanges import Application, answering, exchanged, failing, scope
from tests.server.tracing.collectors import in_memory

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = (b"traceparent", f"00-{TRACE}-{PARENT}-01".encode())
ROUTES = [
    Route("/graphql", answering),
    Route("/of/{ref}", answering),
    Mount("/static", answering),
]


def span_of(
    asked: Scope, application: Application = answering, trusted: tuple[str, ...] = ()
) -> ReadableSpan:
    """Return the span of a request."""
    with in_memory() as (telemetry, exporter):
        is_trusted = trusted_among(trusted) if trusted else None
        spans = RequestSpans(telemetry.tracer, is_trusted, ROUTES)
        exchanged(application, asked, tracing=spans)
        (span,) = exporter.get_finished_spans()
    return span


def facts(span: ReadableSpan) -> dict[str, Any]:
    """Return the attributes."""
    return dict(span.attributes or {})


def test_a_span_has_the_attributes_of_the_conventions() -> None:
    """Of request and answer; the id of the request leads to the log."""
    span = span_of(scope("/graphql", query_string=b"query={secret}", scheme="https"))
    found = facts(span)
    (request_id,) = found.pop("http.response.header.x-request-id")
    assert request_id
    assert (span.name, span.kind) == ("GET /graphql", SpanKind.SERVER)
    assert span.status.status_code is StatusCode.UNSET
    assert found == {
        "http.request.method": "GET",
        "http.route": "/graphql",
        "http.response.status_code": 201,
        "http.response.body.size": 5,
        "url.path": "/graphql",
        "url.scheme": "https",
        "network.protocol.version": "1.1",
        "client.address": "10.0.0.1",
    }


@pytest.mark.parametrize(
    ("path", "route"),
    [("/of/develop", "/of/{ref}"), ("/static/a/b.js", "/static/{path}"), ("/nope", None)],
)
def test_the_route_has_places_in_place_of_values(path: str, route: str | None) -> None:
    """So that there are few names; what has no route has none."""
    span = span_of(scope(path))
    assert span.name == (f"GET {route}" if route else "GET")
    assert facts(span).get("http.route") == route


def test_unknown_methods_share_a_name() -> None:
    """Clients could make ever new names otherwise."""
    span = span_of(scope(method="BREW"))
    assert span.name == "HTTP /graphql"
    assert facts(span)["http.request.method"] == "_OTHER"
    assert facts(span)["http.request.method_original"] == "BREW"


def noting(**facts: str) -> Application:
    """Return an application that notes facts of each request before it answers."""

    async def noted(asked: Scope, receive: Receive, send: Send) -> None:
        asked.update(facts)
        await answering(asked, receive, send)

    return noted


def test_an_operation_has_its_name_and_type() -> None:
    """Without the document."""
    found = facts(span_of(scope(), noting(**{OPERATION: "Tags"})))
    assert found["graphql.operation.name"] == "Tags"
    assert found["graphql.operation.type"] == "query"
    assert "graphql.document" not in found


def test_a_refused_request_has_its_code_and_is_no_error() -> None:
    """The fault is the client's."""
    span = span_of(scope(), noting(**{CODE: "BAD_REQUEST"}))
    assert facts(span)["cachelog.code"] == "BAD_REQUEST"
    assert span.status.status_code is StatusCode.UNSET


def test_a_fault_of_the_server_is_an_error() -> None:
    """By its status."""
    span = span_of(scope(), failing)
    assert facts(span)["error.type"] == "500"
    assert span.status.status_code is StatusCode.ERROR


def test_long_texts_of_clients_are_cut() -> None:
    """Many spans may wait for a collector."""
    span = span_of(scope("/" + "a" * 60_000))
    assert len(facts(span)["url.path"]) == 400
    assert span.name == "GET"


def test_the_trace_of_a_trusted_proxy_goes_on() -> None:
    """The span is a part of what the proxy has begun."""
    span = span_of(scope(headers=[TRACEPARENT]), trusted=("10.0.0.0/8",))
    assert span.parent is not None
    assert f"{span.parent.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == PARENT


@pytest.mark.parametrize(
    ("trusted", "headers"),
    [
        ((), [TRACEPARENT]),
        (("192.0.2.0/24",), [TRACEPARENT]),
        (("10.0.0.0/8",), [TRACEPARENT, TRACEPARENT]),
        (("10.0.0.0/8",), [(b"traceparent", b"00-\xff-01")]),
        (("10.0.0.0/8",), []),
    ],
)
def test_any_other_request_begins_a_trace(
    trusted: tuple[str, ...], headers: list[tuple[bytes, bytes]]
) -> None:
    """A client that is not trusted cannot add to the traces of others."""
    assert span_of(scope(headers=headers), trusted=trusted).parent is None
