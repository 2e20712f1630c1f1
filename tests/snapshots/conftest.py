"""The hypothesis profile (without deadlines, as machines may be slow), and shared fixtures."""

import os

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
