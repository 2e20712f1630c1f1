"""The server that forks processes for tests: what they need is imported once, not in each."""

from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext
from typing import Any

from snapshots.catalog.workers import _uninterrupted

MODULES = [
    "hypothesis",
    "pytest",
    "snapshots.catalog.past",
    "snapshots.catalog.parallel_import",
    "snapshots.catalog.verification",
    "tests.snapshots.importers",
]


def begin_anew() -> ForkServerContext:
    """Start the one server that a process has; another test may have started it with less."""
    server: Any = forkserver
    server._forkserver._stop()
    context = get_context("forkserver")
    context.set_forkserver_preload(MODULES)
    with _uninterrupted():  # as pools start it, which use it from now on
        forkserver.ensure_running()
    return context
