"""Catalogs with a known past, which the tests of this folder only read."""

from random import Random

import pytest

from tests.expensive import cases
from tests.schema.pasts import LINES, Known, known_past, made_up


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return a catalog of the revisions of LINES."""
    return known_past(tmp_path_factory.mktemp("catalog"), LINES)


@pytest.fixture(scope="session", params=["LINES", *range(cases(8))])
def any_known(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return that catalog, or one with a made-up past."""
    if request.param == "LINES":
        catalog: Known = request.getfixturevalue("known")
        return catalog
    return known_past(tmp_path_factory.mktemp("catalog"), made_up(Random(request.param)))
