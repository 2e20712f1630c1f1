"""How hypothesis runs (a slow machine, or a late import, is no failure), and shared fixtures."""

import os

import pytest
from hypothesis import settings

settings.register_profile("cachelog", deadline=None)
settings.load_profile("cachelog")


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let neither proxies nor the settings of the user's git stand between tests and servers."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
