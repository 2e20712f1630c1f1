"""The garbage collector freezes long-lived objects, and still frees all garbage eventually."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from server.app import ShortCollections


class Cycle:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def short() -> Iterator[None]:
    """Enable short collections during a test."""
    short = ShortCollections(of_everything=3)
    short.begin()
    yield
    gc.callbacks.remove(short)
    gc.unfreeze()


@pytest.mark.usefixtures("short")
def test_survivors_are_frozen() -> None:
    """A full collection frees new garbage, and leaves few objects for the next one."""
    survivors = [[number] for number in range(50_000)]
    garbage = weakref.ref(Cycle())
    assert len(gc.get_objects()) > 50_000
    gc.collect()
    assert len(gc.get_objects()) < 5_000
    assert len(survivors) == 50_000
    assert garbage() is None


@pytest.mark.usefixtures("short")
def test_frozen_garbage_is_freed_later() -> None:
    """Objects that become garbage after they are frozen wait for a collection of all objects."""
    cycle = Cycle()
    garbage = weakref.ref(cycle)
    gc.collect()  # freezes it
    del cycle
    gc.collect()
    assert garbage() is not None
    gc.collect()  # the third: unfreezes all objects
    gc.collect()
    assert garbage() is None
    assert gc.get_freeze_count() > 1_000, "survivors are frozen again"
