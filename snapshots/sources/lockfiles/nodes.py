"""Where the concrete specs stand in each form of document, and which of them are roots.

Sources: Spack's documentation of its lock files, those that Spack 0.18 to 1.3 writes, and what
``spack spec --json`` and ``spack find --json`` print. Lock files up to version 3 have other hashes
than build caches do.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from snapshots.errors import SourceError
from snapshots.escaping import legible, quoted
from snapshots.sources.buildcache.databases import NEWEST_FORMAT, Edge, Node
from snapshots.sources.buildcache.decoding import decode_json

LOCK_FILE_VERSIONS = (4, 5, 6, 7, 8)
"""The versions of a lock file that can be read."""

SPEC_VERSIONS = tuple(range(3, NEWEST_FORMAT + 1))
"""The versions of Spack's format of specs that can be read: those of these lock files."""

MAX_SPECS = 100_000
"""How many concrete specs may be wanted; the largest real environments have some 10,000."""

_MAX_INCLUDES = 16
_LONGEST_TEXT = 100
_SHORT_COMMIT = 10
_HASH_LENGTH = 32


class LockedNode(Node):
    """A spec that somebody wants; what is external or under development is in no cache."""

    dev_path: str | None = None


class LockedSpec(NamedTuple):
    """A node with its hash, and the keys that the hash and the node stand at.

    ``groups`` are those of the environment that it is a root in.
    """

    hash: str
    node: LockedNode
    entry: str
    place: str
    is_root: bool
    groups: tuple[str, ...] = ()


class Writer(msgspec.Struct, frozen=True):
    """The Spack that wrote a lock file: its version, ``git`` or ``release``, and its commit."""

    version: str
    type: str | None = None
    commit: str | None = None

    def __post_init__(self) -> None:
        # Nothing depends on these texts: they may be whatever can be shown.
        for name, text in msgspec.structs.asdict(self).items():
            if text is not None:
                msgspec.structs.force_setattr(self, name, legible(text, _LONGEST_TEXT))

    def __str__(self) -> str:
        """Return it as people read it: Spack 1.3.0.dev0 (git, c7c4448)."""
        more = ", ".join(filter(None, (self.type, self.commit and self.commit[:_SHORT_COMMIT])))
        return f"Spack {self.version} ({more})" if more else f"Spack {self.version}"


class LockedDocument(NamedTuple):
    """The specs of a document, and who wrote it where it tells."""

    specs: Iterator[LockedSpec]
    writer: Writer | None = None


_Hash = Annotated[str, msgspec.Meta(min_length=_HASH_LENGTH)]
"""A key that is none is refused where it is read, and not with all that follow it."""


class _Form(msgspec.Struct):
    """The keys that tell the forms of documents apart; others are passed over."""

    concrete_specs: Raw | UnsetType = UNSET
    meta: Raw | UnsetType = msgspec.field(name="_meta", default=UNSET)
    spec: Raw | UnsetType = UNSET
    database: Raw | UnsetType = UNSET


class _Root(msgspec.Struct, gc=False):
    hash: str
    group: str | None = None


class _Environment(msgspec.Struct):
    roots: list[_Root]
    concrete_specs: dict[_Hash, Raw]
    include_concrete: dict[str, Raw] = {}


class _LockMeta(msgspec.Struct):
    version: Any = msgspec.field(name="lockfile-version")
    spec_version: Any = msgspec.field(name="specfile-version", default=None)


class _Lock(msgspec.Struct):
    meta: _LockMeta = msgspec.field(name="_meta")
    spack: Writer | None = None


class _SpecMeta(msgspec.Struct):
    version: Any


class _Spec(msgspec.Struct):
    nodes: list[Raw]
    meta: _SpecMeta = msgspec.field(name="_meta")


class _Printed(msgspec.Struct):
    spec: _Spec


def locked_document(document: Raw, location: str, prefix: str = "") -> LockedDocument:
    """Return the specs of a document of any form; ``prefix`` stands before the keys in errors.

    Raises SourceError for what is none of the forms, or of a version that cannot be read, now or as
    the specs are read.
    """
    if bytes(memoryview(document)[:1]) == b"[":
        listed = decode_json(document, list[Raw], location, prefix)
        return LockedDocument(_of_list(listed, location, prefix))
    form = decode_json(document, _Form, location, prefix)
    if form.concrete_specs is not UNSET or form.meta is not UNSET:
        return _of_lock_file(document, location, prefix)
    if form.spec is not UNSET:
        return LockedDocument(_of_printed(document, location, prefix))
    reason = "is neither a lock file nor what 'spack spec --json' prints"
    if form.database is not UNSET:
        reason += ", but the index of a build cache; 'cachelog import' reads it"
    raise SourceError(location, reason, key=prefix or None)


