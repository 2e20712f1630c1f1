"""A span for each request, by OpenTelemetry's conventions for servers of HTTP.

https://opentelemetry.io/docs/specs/semconv/http/http-spans/. The query string and the document
are left out: they are long, and what people ask for is theirs.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from server.asgi.exchanges import Exchange
from server.asgi.request_ids import IsTrusted

_METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}
)
_OTHER = "_OTHER"
_PARENT = (b"traceparent", b"tracestate")
_SERVER_ERROR = 500

_propagator = TraceContextTextMapPropagator()


class RequestSpans:
    """Makes the spans of requests.

    A trace that a client names in ``traceparent`` is continued where ``is_trusted`` tells that it
    is a proxy to be trusted; without it there is none. ``route_of`` names the route of a request.
    """

    def __init__(
        self,
        tracer: Tracer,
        is_trusted: IsTrusted | None,
        route_of: Callable[[Scope], str | None],
    ) -> None:
        self._tracer = tracer
        self._is_trusted = is_trusted
        self._route_of = route_of

    @contextmanager
    def request(self, scope: Scope) -> Iterator[Callable[[Exchange], None]]:
        """Do the work of a request in a span; what it yields is told what was answered."""
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        route = self._route_of(scope)
        shown = "HTTP" if method == _OTHER else method
        span = self._tracer.start_span(
            f"{shown} {route}" if route else shown,
            self._parent(scope),
            SpanKind.SERVER,
            attributes=_asked(scope, method, route),
        )
        with use_span(span, end_on_exit=True):
            yield lambda exchange: _note_answer(span, scope, exchange)

    def _parent(self, scope: Scope) -> Context:
        """Return the context that a proxy has sent; an empty one, so a new trace, without it."""
        client = scope.get("client")
        if self._is_trusted is None or not client or not self._is_trusted(client[0]):
            return Context()
        given = [(name, value) for name, value in scope["headers"] if name in _PARENT]
        if [name for name, _ in given].count(_PARENT[0]) != 1:
            return Context()
        carrier = {str(name, "ascii"): str(value, "latin-1") for name, value in given}
        return _propagator.extract(carrier, Context())


def route_finder(routes: Sequence[BaseRoute], *further: str) -> Callable[[Scope], str | None]:
    """Return what finds the route of a request among an application's, and further paths."""

    def route_of(scope: Scope) -> str | None:
        if scope["path"] in further:
            return str(scope["path"])
        for route in routes:
            if route.matches(scope)[0] is not Match.NONE:
                path: str | None = getattr(route, "path_format", None)
                return path
        return None

    return route_of


def _asked(scope: Scope, method: str, route: str | None) -> dict[str, Any]:
    facts = {
        "http.request.method": method,
        "url.path": scope["path"],
        "network.protocol.version": scope.get("http_version", "1.1"),
    }
    if method == _OTHER:
        facts["http.request.method_original"] = scope["method"]
    if route:
        facts["http.route"] = route
    return facts


def _note_answer(span: Span, scope: Scope, exchange: Exchange) -> None:
    # A trusted proxy has said by now how its client asks.
    span.set_attribute("url.scheme", scope.get("scheme", "http"))
    span.set_attribute("http.response.status_code", exchange.status)
    span.set_attribute("http.response.body.size", exchange.num_bytes)
    span.set_attribute("http.response.header.x-request-id", [exchange.id])
    if exchange.client:
        span.set_attribute("client.address", exchange.client)
    if exchange.operation is not None:
        span.set_attribute("graphql.operation.type", "query")  # the schema has no others
        if exchange.operation:
            span.set_attribute("graphql.operation.name", exchange.operation)
    if exchange.code is not None:
        span.set_attribute("cachelog.code", exchange.code)
    if exchange.status >= _SERVER_ERROR:
        span.set_attribute("error.type", str(exchange.status))
        span.set_status(Status(StatusCode.ERROR))
