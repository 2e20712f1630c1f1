"""Catalogs of few records, served for one test."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.models import Spec
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, a_spec, day


def without_sizes(folder: Path) -> str:
    """Publish a series of two revisions and one of one, whose sources tell no sizes; say where."""
    specs = [a_spec(it, name=f"p{it}", size=None) for it in "abc"]
    contents = [("develop", 0, 1), ("develop", 7, 3), ("alone", 1, 2)]
    Catalog(str(folder)).publish(
        [a_snapshot(specs[:count], tag, day(taken)) for tag, taken, count in contents]
    )
    return str(folder)


@contextmanager
def served(folder: Path, *states: Iterable[Spec], tag: str = "develop") -> Iterator[httpx.Client]:
    """Serve the states of a tag, a day after each other."""
    snapshots = [a_snapshot(specs, tag, day(number)) for number, specs in enumerate(states)]
    Catalog(str(folder)).publish(snapshots)
    with application(Settings(catalog=str(folder))) as client:
        yield client
