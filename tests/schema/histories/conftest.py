"""A catalog with a known past, which the tests of this folder only read."""

import pytest

from tests.schema.pasts import LINES, Known, known_past


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return a catalog of the revisions of LINES."""
    return known_past(tmp_path_factory.mktemp("catalog"), LINES)
