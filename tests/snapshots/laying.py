"""Small contents that are laid over one another, as large ones are."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from snapshots.catalog.contents import bases


@contextmanager
def laid_always() -> Iterator[None]:
    """Lay every content within over another one that can be, however small both are."""
    with (
        mock.patch.object(bases, "LEAST_BYTES", 0),
        mock.patch.object(bases, "most_bytes", return_value=1 << 30),
    ):
        yield
