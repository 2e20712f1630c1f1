"""How much memory a server may take: the sum of what its settings allow."""

from collections.abc import Mapping

SMALL_CACHES: Mapping[str, int] = {
    "response_cache": 32 << 20,
    "frame_cache": 256 << 20,
    "comparison_cache": 32 << 20,
}
"""Settings that make the sum small, so that memory that nobody counts is noticed."""

_PROCESS = 250 << 20
"""Python with its libraries, and a small catalog's history."""

_WORK = 700 << 20
"""What requests under way may hold at the same time."""


def documented_bytes(settings: Mapping[str, int]) -> int:
    """Return the sum of docs/operating.md: frames count twice, for their dependencies."""
    caches = settings["response_cache"] + 2 * settings["frame_cache"] + settings["comparison_cache"]
    return _PROCESS + caches + _WORK
