"""Lock files as JSON values, in the forms of Spack 0.18, 0.20 and 1.0."""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from tests.snapshots.factories import a_spec, hash_of
from tests.snapshots.sources.buildcache.indexes import edge, node

HDF5, ZLIB, GCC, GLIBC = (hash_of(name) for name in ("hdf5", "zlib", "gcc", "glibc"))


def environment(
    specs: Iterable[Mapping[str, Any]], roots: Iterable[str], **more: Any
) -> dict[str, Any]:
    """Return the environment part of a lock file."""
    return {
        "roots": [{"hash": digest, "spec": "any"} for digest in roots],
        "concrete_specs": {spec["hash"]: spec for spec in specs},
        **more,
    }


def lock_file(
    specs: Iterable[Mapping[str, Any]], roots: Iterable[str], version: Any = 6, **more: Any
) -> dict[str, Any]:
    """Return a complete lock file."""
    meta = {"file-type": "spack-lockfile", "lockfile-version": version, "specfile-version": 5}
    return {"_meta": meta, "spack": {"version": "1.1.0"}, **environment(specs, roots, **more)}


def small_lock_file(version: int = 6, **more: Any) -> dict[str, Any]:
    """Return a lock file of hdf5 and zlib in a version; its compiler is external.

    Up to version 5 the compiler is not a spec, and up to version 4 edges have no parameters.
    """
    if version == 4:
        edges: list[Any] = [{"name": "zlib", "hash": ZLIB, "type": ["build", "link"]}]
    else:
        edges = [edge("zlib", ZLIB, ["build", "link"], ["zlib-api"])]
    facts: dict[str, Any] = {"compiler": {"name": "gcc", "version": "13.2.0"}, "annotations": None}
    compilers = []
    if version > 5:
        to_gcc = edge("gcc", GCC, ["build"], ["c"])
        facts = {"dependencies": [to_gcc]}
        edges.append(to_gcc)
        compilers = [node("gcc", GCC, "13.2.0", external={"path": "/usr", "module": None})]
    hdf5 = node("hdf5", HDF5, "1.14.5", **facts | {"dependencies": edges})
    return lock_file(
        [hdf5, node("zlib", ZLIB, "1.3.1", **facts), *compilers], [HDF5], version, **more
    )


ARCH = {"platform": "linux", "platform_os": "ubuntu22.04", "target": "x86_64_v3"}
built = partial(a_spec, compiler=None, variants=("+mpi",))
"""Return a spec of a catalog."""


def locked(label: str, name: str = "hdf5", version: str = "1.14.5", **more: Any) -> dict[str, Any]:
    """Return a node of a lock file that describes the same spec as ``built``."""
    facts = {"arch": ARCH, "parameters": {"mpi": True}, "namespace": None, "package_hash": None}
    return node(name, hash_of(label), version, **facts | more)


def as_bytes(value: Any) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value).encode()
