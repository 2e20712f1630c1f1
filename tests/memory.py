"""The maximum memory of a server: the sum that follows from its settings."""

from collections.abc import Mapping

from schema.documents.documents import MAX_CACHED_BYTES
from schema.execution.row_cache import ROW_BYTES
from schema.limits import Limits
from server.asgi.bodies import MAX_UPLOADS
from server.asgi.lanes import EXPLAINING_THREADS, HEAVY_THREADS, LIGHT_THREADS, LOADING_THREADS
from server.graphql.answers import PARSED_BYTES
from server.graphql.persisted_documents import MAX_PERSISTED_BYTES
from server.graphql.requests import BYTES_A_BYTE_OF_JSON
from server.settings import Settings
from snapshots.catalog.history_cache import RESULT_BYTES as HISTORY_BYTES
from snapshots.catalog.library import (
    HASH_SET_BYTES,
    HOLES_BYTES,
    NAMES_BYTES,
    RETURNED_BYTES,
    TWINS_BYTES,
)

_PROCESS = 320 << 20
"""Python with all modules, and the memory that Arrow and Delta Lake retain after reading."""

_LOADING = 192 << 20
"""Temporary memory of loading a revision of up to 100,000 specs, without its result."""

_EXPLAINING = 192 << 20
"""Temporary memory of explaining a comparison of such revisions, without its result."""

_ANSWER_COPIES = 3
"""A response in progress is in memory as chunks, as objects and as bytes."""

_REQUEST_COPIES = 1 + BYTES_A_BYTE_OF_JSON
"""A large request is in memory as bytes and as objects."""

_CONNECTION, _CONNECTIONS = 660 << 10, 1_000
"""Memory of a connection: buffers, a request and a response that are not large. Their number."""


def memory_shares(settings: Settings) -> Mapping[str, int]:
    """Return the maximum number of bytes of each part of a server process, by name.

    Their sum limits one process; each worker is a separate process.
    """
    executing, answer = HEAVY_THREADS + LIGHT_THREADS, Limits.max_answer_bytes
    return {
        "the process itself": _PROCESS,
        "responses": settings.response_cache,
        "revisions": settings.frame_cache,
        "dependencies of revisions": settings.frame_cache,
        "comparisons": settings.comparison_cache,
        "explanations": settings.comparison_cache,
        "hashes that returned": RETURNED_BYTES,
        "holes of revisions": HOLES_BYTES,
        "twins of revisions": TWINS_BYTES,
        "names of revisions": NAMES_BYTES,
        "answers about the history": HISTORY_BYTES,
        "hashes of revisions": HASH_SET_BYTES,
        "documents": MAX_CACHED_BYTES,
        "rendered rows": ROW_BYTES,
        "parsed requests": PARSED_BYTES,
        "persisted documents": MAX_PERSISTED_BYTES,
        "revisions being loaded": LOADING_THREADS * _LOADING,
        "explanations in progress": EXPLAINING_THREADS * _EXPLAINING,
        "responses in progress": executing * _ANSWER_COPIES * answer,
        "responses being sent": 2 * answer,
        "large requests": _REQUEST_COPIES * MAX_UPLOADS * settings.max_body,
        "connections": _CONNECTIONS * _CONNECTION,
    }


def max_memory(settings: Settings) -> int:
    """Return the maximum number of bytes of a server process."""
    return sum(memory_shares(settings).values())
