"""Small contents that are laid over one another, and have tails, as large ones are and have."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from snapshots.catalog.contents import bases
from snapshots.catalog.store import tails


@contextmanager
def laid_always() -> Iterator[None]:
    """Lay every content within over another one that can be, and give it a tail, however small."""
    with (
        mock.patch.object(bases, "LEAST_BYTES", 0),
        mock.patch.object(bases, "most_bytes", return_value=1 << 30),
        mock.patch.object(tails, "LEAST_SPARED", 1),
    ):
        yield
