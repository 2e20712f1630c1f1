"""A small catalog with a history, and a naive model of the history."""

from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.models import Dependency, Spec
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of

RECIPE = "a" * 52 + "===="


def a_linked_spec(label: str, *needs: str, **facts: object) -> Spec:
    """Return a spec named by its label up to a colon, linked to the specs of other labels."""
    edges = [Dependency(need.partition(":")[0], hash_of(need), ("link",)) for need in needs]
    usual = {"version": "1.0", "dependencies": tuple(sorted(edges))}
    return a_spec(label, **{"name": label.partition(":")[0], **usual, **facts})


def _spec(label: str, version: str, *needs: str, **facts: object) -> Spec:
    usual = {"version": version, "package_hash": RECIPE, "variants": ()}
    return a_linked_spec(label, *needs, **usual, **facts)


ZLIB = _spec("zlib:1", "1.2")
NEWER_ZLIB = _spec("zlib:2", "1.3")
HDF5 = _spec("hdf5:1", "1.14", "zlib:1", "gcc", size=2048)
LARGER_HDF5 = replace(HDF5, size=3072)
NEWER_HDF5 = _spec("hdf5:2", "1.14", "zlib:2", "gcc", size=4096)
CMAKE = _spec("cmake", "3.30", stacks=("tools", "root"))

REVISIONS = (
    ("develop", 1, (ZLIB, HDF5)),
    ("develop", 2, (ZLIB, HDF5, CMAKE)),
    ("develop", 3, (NEWER_ZLIB, NEWER_HDF5)),
    ("develop", 4, (NEWER_ZLIB, NEWER_HDF5, CMAKE)),
    ("develop", 5, (ZLIB, HDF5, CMAKE)),
    ("v0.1", 3, (ZLIB, HDF5)),
    ("v0.2", 4, (ZLIB, HDF5)),
    ("v0.3", 4, (ZLIB, LARGER_HDF5)),
)


class KnownCatalog(NamedTuple):
    """A catalog and the model of its history."""

    catalog: Catalog
    past: HistoryQueries


def known_catalog(folder: Path) -> KnownCatalog:
    """Publish the revisions."""
    catalog = Catalog(str(folder))
    snapshots = [a_snapshot(specs, tag, day(number)) for tag, number, specs in REVISIONS]
    catalog.publish(snapshots)
    contents = {snapshot.content.digest: list(snapshot.content.specs()) for snapshot in snapshots}
    return KnownCatalog(catalog, HistoryQueries(catalog.require_history(), contents))
