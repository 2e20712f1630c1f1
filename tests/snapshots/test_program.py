"""The name and version of the program."""

from importlib.metadata import PackageNotFoundError

import pytest

from snapshots import program


def test_a_program_that_is_not_installed_has_version_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can run from a folder that no installer has seen."""

    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(program, "version", version)
    assert program.cachelog_version() == "0"
