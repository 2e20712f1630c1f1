"""Tracing with OpenTelemetry, which is imported only if tracing is enabled.

OpenTelemetry's own variables configure the exporter, the sampling and the queue:
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. Its middleware
creates the spans of requests.
"""

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.asgi.exchanges import CODE, HEADER, OPERATION, IsTrusted
from server.settings import PREFIX, Settings
from snapshots.errors import InvalidArgument
from snapshots.program import cachelog_version

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

_MAX_ATTRIBUTE_LENGTH = 400
"""Maximum characters of an attribute: clients choose some, and thousands of spans may be queued."""

_NOTED = {"graphql.operation.name": OPERATION, "cachelog.code": CODE}
"""Attributes of the span of a request, and their keys in its scope."""

_PARENT = (b"traceparent", b"tracestate")
_ORIGINAL = "cachelog.original"
"""Key in the scope that the middleware reads: the scope of the request."""


def tracing_from(settings: Settings) -> "Tracing | None":
    """Return the tracing by OTLP over HTTP, as the variables OTEL_* configure it; None if disabled.

    Raises InvalidArgument if OpenTelemetry is not installed.
    """
    if not settings.tracing:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation import asgi  # noqa: F401
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        reason = "OpenTelemetry is not installed: pip install 'cachelog[otel]'"
        raise InvalidArgument(f"{PREFIX}TRACING", reason) from None
    return Tracing(BatchSpanProcessor(OTLPSpanExporter()))


class Tracing:
    """The spans of requests and of pieces of work in them, which a processor sends."""

    def __init__(self, processor: "SpanProcessor") -> None:
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import SpanLimits, TracerProvider

        facts: dict[str, Any] = {
            "service.name": "cachelog",
            "service.version": cachelog_version(),
            "service.instance.id": str(uuid.uuid4()),
        }
        self._provider = TracerProvider(
            resource=Resource.create(facts | {**OTELResourceDetector().detect().attributes}),
            span_limits=SpanLimits(max_span_attribute_length=_MAX_ATTRIBUTE_LENGTH),
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("cachelog", cachelog_version())

    def span(self, name: str) -> AbstractContextManager[Any]:
        """Return the context of a piece of work: a child of the current request's span."""
        return self._tracer.start_as_current_span(name)

    def middleware(
        self, app: ASGIApp, is_trusted: IsTrusted, routes: Sequence[BaseRoute]
    ) -> ASGIApp:
        """Return an application whose requests have spans, named after the routes.

        A trace named in ``traceparent`` is continued if ``is_trusted`` returns true for the address
        of the client. Query strings are left out: they can contain documents.
        """
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
        from opentelemetry.trace import get_current_span
        from opentelemetry.util.http import sanitize_method

        def details(scope: Scope) -> tuple[str, dict[str, Any]]:
            matches = (route for route in routes if route.matches(scope)[0] is not Match.NONE)
            route = getattr(next(matches, None), "path_format", None)
            method = sanitize_method(scope["method"]).replace("_OTHER", "HTTP")
            return (f"{method} {route}", {"http.route": route}) if route else (method, {})

        async def answer(shown: Scope, receive: Receive, send: Send) -> None:
            span, scope = get_current_span(), shown[_ORIGINAL]

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    facts = {name: scope.get(key) for name, key in _NOTED.items()}
                    span.set_attributes({name: value for name, value in facts.items() if value})
                await send(message)

            await app(scope, receive, noting)

        traced = OpenTelemetryMiddleware(
            answer,
            default_span_details=details,
            tracer_provider=self._provider,
            http_capture_headers_server_response=[HEADER.decode()],
            exclude_spans=["receive", "send"],
        )

        async def trace(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            client, headers = scope.get("client"), scope["headers"]
            if not client or not is_trusted(client[0]):
                headers = [header for header in headers if header[0] not in _PARENT]
            shown = {**scope, "query_string": b"", "headers": headers, _ORIGINAL: scope}
            await traced(shown, receive, send)

        return trace

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()
