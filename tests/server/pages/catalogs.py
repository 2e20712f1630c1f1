"""Catalogs of few records, served for one test."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.models import Spec
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, day


@contextmanager
def served(folder: Path, *states: Iterable[Spec], tag: str = "develop") -> Iterator[httpx.Client]:
    """Serve the states of a tag, a day after each other."""
    snapshots = [a_snapshot(specs, tag, day(number)) for number, specs in enumerate(states)]
    Catalog(str(folder)).publish(snapshots)
    with application(Settings(catalog=str(folder))) as client:
        yield client
