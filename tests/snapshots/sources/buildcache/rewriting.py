"""Records back into what they are read from: the indexes of a tag's stacks, and their list."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from snapshots.models import Dependency, Spec
from snapshots.spack.notation import COMPILER_FLAGS
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.buildcache.folders import put, put_layout_2, put_layout_3, text
from tests.snapshots.sources.buildcache.indexes import FLAGS, edge, entry, node

_LANGUAGES = ("c", "cxx", "fortran")
_MULTI_VALUED = ("amdgpu_target", "cuda_arch", "languages", "patches")


def write_list(folder: Path, tag: str, specs: Iterable[Spec], version: str) -> Path:
    """Write a build cache for each stack of the specs, and a list with the one tag.

    They are of layout 3 for version 8 of the database, else of layout 2. Each index has what its
    stack holds, and beside it, as not in the cache, what that depends on: specs of other stacks and
    compilers. Nothing stands in the order that it would be read in.
    """
    draw = random.Random(version)
    known = {spec.hash: spec for spec in specs}
    stacks = sorted({stack for spec in known.values() for stack in spec.stacks})
    draw.shuffle(stacks)
    for stack in stacks:
        held = [spec for spec in known.values() if stack in spec.stacks]
        edges = [needed for spec in held for needed in spec.dependencies or ()]
        borrowed = {needed.hash: known[needed.hash] for needed in edges if needed.hash in known}
        installs = {compiler["hash"]: entry(compiler, False) for compiler in _compilers(held)}
        installs |= {
            digest: entry(_node(it, version, draw), False) for digest, it in borrowed.items()
        }
        installs |= {spec.hash: entry(_node(spec, version, draw)) for spec in held}
        put_layout = put_layout_3 if version == "8" else put_layout_2
        database = {"version": version, "installs": _shuffled(installs, draw)}
        put_layout(folder / tag / stack, text({"database": database}))
    listed = [{"label": stack, "url": f"{tag}/{stack}"} for stack in stacks]
    return put(folder / f"{tag}.json", text({tag: listed}))


def _compilers(specs: Iterable[Spec]) -> Iterator[dict[str, Any]]:
    for compiler in {spec.compiler for spec in specs if spec.compiler}:
        name, version = compiler.split("@")
        yield node(name, hash_of(compiler), version, external={"path": "/usr"})


def _node(spec: Spec, version: str, draw: random.Random) -> dict[str, Any]:
    name, _, release = (spec.compiler or "").partition("@")
    edges = [_edge(needed, version) for needed in spec.dependencies or ()]
    more: dict[str, Any] = {}
    if spec.compiler and version == "8":
        edges.append(edge(name, hash_of(spec.compiler), ["build"], ["c", "cxx"]))
    elif spec.compiler:
        more["compiler"] = {"name": name, "version": release}
    draw.shuffle(edges)
    target: Any = {"name": spec.target, "vendor": "generic"}
    arch = {
        "platform": spec.platform,
        "platform_os": spec.operating_system,
        "target": draw.choice((target, spec.target)),
    }
    parameters = FLAGS | dict(_parameter(variant, draw) for variant in spec.variants)
    return node(
        spec.name,
        spec.hash,
        spec.version,
        arch=arch,
        parameters=_shuffled(parameters, draw),
        dependencies=edges,
        namespace=spec.namespace,
        annotations={"original_specfile_version": 5} if version == "8" else None,
        **more,
    )


def _edge(needed: Dependency, version: str) -> dict[str, Any]:
    if version != "8":
        return {"name": needed.name, "hash": needed.hash, "type": list(needed.types)}
    # The languages would say that the dependency is the compiler, which is written by itself.
    virtuals = [virtual for virtual in needed.virtuals if virtual not in _LANGUAGES]
    return edge(needed.name, needed.hash, list(needed.types), virtuals)


def _parameter(variant: str, draw: random.Random) -> tuple[str, Any]:
    if variant[0] in "+~":
        return variant[1:], variant[0] == "+"
    name, _, value = variant.partition("=")
    if name in COMPILER_FLAGS:
        return name, value.strip('"').split(" ")
    if name not in _MULTI_VALUED:
        return name, value
    values = value.split(",")
    draw.shuffle(values)
    return name, [value.ljust(64, "0") for value in values] if name == "patches" else values


def _shuffled(mapping: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    items = list(mapping.items())
    draw.shuffle(items)
    return dict(items)
