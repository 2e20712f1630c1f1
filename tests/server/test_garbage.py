"""The garbage collector sets aside what stays, and still finds all garbage in the end."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from server.app import ShortCollections


class Circle:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def begin() -> Iterator[Callable[[ShortCollections], None]]:
    """Return what begins to keep collections short, until the test ends."""
    begun: list[ShortCollections] = []

    def begin(short: ShortCollections) -> None:
        short.begin()
        begun.append(short)

    yield begin
    for short in begun:
        short.end()


def test_what_survives_is_not_looked_at_again(begin: Callable[[ShortCollections], None]) -> None:
    """After a full collection next to nothing is left for the next one."""
    begin(ShortCollections())
    kept = [[number] for number in range(50_000)]
    assert len(gc.get_objects()) > 50_000
    gc.collect()
    assert len(gc.get_objects()) < 5_000
    assert len(kept) == 50_000


def test_new_garbage_is_found_at_once(begin: Callable[[ShortCollections], None]) -> None:
    """What becomes garbage before it is set aside is found as always."""
    begin(ShortCollections())
    found = weakref.ref(Circle())
    gc.collect()
    assert found() is None


def test_old_garbage_is_found_in_the_end(begin: Callable[[ShortCollections], None]) -> None:
    """What becomes garbage after it was set aside waits for a collection of everything."""
    begin(ShortCollections(of_everything=3))
    circle = Circle()
    found = weakref.ref(circle)
    gc.collect()  # sets it aside
    del circle
    gc.collect()
    assert found() is not None
    gc.collect()  # the third: takes back what was set aside
    gc.collect()
    assert found() is None
    frozen = gc.get_freeze_count()
    assert frozen > 1_000, "what was looked at is set aside again"


def test_it_ends() -> None:
    """Afterwards the collector is as it was."""
    short = ShortCollections()
    short.begin()
    short.end()
    assert short not in gc.callbacks
    gc.collect()
    assert gc.get_freeze_count() == 0
