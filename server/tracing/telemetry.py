"""Spans of OpenTelemetry; imported only if tracing is enabled.

OpenTelemetry's own variables configure the exporter, the sampling and the queue:
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. Spans of requests
follow https://opentelemetry.io/docs/specs/semconv/http/http-spans/, without the query string and
the document, because these are long and private.
"""

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from server.asgi.exchanges import Exchange, IsTrusted
from server.tracing.spans import Note, Spans
from snapshots.errors import InvalidArgument
from snapshots.program import cachelog_version

_CLOSE_SECONDS = 5.0
"""Seconds that a process waits on exit for a collector that does not respond."""

_MAX_ATTRIBUTE_LENGTH = 400
"""Maximum characters of an attribute: clients choose some, and thousands of spans may be queued."""

_EXPORTER = "OTEL_TRACES_EXPORTER"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP = "http/protobuf"


class Telemetry(Spans):
    """Creates spans, and passes them to a processor, if any, which sends them in a thread."""

    def __init__(self, processor: SpanProcessor | None) -> None:
        self._provider = TracerProvider(
            resource=_resource(),
            span_limits=SpanLimits(max_span_attribute_length=_MAX_ATTRIBUTE_LENGTH),
            shutdown_on_exit=False,
        )
        if processor is not None:
            self._provider.add_span_processor(processor)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "Telemetry":
        """Return the telemetry that the variables OTEL_* configure.

        Raises InvalidArgument for an unsupported exporter or protocol.
        """
        exporter = _exporter(environ)
        return cls(None if exporter is None else BatchSpanProcessor(exporter))

    @property
    def tracer(self) -> Tracer:
        """The tracer of cachelog."""
        return self._provider.get_tracer("cachelog", cachelog_version())

    def request_spans(self, is_trusted: IsTrusted, routes: Sequence[BaseRoute]) -> "RequestSpans":
        """Return the spans of requests."""
        return RequestSpans(self.tracer, is_trusted, routes)

    @contextmanager
    def span(self, name: str) -> Iterator[Note]:
        """Run the context in a span; an error that leaves the context is recorded in it."""
        with self.tracer.start_as_current_span(name) as span:
            yield span.set_attribute

    def close(self) -> None:
        """Send the remaining spans; wait only a few seconds for a collector."""
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(_CLOSE_SECONDS)


def _exporter(environ: Mapping[str, str]) -> SpanExporter | None:
    name = environ.get(_EXPORTER) or "otlp"
    if name == "none":
        return None
    if name == "console":
        return ConsoleSpanExporter()
    if name != "otlp":
        raise InvalidArgument(_EXPORTER, f"{name!r} is not otlp, console or none")
    variable = next(filter(environ.get, _PROTOCOLS), None)
    if variable is not None and environ[variable] != _HTTP:
        raise InvalidArgument(variable, f"{environ[variable]!r} is not {_HTTP}")
    return OTLPSpanExporter()


def _resource() -> Resource:
    """Return the resource; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence."""
    resource = Resource.create()
    own = {"service.version": cachelog_version(), "service.instance.id": str(uuid.uuid4())}
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        return resource.merge(Resource(own | {"service.name": "cachelog"}))
    return Resource(own).merge(resource)


_METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}
)
_OTHER = "_OTHER"
_PARENT = (b"traceparent", b"tracestate")
_SERVER_ERROR = 500

_propagator = TraceContextTextMapPropagator()


class RequestSpans(msgspec.Struct, frozen=True):
    """Creates the spans of requests.

    A trace named in ``traceparent`` is continued if ``is_trusted`` returns true for the client's
    address. ``routes`` are those of the application.
    """

    tracer: Tracer
    is_trusted: IsTrusted
    routes: Sequence[BaseRoute]

    @contextmanager
    def __call__(self, scope: Scope) -> Iterator[Callable[[Exchange], None]]:
        """Run the context in the span of a request; it yields a callback for the exchange."""
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        matches = (route for route in self.routes if route.matches(scope)[0] is not Match.NONE)
        route: str | None = getattr(next(matches, None), "path_format", None)
        shown = "HTTP" if method == _OTHER else method
        span = self.tracer.start_span(
            f"{shown} {route}" if route else shown,
            self._parent(scope),
            SpanKind.SERVER,
            attributes=_request_attributes(scope, method, route),
        )
        with use_span(span, end_on_exit=True):
            yield lambda exchange: _note_answer(span, scope, exchange)

    def _parent(self, scope: Scope) -> Context:
        """Return the trace context from a trusted proxy; else an empty one, for a new trace."""
        client = scope.get("client")
        if not client or not self.is_trusted(client[0]):
            return Context()
        parents = [(name, value) for name, value in scope["headers"] if name in _PARENT]
        if [name for name, _ in parents].count(_PARENT[0]) != 1:
            return Context()
        carrier = {str(name, "ascii"): str(value, "latin-1") for name, value in parents}
        return _propagator.extract(carrier, Context())


def _request_attributes(scope: Scope, method: str, route: str | None) -> dict[str, Any]:
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
    # Middleware has set the client's scheme by now, if a trusted proxy named it.
    is_failure = exchange.status >= _SERVER_ERROR
    facts = {
        "url.scheme": scope.get("scheme", "http"),
        "http.response.status_code": exchange.status,
        "http.response.body.size": exchange.num_bytes,
        "http.response.header.x-request-id": [exchange.id],
        "client.address": exchange.client or None,
        "graphql.operation.type": None if exchange.operation is None else "query",
        "graphql.operation.name": exchange.operation or None,
        "cachelog.code": exchange.code,
        "error.type": str(exchange.status) if is_failure else None,
    }
    span.set_attributes({name: value for name, value in facts.items() if value is not None})
    if is_failure:
        span.set_status(Status(StatusCode.ERROR))
