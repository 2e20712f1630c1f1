"""Small contents that are laid over one another, as large ones are."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from snapshots.catalog import overlays


@contextmanager
def laid_always() -> Iterator[None]:
    """Lay every content within over another one that can be, however small."""
    with (
        mock.patch.object(overlays, "LEAST_BYTES", 0),
        mock.patch.object(overlays, "most_bytes", return_value=1 << 30),
    ):
        yield
