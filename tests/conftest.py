"""Fixtures that several floors' tests share: what takes long to make is made once."""

import gc
import os
import ssl
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
from hypothesis import settings

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests import traced
from tests.schema.worlds import World, demo_world
from tests.snapshots.catalog.emulators import Emulator

# The processes that tests start are hundreds. Each would compile all modules anew, and each worker
# would rewrite the assertions of all tests, where bytecode may not be written.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_transport = httpx.HTTPTransport.__init__


@cache
def _certificates(*_variables: str | None) -> ssl.SSLContext:
    """Return the certificates that httpx finds by these variables of the environment."""
    return httpx.create_ssl_context()


def _transport_with_shared_certificates(
    self: httpx.HTTPTransport, verify: ssl.SSLContext | str | bool = True, **options: Any
) -> None:
    if verify is True and options.get("cert") is None and options.get("trust_env", True):
        verify = _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    _transport(self, verify=verify, **options)


# Each client, and so each httpx.get, would read all certificates of the system anew: 20 ms.
_transports: Any = httpx.HTTPTransport
_transports.__init__ = _transport_with_shared_certificates

# HYPOTHESIS_PROFILE=default makes a hundred.
settings.register_profile("suite", max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return how many processes ``-n auto`` starts: two more than there are cores.

    Many tests wait, for a server to start or for a client to be given up; others compute then.
    """
    is_set = "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ
    return None if is_set else len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Keep the garbage collector from going through thousands of tests, which stay to the end."""
    gc.disable()
    try:
        with traced.only_imports_traced(session.config):
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the long tests first: one that begins last is waited for by all other processes."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Trace, where coverage is measured, only tests that count."""
    with traced.traced_if_it_counts(item):
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def unsynced() -> Iterator[None]:
    """Leave out what is for power cuts: thousands of small imports would wait for the disk."""
    with mock.patch.object(os, "fsync"):
        yield


@pytest.fixture(scope="session")
def demo_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with a small made-up history, for tests that only read it."""
    folder = tmp_path_factory.mktemp("demo")
    Catalog(str(folder)).publish(list(history(revisions=5, packages=40, specs=400)))
    return folder


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a small catalog whose records are known, for tests that only read it."""
    return demo_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """Return a running server that speaks S3; each test has a place of its own in its bucket."""
    running = Emulator(tmp_path_factory.mktemp("s3") / "log")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def bucket(emulator: Emulator) -> Iterator[Emulator]:
    """Return the running emulator, which the variables of the environment name."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in emulator.variables().items():
            environment.setenv(name, value)
        yield emulator
