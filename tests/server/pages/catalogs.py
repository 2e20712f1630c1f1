"""Small catalogs, served for tests of one page."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot
from snapshots.models import Spec
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, a_spec, day


def without_sizes(folder: Path) -> str:
    """Publish a series of two revisions and one of one, without sizes; return the path."""
    specs = [a_spec(letter, name=f"p{letter}", size=None) for letter in "abc"]
    contents = [("develop", 0, 1), ("develop", 7, 3), ("alone", 1, 2)]
    Catalog(str(folder)).publish(
        [a_snapshot(specs[:count], tag, day(number)) for tag, number, count in contents]
    )
    return str(folder)


@contextmanager
def published(folder: Path, *snapshots: Snapshot, **settings: Any) -> Iterator[httpx.Client]:
    """Publish snapshots and serve them, with settings."""
    Catalog(str(folder)).publish(snapshots)
    with application(Settings(catalog=str(folder), **settings)) as client:
        yield client


def served(
    folder: Path, *states: Iterable[Spec], **others: Sequence[Iterable[Spec]]
) -> AbstractContextManager[httpx.Client]:
    """Serve the states of develop, one day apart, and those of other tags."""
    snapshots = [
        a_snapshot(specs, tag, day(number))
        for tag, of_tag in {"develop": states, **others}.items()
        for number, specs in enumerate(of_tag)
    ]
    return published(folder, *snapshots)
