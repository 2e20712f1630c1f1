"""The name and version of the program."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError

import pytest

from snapshots import program


@pytest.fixture(autouse=True)
def _uncached() -> Iterator[None]:
    for step in range(2):
        program.importer_name.cache_clear()
        program.cachelog_version.cache_clear()
        if not step:
            yield


def test_a_program_that_is_not_installed_has_version_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can run from a folder without being installed."""

    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(program, "version", version)
    assert program.cachelog_version() == "0"


def test_the_name_of_an_importer_has_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process reads the version once."""
    monkeypatch.setattr(program, "version", lambda _: "1.2.3")
    assert program.importer_name() == "cachelog 1.2.3"
    monkeypatch.undo()
    assert program.importer_name() == "cachelog 1.2.3"
