"""How much memory a server may take: the sum that docs/memory.md explains."""

from collections.abc import Mapping

from msgspec.structs import replace

from server.settings import Settings
from tests.memory import max_memory

SMALL_CACHES: Mapping[str, int] = {
    "response_cache": 32 << 20,
    "frame_cache": 128 << 20,
    "comparison_cache": 96 << 20,
    "sending_bytes": 64 << 20,
}
"""Settings that make the sum small, so that memory that nobody counts is noticed.

What belongs to one comparison of the largest catalog has room in each.
"""


def documented_bytes(settings: Mapping[str, int]) -> int:
    """Return the sum for a server with these settings, the others as they are by default."""
    return max_memory(replace(Settings(), **settings))
