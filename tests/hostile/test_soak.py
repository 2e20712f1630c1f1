"""A short form of the long run: clients and imports beside each other."""

import pytest

from tests.hostile.soak import soak


@pytest.mark.long
def test_imports_beside_load_tear_nothing() -> None:
    """No request fails and no answer contradicts itself while revisions are published."""
    found = soak(4, every=1)
    assert not found.complaints
    assert found.imported >= 2
    assert found.asked >= 30
