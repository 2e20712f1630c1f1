"""A fork server for tests, which imports the modules that they need once."""

from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext
from typing import Any

MODULES = [
    "hypothesis",
    "pytest",
    "snapshots.catalog.history_queries",
    "snapshots.catalog.parallel_import",
    "snapshots.catalog.verification",
    "tests.snapshots.importers",
]


def begin_anew() -> ForkServerContext:
    """Restart the fork server of this process, which may have been started with fewer modules."""
    server: Any = forkserver
    server._forkserver._stop()
    context = get_context("forkserver")
    context.set_forkserver_preload(MODULES)
    forkserver.ensure_running()  # pools use it from now on
    return context
