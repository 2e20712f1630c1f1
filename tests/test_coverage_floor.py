"""The files that determine which tests count for coverage."""

from itertools import chain
from pathlib import Path

import pytest

from tests.traced import ELSEWHERE, WIDE

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("path", [*chain(*ELSEWHERE.values(), WIDE)])
def test_listed_files_exist(path: str) -> None:
    """Renaming one does not silently change whether it counts."""
    assert (ROOT / path).exists()
