"""The hypothesis profile (without deadlines, as machines may be slow), and shared fixtures."""

import os
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext

import pytest
from hypothesis import settings

settings.register_profile("cachelog", deadline=None)
settings.load_profile("cachelog")


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the effect of proxies and of the user's git settings on tests."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Return a context whose processes start fast, because modules are already imported."""
    context = get_context("forkserver")
    context.set_forkserver_preload(
        [
            "snapshots.catalog.history_queries",
            "snapshots.catalog.parallel_import",
            "tests.snapshots.importers",
        ]
    )
    return context
