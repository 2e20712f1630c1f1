"""Reader of lock files of environments, and of specs that Spack prints as JSON.

These are ``spack.lock`` of versions 1 to 8, including the concrete environments in them, and
the JSON of ``spack spec --json`` and ``spack find --json``, one document or several concatenated.

Sources: Spack's documentation of its lock files, lock files written by Spack 0.13 to 1.3, and the
output of ``spack spec --json`` and ``spack find --json``. Up to version 3, nodes are below their
names, and hashes are of another kind than those of build caches.
"""

import json
import os
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Raw

from snapshots.contents import Content
from snapshots.errors import SourceError
from snapshots.models import ConcreteSpec, Spec
from snapshots.sources.buildcache import database
from snapshots.sources.file_kinds import HEAD_BYTES, FileKind, is_json, kind_of, text_of
from snapshots.sources.inputs import decode_json, read_regular
from snapshots.texts import legible, quoted

# -- document formats

LOCK_FILE_VERSIONS = (1, 2, 3, 4, 5, 6, 7, 8)
"""The supported versions of lock files."""

_NESTED = (1, 2, 3)
"""The versions whose nodes are below their names."""

SPEC_VERSIONS = tuple(range(3, database.NEWEST_FORMAT + 1))
"""The supported versions of Spack's spec format, those of these lock files."""

MAX_SPECS = 100_000
"""Maximum number of concrete specs; the largest real environments have about 10,000."""

_MAX_VALUES_OF_NODE = 10_000
"""Maximum number of values of a concrete spec, which are decoded at once; real ones: hundreds."""

_LONG_KEY = re.compile(rb'"[^"\\]{32,}"\s*:')
_PIECE = 1 << 19
"""Number of bytes in which keys are counted at once."""

_VALUES_OF_SPEC = 5
"""Number of values for each allowed spec in concatenated documents, each of which is decoded at
once by Python's own decoder, which is slow.
"""

T = TypeVar("T")

_MAX_INCLUDES = 16
_MAX_TEXT_LENGTH = 100
_SHORT_COMMIT = 10
_HASH_LENGTH = 32


class LockedNode(database.NodeRecord):
    """A concrete spec of a document; externals and specs under development are in no cache."""

    dev_path: str | None = None


class LockedSpec(msgspec.Struct, frozen=True):
    """A node with its hash, and the position of both in the document."""

    hash: str
    node: LockedNode
    position: database.NodePosition
    is_root: bool


class Writer(msgspec.Struct, frozen=True):
    """The Spack that wrote a lock file: its version, ``git`` or ``release``, and its commit."""

    version: str
    type: str | None = None
    commit: str | None = None

    def __post_init__(self) -> None:
        # These texts are only displayed, so that any printable text is accepted.
        for name, text in msgspec.structs.asdict(self).items():
            if text is not None:
                msgspec.structs.force_setattr(self, name, legible(text, _MAX_TEXT_LENGTH))

    def __str__(self) -> str:
        """Return the display form: Spack 1.3.0.dev0 (git, c7c4448)."""
        more = ", ".join(filter(None, (self.type, self.commit and self.commit[:_SHORT_COMMIT])))
        return f"Spack {self.version} ({more})" if more else f"Spack {self.version}"


_Hash = Annotated[str, msgspec.Meta(min_length=_HASH_LENGTH)]
"""A hash. An invalid one is rejected on decoding, before all of its dependents are."""


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


