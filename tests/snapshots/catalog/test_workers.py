"""Worker processes, and the mapping of a function over many items."""

import os
from collections.abc import Iterator
from functools import partial
from multiprocessing import Pipe, forkserver, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from signal import (
    SIG_BLOCK,
    SIG_IGN,
    SIG_UNBLOCK,
    SIGINT,
    SIGKILL,
    default_int_handler,
    getsignal,
    pthread_sigmask,
    raise_signal,
    signal,
)
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from snapshots.catalog import workers
from snapshots.catalog.workers import (
    DeafContext,
    _context,
    _folder,
    _start,
    _uninterrupted,
    call,
    check_cluster,
    mapping,
    processes,
)
from snapshots.errors import CatalogError, InvalidArgument, SourceError
from tests.snapshots import forks

LOCATION = "there"


def number_of(_item: object = None) -> int:
    """Return the id of this process."""
    return os.getpid()


def is_deaf() -> bool:
    """Return whether this process ignores interrupts."""
    return SIGINT in pthread_sigmask(SIG_BLOCK, ())


def surroundings() -> tuple[str, str | None]:
    """Return the working directory of this process, and an environment variable."""
    return os.getcwd(), os.environ.get("CACHELOG_TEST_WHERE")  # noqa: PTH109


def test_interrupts_never_reach_one() -> None:
    """They are held off before it runs its first line; who starts it is reached as before."""
    stopped: Any = forkserver
    stopped._forkserver._stop()  # another test may have started it otherwise
    try:
        with processes(1, LOCATION, number_of) as pool:
            assert pool.submit(is_deaf).result()
    finally:
        forks.begin_anew()
    assert not is_deaf()


@pytest.mark.usefixtures("processes")
def test_each_process_is_where_this_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folder and variables are those of the moment, whenever the first process was made."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setenv("CACHELOG_TEST_WHERE", name)
        with processes(1, LOCATION, number_of) as pool:
            assert pool.submit(surroundings).result() == (str(tmp_path / name), name)


def _start_one(connection: Connection) -> None:
    with processes(1, LOCATION, number_of) as pool:
        connection.send(pool.submit(call, None).result())
        sleep(60)


def test_who_started_them_is_killed() -> None:
    """They do not wait for work for ever."""
    context = get_context("spawn")
    received, sent = context.Pipe(duplex=False)
    parent = context.Process(target=_start_one, args=(sent,))
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


@pytest.fixture
def kept_signal() -> Iterator[None]:
    """Restore the handler of Ctrl+C afterwards."""
    before = getsignal(SIGINT)
    yield
    signal(SIGINT, before)


@pytest.mark.usefixtures("kept_signal")
def test_one_begins_deaf_to_an_interrupt_and_ends_when_nobody_holds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who started it ends it; as long as that one lives it works on."""
    ends = SimpleQueue[int]()
    monkeypatch.setattr(os, "_exit", ends.put)
    monkeypatch.setattr(workers, "_functions", [])
    watched, held = Pipe(duplex=False)
    before = Path.cwd()
    _start(watched, os.environ.copy(), "/", number_of)
    assert call(None) == os.getpid()
    assert Path.cwd() == Path("/")
    os.chdir(before)
    assert getsignal(SIGINT) is SIG_IGN
    assert ends.empty()
    held.close()
    assert ends.get(timeout=30) == 1


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_nobody_waits_for_what_is_not_wanted_any_more(error: type[BaseException]) -> None:
    """An interrupt ends long work, too."""
    started, numbers = monotonic(), list[int]()

    def give_up() -> None:
        with processes(1, LOCATION, number_of) as pool:
            numbers.append(pool.submit(call, None).result())
            pool.submit(sleep, 60)
            raise error

    with pytest.raises(error):
        give_up()
    assert not is_running(*numbers)
    assert monotonic() - started < 30


@pytest.mark.usefixtures("kept_signal")
def test_an_interrupt_waits_until_a_process_is_known() -> None:
    """Even one that another thread takes: nobody would end a process that nobody knows."""
    reached: list[str] = []

    def take_interrupt() -> None:
        pthread_sigmask(SIG_UNBLOCK, {SIGINT})
        raise_signal(SIGINT)

    def start() -> None:
        with _uninterrupted():
            other = Thread(target=take_interrupt)
            other.start()
            other.join()
            reached.append("the end of the block")
        reached.append("what follows it")

    signal(SIGINT, default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        start()
    assert reached == ["the end of the block"]
    assert getsignal(SIGINT) is default_int_handler


def test_without_a_fork_server_each_process_is_a_fresh_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than on Linux, where what Arrow does in threads may not survive it."""
    assert not isinstance(_context(__name__), DeafContext)
    monkeypatch.setattr("sys.platform", "darwin")
    assert isinstance(_context(__name__), DeafContext)


def test_a_folder_that_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes stay where they begin."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert _folder() is None


# -- mapping


def tell(number: int) -> tuple[int, bool]:
    """Return a number, and whether this is another process than the first; slowest for 0."""
    sleep(0 if number else 0.1)
    return number, os.environ["CACHELOG_TEST_FIRST"] != str(os.getpid())


def fail(number: int) -> int:
    """Return a number; raise an error for the third."""
    if number == 2:
        raise SourceError("page.md", "is odd", line=7, key="specs")
    return number


def die(number: int) -> int:
    """Return a number; the process is killed at the third, as if memory were exhausted."""
    if number == 2:
        os.kill(os.getpid(), SIGKILL)
    return number


def note(folder: Path, number: int) -> int:
    """Create a file named by a number in a folder."""
    (folder / str(number)).touch()
    return number


def test_alone_all_is_done_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """One job needs no other process, and neither does one item."""
    monkeypatch.setenv("CACHELOG_TEST_FIRST", str(os.getpid()))
    with mapping(tell, LOCATION, [1, 2]) as results:
        assert list(results) == [(1, False), (2, False)]
    with mapping(tell, LOCATION, [1], jobs=2) as results:
        assert list(results) == [(1, False)]
    with mapping(tell, LOCATION, [], jobs=2) as results:
        assert list(results) == []


@pytest.mark.usefixtures("processes")
def test_others_call_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they return comes back from other processes, in the order of the items."""
    monkeypatch.setenv("CACHELOG_TEST_FIRST", str(os.getpid()))
    with mapping(tell, LOCATION, range(5), jobs=2) as results:
        assert list(results) == [(number, True) for number in range(5)]


@pytest.mark.usefixtures("processes")
def test_an_error_comes_out_as_it_is() -> None:
    """With its data, and after what was done before."""
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
def test_a_worker_is_killed() -> None:
    """The error says what to do."""
    with (
        pytest.raises(CatalogError, match=r"there: one of the processes .* with fewer jobs"),
        mapping(die, LOCATION, range(4), jobs=2) as results,
    ):
        list(results)


@pytest.mark.usefixtures("processes")
def test_workers_do_not_run_far_ahead(tmp_path: Path) -> None:
    """Who takes results slowly keeps no more of them than memory has room for."""
    with mapping(partial(note, tmp_path), LOCATION, range(200), jobs=2) as results:
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
    monkeypatch.setattr("snapshots.catalog.workers.find_spec", lambda _name: None)
    with (
        pytest.raises(InvalidArgument, match=r"install 'cachelog\[cluster\]'"),
        mapping(tell, LOCATION, [1], cluster="ray://127.0.0.1:10001"),
    ):
        pass
