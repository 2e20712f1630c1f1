"""A catalog with a history, which the tests of this folder only read."""

import pytest

from tests.schema.model_histories import LINES, History, published_history


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Return a catalog of the revisions of LINES."""
    return published_history(tmp_path_factory.mktemp("catalog"), LINES)