class _LockedSpecs(msgspec.Struct):
    """The specs of a file's documents, each hash once; ``location`` is the file, for errors.

    ``groups`` has the roots of each group by name. ``writer`` is that of the first document that
    names one.
    """

    _location: str
    _most: int
    specs: dict[str, LockedSpec] = {}
    groups: dict[str, dict[str, None]] = {}
    writer: Writer | None = None

    def add_document(self, document: Raw, prefix: str) -> None:
        """Add a document of any format; in errors, ``prefix`` precedes its keys.

        Raises SourceError for an unknown format or an unsupported version.
        """
        if bytes(memoryview(document)[:1]) == b"[":
            self._add_list(self._decoded(document, list[Raw], prefix), prefix)
            return
        kind = kind_of(document)
        if kind is FileKind.LOCK_FILE:
            self._add_lock_file(document, prefix)
        elif kind is FileKind.SPEC:
            self._add_printed(document, prefix)
        else:
            self._decoded(document, dict[str, Raw], prefix)  # raises the error of invalid JSON
            reason = "is neither a lock file nor what 'spack spec --json' prints"
            if kind is not None:
                reason += f", but {kind.value}"
            if kind is FileKind.INDEX:
                reason += "; 'cachelog import' reads it"
            raise SourceError(self._location, reason, key=prefix or None)

    def _decoded(self, raw: Raw, shape: type[T], key: str) -> T:
        return decode_json(raw, shape, self._location, key)

    def _add(self, locked: LockedSpec) -> None:
        first = self.specs.setdefault(locked.hash, locked)
        self._require_few(len(self.specs))
        if locked.is_root and not first.is_root:
            self.specs[locked.hash] = msgspec.structs.replace(first, is_root=True)

    def _require_few(self, num_specs: int) -> None:
        """Raise SourceError for too many specs; called before they are decoded."""
        if num_specs > self._most:
            raise SourceError(self._location, f"contains more than {self._most:,} concrete specs")

    def _require_few_values(self, node: Raw, key: str) -> None:
        """Raise SourceError for a node with too many values; called before they are decoded."""
        if bytes(node).count(b",") > _MAX_VALUES_OF_NODE:
            reason = f"contains more than {_MAX_VALUES_OF_NODE:,} values"
            raise SourceError(self._location, reason, key=key)

    def _add_lock_file(self, document: Raw, prefix: str) -> None:
        lock = self._decoded(document, _Lock, prefix)
        meta, key = lock.meta, f"{prefix}._meta".lstrip(".")
        if not database.is_version(meta.version, LOCK_FILE_VERSIONS):
            key = f"{key}.lockfile-version"
            raise _wrong_version(self._location, key, meta.version, LOCK_FILE_VERSIONS)
        if isinstance(meta.spec_version, int) and meta.spec_version > database.NEWEST_FORMAT:
            key = f"{key}.specfile-version"
            raise _wrong_version(self._location, key, meta.spec_version, SPEC_VERSIONS)
        self.writer = self.writer or lock.spack
        self._add_environment(document, prefix, 0, is_nested=meta.version in _NESTED)

    def _add_environment(self, document: Raw, prefix: str, depth: int, *, is_nested: bool) -> None:
        """Add the specs of an environment, then those of the environments that it includes.

        With ``is_nested``, its nodes are below their names.
        """
        if depth > _MAX_INCLUDES:
            reason = f"includes environments more than {_MAX_INCLUDES} deep"
            raise SourceError(self._location, reason, key=prefix)
        environment = self._decoded(document, _Environment, prefix)
        self._require_few(len(environment.concrete_specs))
        start = f"{prefix}." if prefix else ""
        roots = {root.hash: number for number, root in enumerate(environment.roots)}
        for digest, number in roots.items():
            if digest not in environment.concrete_specs:
                reason = f"{quoted(digest)} is not among the concrete specs"
                raise SourceError(self._location, reason, key=f"{start}roots[{number}].hash")
        for digest, raw in environment.concrete_specs.items():
            key = f"{start}concrete_specs.{digest}"
            self._require_few_values(raw, key)
            if is_nested:
                nested = self._decoded(raw, dict[str, Any], key)
                raw = Raw(msgspec.json.encode(database.unnested_node(nested) | {"hash": digest}))
            node = self._decoded(raw, LockedNode, key)
            database.spell(node, bytes(raw), self._location, key)
            self._add(
                LockedSpec(
                    digest, node, database.NodePosition(self._location, key, key), digest in roots
                )
            )
        # The groups of an included environment would be indistinguishable from its own.
        if depth == 0:
            numbers = {digest: number for number, digest in enumerate(environment.concrete_specs)}
            for root in sorted(environment.roots, key=lambda root: numbers[root.hash]):
                if root.group is not None:
                    name = legible(root.group, _MAX_TEXT_LENGTH)
                    self.groups.setdefault(name, {})[root.hash] = None
        for name, raw in environment.include_concrete.items():
            key = f"{start}include_concrete.{quoted(name)}"
            self._add_environment(raw, key, depth + 1, is_nested=is_nested)

    def _add_printed(self, document: Raw, prefix: str) -> None:
        """Add the specs of a printed document, of which the first one is the requested spec."""
        spec = self._decoded(document, database.SpecDocument, prefix).spec
        start = f"{prefix}." if prefix else ""
        if not database.is_version(spec.meta.version, SPEC_VERSIONS):
            key = f"{start}spec._meta.version"
            raise _wrong_version(self._location, key, spec.meta.version, SPEC_VERSIONS)
        self._require_few(len(spec.nodes))
        for number, raw in enumerate(spec.nodes):
            self._add(
                self._node_with_hash(raw, f"{start}spec.nodes[{number}]", is_root=number == 0)
            )

    def _add_list(self, raws: list[Raw], prefix: str) -> None:
        """Add the specs of a list; the roots are those without dependents in the list.

        An item can also be a complete document.
        """
        self._require_few(len(raws))
        listed: list[LockedSpec] = []
        for number, raw in enumerate(raws):
            key = f"{prefix}[{number}]"
            if kind_of(raw) is FileKind.SPEC:
                self._add_printed(raw, key)
            else:
                listed.append(self._node_with_hash(raw, key, is_root=False))
        below = {
            self._decoded(edge, database.EdgeRecord, f"{spec.position.node}.dependencies").hash
            for spec in listed
            for edge in spec.node.dependencies
        }
        for spec in listed:
            self._add(msgspec.structs.replace(spec, is_root=spec.hash not in below))

    def _node_with_hash(self, raw: Raw, key: str, *, is_root: bool) -> LockedSpec:
        """Return a node that states its own hash."""
        self._require_few_values(raw, key)
        node = self._decoded(raw, LockedNode, key)
        database.spell(node, bytes(raw), self._location, key)
        if node.hash is None:
            raise SourceError(self._location, "is missing", key=f"{key}.hash")
        return LockedSpec(
            node.hash, node, database.NodePosition(self._location, f"{key}.hash", key), is_root
        )


