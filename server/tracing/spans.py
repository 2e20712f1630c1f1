"""The interface of spans, without OpenTelemetry: named pieces of work with attributes."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from server.settings import PREFIX, Settings
from snapshots.contents import PackedSnapshot, Snapshot
from snapshots.errors import InvalidArgument

if TYPE_CHECKING:
    from server.tracing.telemetry import Telemetry

Note = Callable[[str, str | int | bool], None]
"""Sets an attribute of a span: its name and value."""


class Spans:
    """Spans that are discarded, because tracing is disabled."""

    def span(self, _name: str) -> AbstractContextManager[Note]:
        """Return the context of a span; an error that leaves the context is recorded in it."""
        return _NOTHING

    def close(self) -> None:
        """Send the remaining spans, for a few seconds at most."""


def spans_from(settings: Settings) -> Spans:
    """Return the spans that the settings request; raise InvalidArgument as ``telemetry_from``."""
    return telemetry_from(settings) or Spans()


def telemetry_from(settings: Settings) -> "Telemetry | None":
    """Return the tracing by OpenTelemetry, as the variables OTEL_* configure it; None if disabled.

    Raises InvalidArgument if OpenTelemetry is not installed, or does not support a value.
    """
    if not settings.tracing:
        return None
    try:
        from server.tracing.telemetry import Telemetry
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        reason = "OpenTelemetry is not installed: pip install 'cachelog[otel]'"
        raise InvalidArgument(f"{PREFIX}TRACING", reason) from None
    return Telemetry.from_environ(os.environ)


Result = TypeVar("Result", Snapshot, PackedSnapshot)


def reading(snapshots: Iterable[Result], spans: Spans) -> Iterator[Result]:
    """Return an iterator over snapshots that reads each one in a child span of the current span.

    The last span has no snapshot: it is the time in which the end was detected.
    """
    context = copy_context()  # a store may iterate in other threads
    waiting = iter(snapshots)

    def read() -> Result | None:
        with spans.span("read") as note:
            snapshot = next(waiting, None)
            if snapshot is not None:
                note("cachelog.tag", snapshot.tag)
                note("cachelog.specs", snapshot.summary().num_specs)
        return snapshot

    return iter(lambda: context.run(read), None)


def _ignore(_name: str, _value: str | int | bool) -> None:
    pass


_NOTHING = nullcontext(_ignore)
