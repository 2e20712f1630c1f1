"""The Daft program on a cluster: the actors, and the calls of Ray."""

import sys
from types import SimpleNamespace

import pytest

from snapshots.errors import CatalogError, SourceError
from snapshots.workers import mapping

pytest.importorskip("daft")

ADDRESS = "ray://127.0.0.1:10001"


def halve(number: int) -> int:
    """Return half of a number; raise an error for odd numbers."""
    if number % 2:
        raise SourceError("there", f"{number} is odd", line=7)
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
    monkeypatch.setattr("snapshots.workers.check_cluster", lambda _address: None)
    monkeypatch.setattr("daft.set_runner_ray", set_runner)
    return addresses


def test_results_of_a_cluster(cluster: list[str]) -> None:
    """They are in the order of the items, also if there are more than one program takes."""
    numbers = range(0, 160, 2)
    with mapping(halve, "there", numbers, cluster=ADDRESS) as results:
        assert list(results) == [number // 2 for number in numbers]
    assert cluster == [ADDRESS]


@pytest.mark.usefixtures("cluster")
def test_failure_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the last line of the failure, without colours, and the address."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise ConnectionError("\x1b[36mtrace\x1b[39m\nray client connection timeout")

    monkeypatch.setattr("daft.set_runner_ray", fail)
    reason = rf"there: the cluster at {ADDRESS} failed \(ray client connection timeout\)"
    with pytest.raises(CatalogError, match=reason), mapping(halve, "there", [2], cluster=ADDRESS):
        pass
