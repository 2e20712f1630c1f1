"""One function mapped over many items: the same results in the same order, whoever works."""

import os
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL
from time import sleep

import pytest

from snapshots.catalog.bulk.mapping import check_cluster, mapping
from snapshots.errors import CatalogError, InvalidArgument, SourceError

LOCATION = "there"


def begin_telling(location: str) -> Callable[[int], tuple[str, int, bool]]:
    """Return what tells the location, a number, and whether another process than the first does."""
    return lambda number: (location, number, os.environ["CACHELOG_TEST_FIRST"] != str(os.getpid()))


def begin_lagging(_location: str) -> Callable[[int], int]:
    """Return what takes longest for the first."""

    def lag(number: int) -> int:
        sleep(0.3 if number == 0 else 0)
        return number

    return lag


def begin_failing(_location: str) -> Callable[[int], int]:
    """Return what cannot read the third."""

    def fail(number: int) -> int:
        if number == 2:
            raise SourceError("page.md", "is odd", line=7, key="specs")
        return number

    return fail


def begin_dying(_location: str) -> Callable[[int], int]:
    """Return what is killed at the third, as happens where memory is short."""

    def die(number: int) -> int:
        if number == 2:
            os.kill(os.getpid(), SIGKILL)
        return number

    return die


def begin_noting(folder: str) -> Callable[[int], int]:
    """Return what leaves a file of each number in a folder."""

    def note(number: int) -> int:
        (Path(folder) / str(number)).touch()
        return number

    return note


def test_alone_all_is_done_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """One job needs no other process, and neither does one item."""
    monkeypatch.setenv("CACHELOG_TEST_FIRST", str(os.getpid()))
    with mapping(begin_telling, LOCATION, [1, 2]) as results:
        assert list(results) == [(LOCATION, 1, False), (LOCATION, 2, False)]
    with mapping(begin_telling, LOCATION, [1], jobs=2) as results:
        assert list(results) == [(LOCATION, 1, False)]
    with mapping(begin_telling, LOCATION, [], jobs=2) as results:
        assert list(results) == []


@pytest.mark.usefixtures("each_way")
def test_others_begin_with_the_location(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they return comes back from other processes."""
    monkeypatch.setenv("CACHELOG_TEST_FIRST", str(os.getpid()))
    with mapping(begin_telling, LOCATION, range(5), jobs=2) as results:
        assert list(results) == [(LOCATION, number, True) for number in range(5)]


@pytest.mark.usefixtures("each_way")
def test_results_come_in_the_order_of_the_items() -> None:
    """Also where the first takes longest."""
    with mapping(begin_lagging, LOCATION, range(6), jobs=2) as results:
        assert list(results) == [*range(6)]


@pytest.mark.usefixtures("each_way")
def test_an_error_comes_out_as_it_is() -> None:
    """With its data, and after what was done before."""
    seen: list[int] = []
    with (
        pytest.raises(SourceError) as caught,
        mapping(begin_failing, LOCATION, range(4), jobs=2) as results,
    ):
        seen.extend(results)
    assert seen == [0, 1]
    assert str(caught.value) == "page.md, line 7, specs: is odd"
    assert (caught.value.line, caught.value.key) == (7, "specs")


@pytest.mark.usefixtures("each_way")
def test_a_worker_is_killed() -> None:
    """The error says what to do."""
    with (
        pytest.raises(CatalogError, match=r"there: one of the processes .* with fewer jobs"),
        mapping(begin_dying, LOCATION, range(4), jobs=2) as results,
    ):
        list(results)


@pytest.mark.usefixtures("each_way")
def test_workers_do_not_run_far_ahead(tmp_path: Path) -> None:
    """Who takes results slowly keeps no more of them than memory has room for."""
    with mapping(begin_noting, str(tmp_path), range(200), jobs=2) as results:
        assert next(results) == 0
        sleep(1)
        assert len(list(tmp_path.iterdir())) <= 5


@pytest.mark.parametrize(
    "address", ["", "ray://", "ray://host", "ray://:10001", "http://host:1", "host:1", "ray://h:x"]
)
def test_addresses_that_are_none(address: str) -> None:
    """What is at fault is named before anything starts."""
    with pytest.raises(InvalidArgument, match=r"--cluster: .* is not of the form ray://HOST:PORT"):
        check_cluster(address)


def test_a_cluster_needs_daft(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what to install."""
    monkeypatch.setattr("snapshots.catalog.bulk.mapping.has_daft", bool)
    with (
        pytest.raises(InvalidArgument, match=r"install 'cachelog\[cluster\]'"),
        mapping(begin_telling, LOCATION, [1], cluster="ray://127.0.0.1:10001"),
    ):
        pass
