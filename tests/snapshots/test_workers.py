"""Worker processes, and the mapping of a function over many items."""

import os
import signal
from collections.abc import Sequence
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, sleep

import pytest

from snapshots.errors import CatalogError, InvalidArgument, SourceError
from snapshots.workers import mapping

LOCATION = "there"


def process_id(_item: object = None) -> int:
    """Return the id of this process."""
    return os.getpid()


def ignores_interrupts(_item: object) -> bool:
    """Return whether Ctrl+C has no effect on this process."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("processes")
def test_interrupts_do_not_reach_workers() -> None:
    """Their parent still receives them."""
    with mapping(ignores_interrupts, LOCATION, range(2), jobs=2) as results:
        assert all(results)
    assert not ignores_interrupts(None)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _start_two(connection: Connection) -> None:
    with mapping(process_id, LOCATION, range(2), jobs=2) as results:
        connection.send(next(results))
        sleep(60)


def test_workers_exit_with_their_parent() -> None:
    """They do not wait for work after their parent was killed."""
    context = get_context("spawn")
    received, sent = context.Pipe(duplex=False)
    parent = context.Process(target=_start_two, args=(sent,))
    parent.start()
    number = received.recv()
    assert is_running(number)
    parent.kill()
    parent.join()
    ends = monotonic() + 30
    while is_running(number) and monotonic() < ends:
        sleep(0.05)
    assert not is_running(number)


def is_running(number: int) -> bool:
    """Return whether a process with an id exists and has not ended."""
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def process_id_or_sleep(number: int) -> int:
    """Return the id of this process, first sleeping for a minute unless the number is 0."""
    sleep(60 if number else 0)
    return os.getpid()


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_errors_end_running_work(error: type[BaseException]) -> None:
    """An interrupt ends it, too."""
    started, numbers = monotonic(), list[int]()

    def fail_in_pool() -> None:
        with mapping(process_id_or_sleep, LOCATION, range(3), jobs=2) as results:
            numbers.append(next(results))
            raise error

    with pytest.raises(error):
        fail_in_pool()
    assert not is_running(*numbers)
    assert monotonic() - started < 30


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


def touch(folder: Path, number: int) -> int:
    """Create a file named by a number in a folder."""
    (folder / str(number)).touch()
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


@pytest.mark.usefixtures("processes")
def test_workers_do_not_run_far_ahead(tmp_path: Path) -> None:
    """A slow consumer limits the number of results in memory."""
    with mapping(partial(touch, tmp_path), LOCATION, range(200), jobs=2) as results:
        assert next(results) == 0
        sleep(1)
        assert len(list(tmp_path.iterdir())) <= 5


def test_cluster_without_daft(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what to install."""
    monkeypatch.setattr("snapshots.workers.find_spec", lambda _name: None)
    with (
        pytest.raises(InvalidArgument, match=r"install 'cachelog\[cluster\]'"),
        mapping(number_and_place, LOCATION, [1], cluster="ray://127.0.0.1:10001"),
    ):
        pass