def _wrong_version(
    location: str, key: str, version: object, versions: tuple[int, ...]
) -> SourceError:
    shown = quoted(str(version))
    reason = f"{shown} is not a version that can be read: {', '.join(map(str, versions))}"
    if isinstance(version, int) and version > versions[-1]:
        reason += "; a newer cachelog may read it"
    return SourceError(location, reason, key=key)


# -- concatenated documents

MAX_DOCUMENTS = 10_000
"""Maximum number of concatenated documents."""

_WHITE_SPACE = " \t\r\n"


def documents(
    data: bytes | bytearray, location: str, most: int = MAX_SPECS
) -> Iterator[msgspec.Raw]:
    """Yield each JSON document, unparsed and without surrounding white space.

    ``location`` is the file, for errors. A single document is not validated in detail. Raises
    SourceError with the line of invalid JSON, if there are too many documents or none, and if
    several have too many values for ``most`` specs.
    """
    try:
        yield msgspec.json.decode(data.strip(), type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if data.count(b",") > most * _VALUES_OF_SPEC:
            reason = f"is not a single JSON document, and too large for several: {error}"
            raise SourceError(location, reason) from None
        yield from _concatenated(data, location)


def _concatenated(data: bytes | bytearray, location: str) -> Iterator[msgspec.Raw]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8: byte {error.start + 1:,}"
        raise SourceError(location, reason, line=data.count(b"\n", 0, error.start) + 1) from None
    decoder, position, count = json.JSONDecoder(), _after_white_space(text, 0), 0
    while position < len(text):
        try:
            _, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            reason = f"is not valid JSON: {error.msg}"
            raise SourceError(location, reason, line=error.lineno) from None
        except (RecursionError, ValueError):  # ValueError: a number with thousands of digits
            raise SourceError(location, "is nested too deeply, or has too long a number") from None
        count += 1
        if count > MAX_DOCUMENTS:
            raise SourceError(location, f"contains more than {MAX_DOCUMENTS:,} documents")
        yield msgspec.Raw(text[position:end].encode())
        position = _after_white_space(text, end)
    if not count:
        raise SourceError(location, "is empty")


def _after_white_space(text: str, position: int) -> int:
    """Return the index of the next character that is not white space."""
    while position < len(text) and text[position] in _WHITE_SPACE:
        position += 1
    return position


# -- lock files

NAME = "spack.lock"
"""The name of the lock file in the folder of an environment."""

MAX_BYTES = 128 << 20
"""Maximum size of a lock file, in bytes; one of 1,500 specs has about three million."""

_MIN_VALUE_BYTES, _FEW_VALUES = 10, 10_000
"""Minimum average size of a value, in bytes, with names and punctuation; real files have twenty.

Decoding values of single digits takes a hundred times the time and memory of their text.
"""

_DEVELOPMENT = "dev_path="


class OmissionReason(Enum):
    """Why a concrete spec is in no build cache."""

    EXTERNAL = "external"
    DEVELOPMENT = "development"


class OmittedSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A concrete spec that is not looked up in build caches."""

    hash: str
    name: str
    version: str
    why: OmissionReason
    is_root: bool


class RootGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A named group of root specs of an environment, with their hashes."""

    name: str
    roots: tuple[str, ...]


class LockFile(msgspec.Struct, frozen=True, kw_only=True):
    """The concrete specs of a lock file, each hash once, in the order of the file.

    - content: All of them with all of their facts; external specs are outside the content.
    - roots: The hashes of the explicitly requested specs that are not external.
    - specs: Those that build caches can contain.
    - left_out: The others.
    - groups: The groups of the environment's roots.
    - writer: The Spack that wrote the first document that names one.
    """

    content: Content
    roots: tuple[str, ...]
    specs: tuple[ConcreteSpec, ...]
    left_out: tuple[OmittedSpec, ...] = ()
    groups: tuple[RootGroup, ...] = ()
    writer: Writer | None = None


def read(location: str) -> LockFile:
    """Read a file, or the ``spack.lock`` in a folder. Raises SourceError, as ``parse`` does."""
    location = file_at(location)
    return parse(read_regular(location, MAX_BYTES), location)


def file_at(location: str) -> str:
    """Return the path of the lock file in a folder; any other location unchanged."""
    is_folder = os.path.isdir(location)  # noqa: PTH112 - Path.is_dir raises for long names
    return str(Path(location) / NAME) if is_folder else location


def parse(data: bytes, location: str, most: int = MAX_SPECS) -> LockFile:
    """Parse at most so many specs of a lock file; ``location`` is the file, for errors.

    A hash that occurs repeatedly, as in two environments, is returned once; it is a root if it is
    one anywhere. A compiler that the document does not contain is unknown. Raises SourceError with
    the key of the invalid value, and for cyclic dependencies.
    """
    whole = _read_whole(data, location, most)
    reader = database.SpecReader({digest: locked.node for digest, locked in whole.specs.items()})
    read = [
        (locked, reader.spec(digest, locked.position)) for digest, locked in whole.specs.items()
    ]
    for cycle in database.cycles({spec.hash: spec for _, spec in read}):
        raise SourceError(location, database.cycle_reason(cycle), key=cycle[0].hash)
    external = {spec.hash: spec for locked, spec in read if locked.node.external is not None}
    inside = {spec.hash: spec for _, spec in read if spec.hash not in external}
    specs: list[ConcreteSpec] = []
    left_out: list[OmittedSpec] = []
    for locked, spec in read:
        why = _why_left_out(locked.node, spec)
        if why is None:
            facts = {name: getattr(spec, name) for name in _FACTS}
            specs.append(ConcreteSpec(**facts, is_root=locked.is_root))
        else:
            left_out.append(
                OmittedSpec(
                    hash=spec.hash,
                    name=spec.name,
                    version=spec.version,
                    why=why,
                    is_root=locked.is_root,
                )
            )
    return LockFile(
        content=Content.of(inside.values(), external.values()),
        roots=tuple(spec.hash for locked, spec in read if locked.is_root and spec.hash in inside),
        specs=tuple(specs),
        left_out=tuple(left_out),
        groups=tuple(
            RootGroup(name=name, roots=tuple(roots)) for name, roots in whole.groups.items()
        ),
        writer=whole.writer,
    )


def _read_whole(data: bytes | bytearray, location: str, most: int) -> _LockedSpecs:
    if len(data) > MAX_BYTES:
        raise SourceError(location, f"contains more than {MAX_BYTES:,} bytes")
    data = text_of(data, location, MAX_BYTES)
    if not is_json(data[:HEAD_BYTES]) and (kind := kind_of(data)):
        raise SourceError(location, kind.instead_of("a lock file"))
    if data.count(b",") > max(_FEW_VALUES, len(data) // _MIN_VALUE_BYTES):
        raise SourceError(location, f"contains more values than a lock file of {len(data):,} bytes")
    # Hashes of specs are the only keys of this length; the same spec can be in two environments.
    pieces = range(0, len(data), _PIECE)
    if sum(len(_LONG_KEY.findall(data, at, at + _PIECE)) for at in pieces) > 2 * most:
        raise SourceError(location, f"contains more than {most:,} concrete specs")
    whole = _LockedSpecs(location, most)
    for number, document in enumerate(documents(data, location, most)):
        whole.add_document(document, f"document {number + 1}" if number else "")
    return whole


def _why_left_out(node: LockedNode, spec: Spec) -> OmissionReason | None:
    if node.external is not None:
        return OmissionReason.EXTERNAL
    is_developed = any(variant.startswith(_DEVELOPMENT) for variant in spec.variants)
    return OmissionReason.DEVELOPMENT if is_developed or node.dev_path is not None else None


_FACTS = [name for name in ConcreteSpec.__struct_fields__ if name != "is_root"]
