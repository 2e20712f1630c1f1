"""Small contents that are laid over one another, and have tails, as large ones are and have."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from snapshots.catalog import overlays, parquet


@contextmanager
def laid_always() -> Iterator[None]:
    """Lay every content within over another one that can be, and give it a tail, however small."""
    with (
        mock.patch.object(overlays, "LEAST_BYTES", 0),
        mock.patch.object(overlays, "most_bytes", return_value=1 << 30),
        mock.patch.object(parquet, "LEAST_SPARED", 1),
    ):
        yield
