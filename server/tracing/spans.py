"""What cachelog's own code knows of spans: pieces of work with a name and facts about them."""

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
"""Adds a fact to a span: the name of an attribute, and its value."""


class Spans:
    """Spans that nobody is told of, as where tracing is off."""

    def span(self, _name: str) -> AbstractContextManager[Note]:
        """Return a context for a piece of work; where it raises, the span has the error."""
        return _NOTHING

    def close(self) -> None:
        """Send what was not sent yet, for a few seconds at most."""


def spans_from(settings: Settings) -> Spans:
    """Return what the settings ask for; raises InvalidArgument where it cannot be had."""
    return telemetry_from(settings) or Spans()


def telemetry_from(settings: Settings) -> "Telemetry | None":
    """Return what sends spans by OpenTelemetry, as variables OTEL_* say; None where it is off.

    Raises InvalidArgument where OpenTelemetry is not installed, or cannot do what is asked.
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


Found = TypeVar("Found", Snapshot, PackedSnapshot)


def reading(snapshots: Iterable[Found], spans: Spans) -> Iterator[Found]:
    """Return the snapshots, each of which is read in a span within the one of this moment.

    The last span has no snapshot: it is the time until it was clear that there is no other.
    """
    context = copy_context()  # a store may ask for the snapshots in threads of its own
    waiting = iter(snapshots)

    def read() -> Found | None:
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
