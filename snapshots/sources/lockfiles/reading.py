"""Lock files, and specs that Spack prints, to records of what is wanted."""

import os
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import msgspec

from snapshots.errors import SourceError
from snapshots.models import ConcreteSpec, Spec
from snapshots.sources.buildcache.specs import SpecReader
from snapshots.sources.files import read_regular
from snapshots.sources.lockfiles.documents import documents
from snapshots.sources.lockfiles.nodes import (
    MAX_SPECS,
    LockedNode,
    LockedSpec,
    Writer,
    locked_document,
)

MAX_BYTES = 128 << 20
"""How many bytes a lock file may have; one of 1,500 specs has some three million."""

_MIN_VALUE_BYTES, _FEW_VALUES = 10, 10_000
"""How many bytes a value has on average, names and punctuation included: in real files twenty.

Values that are but digits take a hundred times the time and memory of the text that they are in.
"""

_DEVELOPMENT = "dev_path="


class WhyLeftOut(Enum):
    """Why a concrete spec is in no build cache."""

    EXTERNAL = "external"
    DEVELOPMENT = "development"


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A concrete spec that nobody looks for in a build cache."""

    hash: str
    name: str
    version: str
    why: WhyLeftOut
    is_root: bool


class RootGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of the roots of an environment: its name, and the hashes of the roots."""

    name: str
    roots: tuple[str, ...]


class LockFile(msgspec.Struct, frozen=True, kw_only=True):
    """The concrete specs that somebody wants, each hash once, in the order of the file.

    ``groups`` are those that the environment sorts its roots into, ``writer`` is the Spack that
    wrote the first document that tells one.
    """

    specs: tuple[ConcreteSpec, ...]
    left_out: tuple[LeftOut, ...] = ()
    groups: tuple[RootGroup, ...] = ()
    writer: Writer | None = None


def read(location: str) -> LockFile:
    """Read a file, or the ``spack.lock`` in a folder. Raises SourceError, as ``parse`` does."""
    if os.path.isdir(location):  # noqa: PTH112 - that of Path raises for a name that is too long
        location = str(Path(location) / "spack.lock")
    return parse(read_regular(location, MAX_BYTES), location)


def parse(data: bytes, location: str) -> LockFile:
    """Read what is wanted; ``location`` names it in errors.

    A hash that stands there twice, as in two environments, is wanted once; it is a root where it is
    one anywhere. A compiler that the document does not hold is not told. Raises SourceError with
    the key of what is wrong.
    """
    if len(data) > MAX_BYTES:
        raise SourceError(location, f"holds more than {MAX_BYTES:,} bytes")
    if data.count(b",") > max(_FEW_VALUES, len(data) // _MIN_VALUE_BYTES):
        raise SourceError(location, f"holds more values than a lock file of {len(data):,} bytes")
    found: dict[str, LockedSpec] = {}
    groups: defaultdict[str, dict[str, None]] = defaultdict(dict)
    writers: list[Writer] = []
    for number, locked in enumerate(_all_specs(data, location, writers)):
        if number == MAX_SPECS:
            raise SourceError(location, f"holds more than {MAX_SPECS:,} concrete specs")
        known = found.setdefault(locked.hash, locked)
        if locked.is_root and not known.is_root:
            found[locked.hash] = known._replace(is_root=True)
        for name in locked.groups:
            groups[name][locked.hash] = None
    reader = SpecReader({digest: it.node for digest, it in found.items()}, location)
    specs: list[ConcreteSpec] = []
    left_out: list[LeftOut] = []
    for digest, it in found.items():
        spec = reader.spec(digest, it.entry, it.place)
        why = _why_left_out(it.node, spec)
        if why is None:
            specs.append(_wanted(spec, is_root=it.is_root))
        else:
            left_out.append(
                LeftOut(
                    hash=digest, name=spec.name, version=spec.version, why=why, is_root=it.is_root
                )
            )
    return LockFile(
        specs=tuple(specs),
        left_out=tuple(left_out),
        groups=tuple(RootGroup(name=name, roots=tuple(it)) for name, it in groups.items()),
        writer=writers[0] if writers else None,
    )


def _all_specs(data: bytes, location: str, writers: list[Writer]) -> Iterator[LockedSpec]:
    """Yield the specs of all documents; who wrote them is added to ``writers``."""
    for number, document in enumerate(documents(data, location)):
        prefix = f"document {number + 1}" if number else ""
        locked = locked_document(document, location, prefix)
        if locked.writer is not None:
            writers.append(locked.writer)
        yield from locked.specs


def _why_left_out(node: LockedNode, spec: Spec) -> WhyLeftOut | None:
    if node.external is not None:
        return WhyLeftOut.EXTERNAL
    is_developed = any(variant.startswith(_DEVELOPMENT) for variant in spec.variants)
    return WhyLeftOut.DEVELOPMENT if is_developed or node.dev_path is not None else None


def _wanted(spec: Spec, *, is_root: bool) -> ConcreteSpec:
    facts = {name: getattr(spec, name) for name in _FACTS}
    return ConcreteSpec(**facts, is_root=is_root)


_FACTS = [name for name in ConcreteSpec.__struct_fields__ if name != "is_root"]
