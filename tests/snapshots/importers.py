"""Imports that run in separate processes, to race each other and to be killed."""

from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.errors import CatalogError
from snapshots.models import Spec
from tests.snapshots.factories import a_snapshot, a_spec, day

TAGS = ("develop", "main")
"""The tags that each import publishes at once."""


def specs_of(number: int) -> list[Spec]:
    """Return the specs of a numbered state: ``number`` + 10."""
    return [a_spec(f"{number} {row}", name=f"package-{row % 7}") for row in range(number + 10)]


def publish_state(catalog: Catalog, number: int) -> None:
    """Publish a numbered state under all tags at once."""
    catalog.publish([a_snapshot(specs_of(number), tag, day(number)) for tag in TAGS])


def publish_for_ever(location: str, first: int, started: Connection) -> None:
    """Publish one state after another; send None just before the first."""
    catalog = Catalog(location)
    started.send(None)
    for number in count(first):
        publish_state(catalog, number)


def publish_together(location: str, number: int, barrier: Barrier, result: Connection) -> None:
    """Publish a state at the same time as other processes; send the error, or None."""
    catalog = Catalog(location)
    catalog.refresh(missing_ok=True)
    barrier.wait()
    try:
        publish_state(catalog, number)
    except CatalogError as error:
        result.send(str(error))
    else:
        result.send(None)


def publish_and_merge(location: str, first: int, last: int, barrier: Barrier) -> None:
    """Publish states, and merge the files of the table of revisions every few states."""
    delta.MIN_FILES = 3
    delta.CHECKPOINT_EVERY = 4
    barrier.wait()
    for number in range(first, last):
        publish_state(Catalog(location), number)
