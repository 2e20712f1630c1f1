"""Spans as OpenTelemetry has them; imported only where they are asked for.

What they are sent to, how they are sampled and how many wait is said by OpenTelemetry's own
variables: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
"""

import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SpanExporter,
)
from opentelemetry.trace import Tracer

from server.tracing.spans import Note
from snapshots.errors import InvalidArgument
from snapshots.program import cachelog_version

_CLOSE_SECONDS = 5.0
"""How long the end of a process waits for a collector that does not answer."""

_MAX_ATTRIBUTE_LENGTH = 400
"""How many characters of a text are kept: clients choose some, and thousands of spans may wait."""

_EXPORTER = "OTEL_TRACES_EXPORTER"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP = "http/protobuf"


class Telemetry:
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
    variable = next((it for it in _PROTOCOLS if environ.get(it)), None)
    if variable is not None and environ[variable] != _HTTP:
        raise InvalidArgument(variable, f"{environ[variable]!r} is not {_HTTP}")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _resource() -> Resource:
    """Return what the spans are of; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES count more."""
    given = Resource.create()
    own = {"service.version": cachelog_version(), "service.instance.id": str(uuid.uuid4())}
    if str(given.attributes.get("service.name", "")).startswith("unknown_service"):
        return given.merge(Resource(own | {"service.name": "cachelog"}))
    return Resource(own).merge(given)