def _of_lock_file(document: Raw, location: str, prefix: str) -> LockedDocument:
    lock = decode_json(document, _Lock, location, prefix)
    meta, key = lock.meta, f"{prefix}._meta".lstrip(".")
    if meta.version not in LOCK_FILE_VERSIONS:
        advice = "concretize the environment anew" if meta.version in (1, 2, 3) else ""
        key = f"{key}.lockfile-version"
        raise _wrong_version(location, key, meta.version, LOCK_FILE_VERSIONS, advice)
    if isinstance(meta.spec_version, int) and meta.spec_version > NEWEST_FORMAT:
        key = f"{key}.specfile-version"
        raise _wrong_version(location, key, meta.spec_version, SPEC_VERSIONS)
    return LockedDocument(_of_environment(document, location, prefix, 0), lock.spack)


def _of_environment(document: Raw, location: str, prefix: str, depth: int) -> Iterator[LockedSpec]:
    """Yield the specs of an environment, then those of the environments that it includes."""
    if depth > _MAX_INCLUDES:
        reason = f"includes environments more than {_MAX_INCLUDES} deep"
        raise SourceError(location, reason, key=prefix)
    found = decode_json(document, _Environment, location, prefix)
    start = f"{prefix}." if prefix else ""
    roots = {root.hash: number for number, root in enumerate(found.roots)}
    # Those of an environment that is included are told apart from its own by no name.
    groups = _groups(found.roots) if depth == 0 else {}
    for digest, number in roots.items():
        if digest not in found.concrete_specs:
            reason = f"{quoted(digest)} is not among the concrete specs"
            raise SourceError(location, reason, key=f"{start}roots[{number}].hash")
    for digest, raw in found.concrete_specs.items():
        place = f"{start}concrete_specs.{digest}"
        node = decode_json(raw, LockedNode, location, place)
        yield LockedSpec(digest, node, place, place, digest in roots, groups.get(digest, ()))
    for name, raw in found.include_concrete.items():
        place = f"{start}include_concrete.{quoted(name)}"
        yield from _of_environment(raw, location, place, depth + 1)


def _groups(roots: Sequence[_Root]) -> Mapping[str, tuple[str, ...]]:
    """Return the groups of each root that has any, by its hash."""
    groups: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for root in roots:
        if root.group is not None:
            groups[root.hash][legible(root.group, _LONGEST_TEXT)] = None
    return {digest: tuple(names) for digest, names in groups.items()}


def _of_printed(document: Raw, location: str, prefix: str) -> Iterator[LockedSpec]:
    """Yield the specs that were printed of one; the first of them is the one that was asked for."""
    spec = decode_json(document, _Printed, location, prefix).spec
    start = f"{prefix}." if prefix else ""
    if spec.meta.version not in SPEC_VERSIONS:
        key = f"{start}spec._meta.version"
        raise _wrong_version(location, key, spec.meta.version, SPEC_VERSIONS)
    for number, raw in enumerate(spec.nodes):
        yield _alone(raw, location, f"{start}spec.nodes[{number}]", is_root=number == 0)


def _of_list(raws: list[Raw], location: str, prefix: str) -> Iterator[LockedSpec]:
    """Yield listed specs; the roots are those that no other one depends on.

    An item can be a whole document of its own, too.
    """
    found: list[LockedSpec] = []
    for number, raw in enumerate(raws):
        place = f"{prefix}[{number}]"
        if decode_json(raw, _Form, location, place).spec is not UNSET:
            yield from _of_printed(raw, location, place)
        else:
            found.append(_alone(raw, location, place, is_root=False))
    below = {
        decode_json(edge, Edge, location, f"{it.place}.dependencies").hash
        for it in found
        for edge in it.node.dependencies
    }
    for it in found:
        yield it._replace(is_root=it.hash not in below)


def _alone(raw: Raw, location: str, place: str, *, is_root: bool) -> LockedSpec:
    """Return a node that states its own hash."""
    node = decode_json(raw, LockedNode, location, place)
    if node.hash is None:
        raise SourceError(location, "is missing", key=f"{place}.hash")
    return LockedSpec(node.hash, node, f"{place}.hash", place, is_root)


def _wrong_version(
    location: str, key: str, version: object, known: tuple[int, ...], advice: str = ""
) -> SourceError:
    shown = quoted(str(version))
    reason = f"{shown} is not a version that can be read: {', '.join(map(str, known))}"
    if isinstance(version, int) and version > known[-1]:
        advice = "a newer cachelog may read it"
    return SourceError(location, f"{reason}; {advice}" if advice else reason, key=key)
