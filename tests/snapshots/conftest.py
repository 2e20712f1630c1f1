"""The hypothesis profile (without deadlines, as machines may be slow), and shared fixtures."""

import os
from multiprocessing.context import ForkServerContext

import pytest
from hypothesis import settings

from tests.snapshots import forks

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
    return forks.begin_anew()
