"""Destinations of spans in tests: a list, or an OTLP collector over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from server.tracing.telemetry import Telemetry
from tests.server.webhooks.hooks import Hook, receiving


@dataclass(frozen=True)
class Received:
    """A span as received by the collector, with its attributes and those of its resource."""

    name: str
    trace: bytes
    id: bytes
    parent: bytes
    facts: dict[str, Any]
    resource: dict[str, Any]


@dataclass(frozen=True)
class Collector:
    """The spans that a receiver of requests got so far, in order."""

    hook: Hook

    @property
    def url(self) -> str:
        """The value for OTEL_EXPORTER_OTLP_ENDPOINT."""
        return self.hook.url.partition("/hooks/")[0]

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
def collecting() -> Iterator[Collector]:
    """Collect spans until the context exits."""
    with receiving() as hook:
        yield Collector(hook)


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
