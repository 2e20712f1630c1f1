"""One server for the tests that only ask it, with the small settings of the attacks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.attack import Target
from tests.hostile.sizes import SMALL_CACHES
from tests.hostile.target import AttackedServer, attacked


@pytest.fixture(scope="module")
def server(demo_catalog: Path) -> Iterator[AttackedServer]:
    """Return a server of the demo catalog, started."""
    with attacked(demo_catalog, **SMALL_CACHES) as server:
        server.start()
        yield server


@pytest.fixture(scope="module")
def target(server: AttackedServer) -> Target:
    """Return what that server tells about itself."""
    return server.learn()
