"""Fixtures that tests of several layers share, and settings of the test run."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings

from tests.demo_histories import history
from tests.schema.worlds import World, demo_world
from tests.snapshots.catalog.emulators import Emulator
from tests.snapshots.templates import catalog_of, made_once

# Tests start hundreds of processes. Without bytecode, each of them compiles all modules again, and
# each worker rewrites the assertions of all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Otherwise each client, and so each httpx.get, reads all certificates of the system: 20 ms.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("authorities.pem"))

# HYPOTHESIS_PROFILE=default has a hundred.
settings.register_profile("suite", max_examples=12)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return the number of processes for ``-n auto``: the number of cores plus two.

    Many tests wait for a server to start or a timeout to expire; others compute meanwhile.
    """
    is_set = "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ
    return None if is_set else len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable the garbage collector while the tests, which are never freed, are collected."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long tests first, so that no process waits for one that starts last."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session", autouse=True)
def unsynced() -> Iterator[None]:
    """Disable fsync: thousands of small imports would wait for the disk."""
    with mock.patch.object(os, "fsync"):
        yield


@pytest.fixture(scope="session")
def demo_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with a small synthetic history; tests only read it."""
    snapshots = history(revisions=5, packages=40, specs=400)
    return made_once(tmp_path_factory, "demo", lambda folder: catalog_of(folder, *snapshots))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a small catalog with known records; tests only read it."""
    return demo_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """Return a running S3 server; each test uses its own prefix of its bucket."""
    running = Emulator(tmp_path_factory.mktemp("s3") / "log")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def bucket(emulator: Emulator) -> Iterator[Emulator]:
    """Return the running S3 server, with the environment variables set for it."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in emulator.variables().items():
            environment.setenv(name, value)
        yield emulator
