"""All that is measured, declared in one place: https://prometheus.io/docs/practices/naming/."""

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """How the numbers of several processes make one, and what Prometheus calls them."""

    COUNTER = "sum of all there have been"
    HISTOGRAM = "sum of all there have been, by size"
    SUM = "sum of those that run"
    LARGEST = "largest of those that run"


class Instrument(NamedTuple):
    """Something that is measured. ``labels`` tell its numbers apart."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


REQUESTS = Instrument(
    "cachelog_requests", Kind.COUNTER, "Requests that were answered, by HTTP status.", ("status",)
)
REFUSED = Instrument(
    "cachelog_refused",
    Kind.COUNTER,
    "Requests that were answered with an error, by the code of the first.",
    ("code",),
)
SECONDS = Instrument(
    "cachelog_request_seconds",
    Kind.HISTOGRAM,
    "Time from a request's headers to the end of its answer, by operation; 'other' are those "
    "without a name, with errors, or that are no GraphQL. Subscriptions are left out.",
    ("operation",),
)
ANSWER_BYTES = Instrument("cachelog_answer_bytes", Kind.COUNTER, "Bytes of answers' bodies.")
CACHE_HITS = Instrument(
    "cachelog_response_cache_hits", Kind.COUNTER, "Answers that were kept in memory."
)
CACHE_BYTES = Instrument(
    "cachelog_cache_bytes", Kind.SUM, "Bytes that are kept in memory, by cache.", ("cache",)
)
FRAMES = Instrument("cachelog_frames", Kind.SUM, "Revisions that are kept in memory.")
REVISIONS = Instrument("cachelog_revisions", Kind.LARGEST, "Revisions in the catalog.")
REFRESH_AGE = Instrument(
    "cachelog_refresh_age_seconds",
    Kind.LARGEST,
    "Time since a process has last read which revisions there are.",
)
LAST_IMPORT = Instrument(
    "cachelog_last_import_timestamp_seconds",
    Kind.LARGEST,
    "When the revision was published that was published last, in seconds since 1970.",
)
NEWEST_REVISION = Instrument(
    "cachelog_newest_revision_timestamp_seconds",
    Kind.LARGEST,
    "When the newest revision of a series was taken, in seconds since 1970; of the series that "
    "have the newest.",
    ("series",),
)
SUBSCRIPTIONS = Instrument("cachelog_subscriptions", Kind.SUM, "Subscriptions that are open.")
PROCESSES = Instrument("cachelog_processes", Kind.SUM, "Processes that serve.")
MEMORY = Instrument(
    "cachelog_resident_memory_bytes", Kind.SUM, "Memory of all processes that serve."
)
DESCRIPTORS = Instrument(
    "cachelog_open_descriptors", Kind.LARGEST, "Files and connections that one process has open."
)
MAX_DESCRIPTORS = Instrument(
    "cachelog_max_descriptors", Kind.LARGEST, "How many of them a process may have open."
)
BUILD = Instrument(
    "cachelog_build_info", Kind.LARGEST, "Always 1; the label is the version.", ("version",)
)

INSTRUMENTS = (
    REQUESTS,
    REFUSED,
    SECONDS,
    ANSWER_BYTES,
    CACHE_HITS,
    CACHE_BYTES,
    FRAMES,
    REVISIONS,
    REFRESH_AGE,
    LAST_IMPORT,
    NEWEST_REVISION,
    SUBSCRIPTIONS,
    PROCESSES,
    MEMORY,
    DESCRIPTORS,
    MAX_DESCRIPTORS,
    BUILD,
)

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the classes of times, in seconds; one class more has what is above."""

MAX_LABELS = 50
"""How many values a label has that clients or errors name; the rest is ``other``."""

OTHER = "other"


def sample_names(instrument: Instrument) -> list[str]:
    """Return the names that Prometheus stores the numbers of an instrument under."""
    if instrument.kind is Kind.COUNTER:
        return [f"{instrument.name}_total"]
    if instrument.kind is Kind.HISTOGRAM:
        return [f"{instrument.name}_{part}" for part in ("bucket", "count", "sum")]
    return [instrument.name]
