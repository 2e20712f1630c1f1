"""How much of a digest people are shown."""

from collections.abc import Sequence
from itertools import takewhile

_SHORT = 12
_TELLING = 4


def short_digest(digest: str) -> str:
    """Return as much of a digest as people need to tell it from others."""
    return digest[:_SHORT]


def told_apart(digests: Sequence[str]) -> list[str]:
    """Return as much of digests, or hashes, as tells them from each other, and a few digits more.

    All are of a length.
    """
    ends = zip(min(digests), max(digests), strict=True)
    num_alike = sum(1 for _ in takewhile(lambda both: both[0] == both[1], ends))
    length = max(_SHORT, num_alike + _TELLING)
    return [digest[:length] for digest in digests]
