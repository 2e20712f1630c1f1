"""Imports that run in separate processes, to race each other and to be killed."""

from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

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
