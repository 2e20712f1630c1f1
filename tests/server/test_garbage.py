"""The garbage collector sets aside what stays, and still finds all garbage in the end."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from server.app import ShortCollections


class Circle:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def short() -> Iterator[None]:
    """Keep collections short during a test; afterwards the collector is as it was."""
    short = ShortCollections(of_everything=3)
    short.begin()
    yield
    gc.callbacks.remove(short)
    gc.unfreeze()


@pytest.mark.usefixtures("short")
def test_survivors_are_set_aside() -> None:
    """A full collection frees new garbage, and leaves next to nothing for the next collection."""
    survivors = [[number] for number in range(50_000)]
    garbage = weakref.ref(Circle())
    assert len(gc.get_objects()) > 50_000
    gc.collect()
    assert len(gc.get_objects()) < 5_000
    assert len(survivors) == 50_000
    assert garbage() is None


@pytest.mark.usefixtures("short")
def test_old_garbage_is_freed_in_the_end() -> None:
    """What becomes garbage after it was set aside waits for a collection of everything."""
    circle = Circle()
    garbage = weakref.ref(circle)
    gc.collect()  # sets it aside
    del circle
    gc.collect()
    assert garbage() is not None
    gc.collect()  # the third: takes back what was set aside
    gc.collect()
    assert garbage() is None
    assert gc.get_freeze_count() > 1_000, "what survives is set aside again"
