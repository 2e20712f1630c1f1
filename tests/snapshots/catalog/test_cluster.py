"""The Daft program on a cluster: the actors, and the calls of Ray."""

import pickle
import sys
from types import SimpleNamespace

import pytest

from snapshots.catalog.workers import mapping
from snapshots.errors import CatalogError, SourceError

pytest.importorskip("daft")

from snapshots.catalog.cluster import _Worker

ADDRESS = "ray://127.0.0.1:10001"


def halve(number: int) -> int:
    """Return half of a number; raise an error for odd numbers."""
    if number % 2:
        raise SourceError("there", f"{number} is odd")
    return number // 2


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Simulate a cluster of three cores on this machine; return the requested addresses."""
    addresses: list[str] = []

    def set_runner(address: str, *, noop_if_initialized: bool) -> None:
        assert noop_if_initialized
        addresses.append(address)

    ray = SimpleNamespace(cluster_resources=lambda: {"CPU": 3.0})
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr("snapshots.catalog.workers.check_cluster", lambda _address: None)
    monkeypatch.setattr("daft.set_runner_ray", set_runner)
    return addresses


def test_a_worker_answers_in_bytes() -> None:
    """Errors of ours are answers, too: they would lose their data on the way."""
    worker = _Worker(halve)
    assert pickle.loads(worker(pickle.dumps(8))) == 4  # noqa: S301
    error = pickle.loads(worker(pickle.dumps(7)))  # noqa: S301
    assert (type(error), str(error)) == (SourceError, "there: 7 is odd")


def test_a_cluster_runs_the_same_program(
    cluster: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the items, also where they are more than one program takes."""
    monkeypatch.setattr("snapshots.catalog.cluster._AT_ONCE", 2)
    numbers = range(0, 14, 2)
    with mapping(halve, "there", numbers, cluster=ADDRESS) as results:
        assert list(results) == [number // 2 for number in numbers]
    assert cluster == [ADDRESS]


@pytest.mark.usefixtures("cluster")
def test_what_a_cluster_says_where_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last line, without colours, and the address."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise ConnectionError("\x1b[36mtrace\x1b[39m\nray client connection timeout")

    monkeypatch.setattr("daft.set_runner_ray", fail)
    reason = rf"there: the cluster at {ADDRESS} failed \(ray client connection timeout\)"
    with (
        pytest.raises(CatalogError, match=reason),
        mapping(halve, "there", [2], cluster=ADDRESS),
    ):
        pass


@pytest.mark.usefixtures("cluster")
def test_an_error_on_a_cluster_comes_out_as_it_is() -> None:
    """The error of a content is raised as on one machine."""
    with (
        pytest.raises(SourceError, match="there: 3 is odd"),
        mapping(halve, "there", [2, 3, 4], cluster=ADDRESS) as results,
    ):
        list(results)
