"""Destinations of spans in tests: a list, or an OTLP collector over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from server.tracing.telemetry import Telemetry


@dataclass(frozen=True)
class Received:
    """A span as received by the collector, with its attributes and those of its resource."""

    name: str
    trace: bytes
    id: bytes
    parent: bytes
    facts: dict[str, Any]
    resource: dict[str, Any]


@dataclass
class Collector:
    """The spans received so far, in order; ``url`` is for OTEL_EXPORTER_OTLP_ENDPOINT."""

    url: str
    spans: list[Received] = field(default_factory=list)
    content_types: set[str] = field(default_factory=set)

    def named(self, name: str) -> list[Received]:
        """Return the spans with a name."""
        return [span for span in self.spans if span.name == name]


@contextmanager
def collecting() -> Iterator[Collector]:
    """Collect spans until the context exits."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/traces"
            collector.content_types.add(self.headers["content-type"])
            collector.spans.extend(_read(body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Discard the message."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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
        for scope in group.scope_spans:
            for span in scope.spans:
                yield Received(
                    span.name,
                    span.trace_id,
                    span.span_id,
                    span.parent_span_id,
                    _facts(span.attributes),
                    resource,
                )


def _facts(attributes: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, str(attribute.value.WhichOneof("value")))
        for attribute in attributes
    }
