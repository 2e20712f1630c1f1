"""The name and version of the program."""

from importlib.metadata import PackageNotFoundError
from unittest import mock

import pytest

from snapshots import program


@pytest.mark.parametrize(("found", "version"), [("1.2.3", "1.2.3"), (PackageNotFoundError, "0")])
def test_importer(found: object, version: str) -> None:
    """Its name has the version, which is 0 if the program is not installed."""
    program.cachelog_version.cache_clear()
    with mock.patch.object(program, "version", side_effect=[found]):
        assert program.importer_name.__wrapped__() == f"cachelog {version}"
    program.cachelog_version.cache_clear()
