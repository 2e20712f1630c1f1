"""A small catalog with a past of its own, and a walk through all its contents beside it."""

from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.models import Dependency, Spec
from tests.model.histories import Past
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of

RECIPE = "a" * 52 + "===="


def _spec(label: str, name: str, version: str, *needs: str, **facts: object) -> Spec:
    """Return a spec of a label that needs those of others: NAME:LABEL."""
    parts = [it.partition(":") for it in needs]
    dependencies = tuple(Dependency(to, hash_of(at), ("link",)) for to, _, at in parts)
    known = {"package_hash": RECIPE, "variants": (), "dependencies": dependencies}
    return a_spec(label, **{"name": name, "version": version, **known, **facts})


ZLIB = _spec("zlib:1", "zlib", "1.2")
NEWER_ZLIB = _spec("zlib:2", "zlib", "1.3")
HDF5 = _spec("hdf5:1", "hdf5", "1.14", "zlib:zlib:1", "gcc:gcc", size=2048)
LARGER_HDF5 = replace(HDF5, size=3072)
NEWER_HDF5 = _spec("hdf5:2", "hdf5", "1.14", "zlib:zlib:2", "gcc:gcc", size=4096)
CMAKE = _spec("cmake", "cmake", "3.30", stacks=("tools", "root"))

STATES = (
    ("develop", 1, (ZLIB, HDF5)),
    ("develop", 2, (ZLIB, HDF5, CMAKE)),
    ("develop", 3, (NEWER_ZLIB, NEWER_HDF5)),
    ("develop", 4, (NEWER_ZLIB, NEWER_HDF5, CMAKE)),
    ("develop", 5, (ZLIB, HDF5, CMAKE)),
    ("v0.1", 3, (ZLIB, HDF5)),
    ("v0.2", 4, (ZLIB, HDF5)),
    ("v0.3", 4, (ZLIB, LARGER_HDF5)),
)


class Remembered(NamedTuple):
    """A catalog, and the walk through all that it holds."""

    catalog: Catalog
    past: Past


def remembered(folder: Path) -> Remembered:
    """Publish the states."""
    catalog = Catalog(str(folder))
    snapshots = [a_snapshot(specs, tag, day(number)) for tag, number, specs in STATES]
    catalog.publish(snapshots)
    contents = {it.content.digest: list(it.content.specs()) for it in snapshots}
    return Remembered(catalog, Past(catalog.require_history(), contents))
