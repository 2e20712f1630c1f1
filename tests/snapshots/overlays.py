"""Overlays of small contents."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from snapshots.catalog import overlays


@contextmanager
def laid_always() -> Iterator[None]:
    """Store every content as an overlay if possible, regardless of its size."""
    with (
        mock.patch.object(overlays, "LEAST_BYTES", 0),
        mock.patch.object(overlays, "most_bytes", return_value=1 << 30),
    ):
        yield
