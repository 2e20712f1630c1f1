"""Worker processes, and the mapping of a function over many items."""

import os
import signal
from collections.abc import Sequence
from time import sleep

import pytest

from snapshots.errors import CatalogError, InvalidArgument, SourceError
from snapshots.workers import mapping

LOCATION = "there"


def number_and_place(number: int) -> tuple[int, bool]:
    """Return a number, and whether this is another process than the first; slowest for 0."""
    sleep(0 if number else 0.1)
    return number, os.environ["CACHELOG_TEST_FIRST"] != str(os.getpid())


def fail(number: int) -> int:
    """Return the number; raise an error for 2."""
    if number == 2:
        raise SourceError("page.md", "is odd", line=7, key="specs")
    return number


def die(number: int) -> int:
    """Return the number; kill the process at 2, as if memory were exhausted."""
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("items", "jobs", "elsewhere"),
    [([1, 2], 1, False), ([1], 2, False), ([], 2, False), (range(5), 2, True)],
    ids=["one job", "one item", "no item", "several"],
)
def test_results_of_workers(
    items: Sequence[int], jobs: int, *, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in the order of the items; one job or item needs no other process."""
    monkeypatch.setenv("CACHELOG_TEST_FIRST", str(os.getpid()))
    with mapping(number_and_place, LOCATION, items, jobs=jobs) as results:
        assert list(results) == [(number, elsewhere) for number in items]


@pytest.mark.usefixtures("processes")
def test_error_of_a_worker() -> None:
    """It is raised with its attributes, after the earlier results."""
    seen: list[int] = []
    with (
        pytest.raises(SourceError) as caught,
        mapping(fail, LOCATION, range(4), jobs=2) as results,
    ):
        seen.extend(results)
    assert seen == [0, 1]
    assert str(caught.value) == "page.md, line 7, specs: is odd"
    assert (caught.value.line, caught.value.key) == (7, "specs")


@pytest.mark.usefixtures("processes")
def test_killed_worker() -> None:
    """The error states the remedy."""
    with (
        pytest.raises(CatalogError, match=r"there: one of the processes .* with fewer jobs"),
        mapping(die, LOCATION, range(4), jobs=2) as results,
    ):
        list(results)


def test_cluster_without_daft(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what to install."""
    monkeypatch.setattr("snapshots.workers.find_spec", lambda _name: None)
    with (
        pytest.raises(InvalidArgument, match=r"install 'cachelog\[cluster\]'"),
        mapping(number_and_place, LOCATION, [1], cluster="ray://127.0.0.1:10001"),
    ):
        pass
