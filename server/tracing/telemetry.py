"""Spans as OpenTelemetry has them; imported only where they are asked for.

What they are sent to, how they are sampled and how many wait is said by OpenTelemetry's own
variables: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
Spans of requests follow https://opentelemetry.io/docs/specs/semconv/http/http-spans/; the query
string and the document are left out: they are long, and what people ask for is theirs.
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
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SpanExporter,
)
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from server.asgi.exchanges import Exchange, IsTrusted
from server.tracing.spans import Note, Spans
from snapshots.errors import InvalidArgument
from snapshots.program import cachelog_version

_CLOSE_SECONDS = 5.0
"""How long the end of a process waits for a collector that does not answer."""

_MAX_ATTRIBUTE_LENGTH = 400
"""How many characters of a text are kept: clients choose some, and thousands of spans may wait."""

_EXPORTER = "OTEL_TRACES_EXPORTER"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP = "http/protobuf"


class Telemetry(Spans):
    """Makes spans, and hands them to a processor, if any, that sends them in a thread."""

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
        """Send spans as variables OTEL_* say.

        Raises InvalidArgument for an exporter or a protocol that this does not have.
        """
        exporter = _exporter(environ)
        return cls(None if exporter is None else BatchSpanProcessor(exporter))

    @property
    def tracer(self) -> Tracer:
        """What makes spans."""
        return self._provider.get_tracer("cachelog", cachelog_version())

    def requests(self, is_trusted: IsTrusted | None, routes: Sequence[BaseRoute]) -> "RequestSpans":
        """Return what makes the spans of requests."""
        return RequestSpans(self.tracer, is_trusted, routes)

    @contextmanager
    def span(self, name: str) -> Iterator[Note]:
        """Do work in a span; where it raises, the span has the error."""
        with self.tracer.start_as_current_span(name) as span:
            yield span.set_attribute

    def close(self) -> None:
        """Send what was not sent yet; a collector that does not answer is not waited for long."""
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
    """Return what the spans are of; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES count more."""
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
    """Makes the spans of requests.

    A trace that a client names in ``traceparent`` is continued where ``is_trusted`` tells that it
    is a proxy to be trusted; without it there is none. ``routes`` are those of the application.
    """

    tracer: Tracer
    is_trusted: IsTrusted | None
    routes: Sequence[BaseRoute]

    @contextmanager
    def request(self, scope: Scope) -> Iterator[Callable[[Exchange], None]]:
        """Do the work of a request in a span; what it yields is told what was answered."""
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        matches = (route for route in self.routes if route.matches(scope)[0] is not Match.NONE)
        route: str | None = getattr(next(matches, None), "path_format", None)
        shown = "HTTP" if method == _OTHER else method
        span = self.tracer.start_span(
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
        if self.is_trusted is None or not client or not self.is_trusted(client[0]):
            return Context()
        parents = [(name, value) for name, value in scope["headers"] if name in _PARENT]
        if [name for name, _ in parents].count(_PARENT[0]) != 1:
            return Context()
        carrier = {str(name, "ascii"): str(value, "latin-1") for name, value in parents}
        return _propagator.extract(carrier, Context())


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
