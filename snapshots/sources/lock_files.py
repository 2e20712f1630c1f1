"""Lock files of environments, and specs as Spack prints them, to the specs to look for.

These are ``spack.lock`` of versions 4 to 8, with the concrete environments that they include, and
the JSON of ``spack spec --json`` and ``spack find --json``, one document or several in a row.

Sources: Spack's documentation of its lock files, those that Spack 0.18 to 1.3 writes, and what
``spack spec --json`` and ``spack find --json`` print. Lock files up to version 3 have other hashes
than build caches do.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from snapshots.contents import Content
from snapshots.errors import SourceError
from snapshots.models import ConcreteSpec, Spec
from snapshots.sources.buildcache.database import (
    NEWEST_FORMAT,
    EdgeRecord,
    NodeRecord,
    SpecDocument,
    SpecReader,
    circle_reason,
    circles,
)
from snapshots.sources.inputs import decode_json, read_regular
from snapshots.texts import legible, quoted

# -- the forms of documents

LOCK_FILE_VERSIONS = (4, 5, 6, 7, 8)
"""The versions of a lock file that can be read."""

SPEC_VERSIONS = tuple(range(3, NEWEST_FORMAT + 1))
"""The versions of Spack's format of specs that can be read: those of these lock files."""

MAX_SPECS = 100_000
"""How many concrete specs may be wanted; the largest real environments have some 10,000."""

T = TypeVar("T")

_MAX_INCLUDES = 16
_LONGEST_TEXT = 100
_SHORT_COMMIT = 10
_HASH_LENGTH = 32


class LockedNode(NodeRecord):
    """A spec that somebody wants; what is external or under development is in no cache."""

    dev_path: str | None = None


class LockedSpec(msgspec.Struct, frozen=True):
    """A node with its hash, and the keys that the hash and the node stand at."""

    hash: str
    node: LockedNode
    entry: str
    place: str
    is_root: bool


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


_Hash = Annotated[str, msgspec.Meta(min_length=_HASH_LENGTH)]
"""A key that is none is refused where it is read, and not with all that follow it."""


class Form(msgspec.Struct):
    """The keys that tell the forms of documents apart; others are passed over."""

    concrete_specs: Raw | UnsetType = UNSET
    meta: Raw | UnsetType = msgspec.field(name="_meta", default=UNSET)
    spec: Raw | UnsetType = UNSET
    database: Raw | UnsetType = UNSET

    @property
    def is_lock_file(self) -> bool:
        """Whether the document is a lock file."""
        return self.concrete_specs is not UNSET or self.meta is not UNSET

    @property
    def has_specs(self) -> bool:
        """Whether the document is a lock file, or what was printed of a spec."""
        return self.is_lock_file or self.spec is not UNSET


def form_of(data: bytes, location: str) -> Form:
    """Return the keys of the first document of a file. Raises SourceError for what is not JSON."""
    document = next(documents(data, location))
    if bytes(memoryview(document)[:1]) == b"[":
        return Form(spec=document)
    return decode_json(document, Form, location)


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


class _LockedSpecs:
    """The specs of the documents of a file, each hash once; ``location`` names it in errors.

    ``groups`` are the roots of each group by its name, ``writer`` is who wrote the first document
    that tells it.
    """

    def __init__(self, location: str) -> None:
        self.specs: dict[str, LockedSpec] = {}
        self.groups: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self.writer: Writer | None = None
        self._location = location

    def add_document(self, document: Raw, prefix: str) -> None:
        """Take in a document of any form; ``prefix`` stands before the keys in errors.

        Raises SourceError for what is not one of the forms, or of a version that cannot be read.
        """
        if bytes(memoryview(document)[:1]) == b"[":
            self._add_list(self._decoded(document, list[Raw], prefix), prefix)
            return
        form = self._decoded(document, Form, prefix)
        if form.is_lock_file:
            self._add_lock_file(document, prefix)
        elif form.has_specs:
            self._add_printed(document, prefix)
        else:
            reason = "is neither a lock file nor what 'spack spec --json' prints"
            if form.database is not UNSET:
                reason += ", but the index of a build cache; 'cachelog import' reads it"
            raise SourceError(self._location, reason, key=prefix or None)

    def _decoded(self, raw: Raw, shape: type[T], key: str) -> T:
        return decode_json(raw, shape, self._location, key)

    def _add(self, locked: LockedSpec) -> None:
        first = self.specs.setdefault(locked.hash, locked)
        if len(self.specs) > MAX_SPECS:
            raise SourceError(self._location, f"holds more than {MAX_SPECS:,} concrete specs")
        if locked.is_root and not first.is_root:
            self.specs[locked.hash] = msgspec.structs.replace(first, is_root=True)

    def _add_lock_file(self, document: Raw, prefix: str) -> None:
        lock = self._decoded(document, _Lock, prefix)
        meta, key = lock.meta, f"{prefix}._meta".lstrip(".")
        if meta.version not in LOCK_FILE_VERSIONS:
            advice = "concretize the environment anew" if meta.version in (1, 2, 3) else ""
            key = f"{key}.lockfile-version"
            raise _wrong_version(self._location, key, meta.version, LOCK_FILE_VERSIONS, advice)
        if isinstance(meta.spec_version, int) and meta.spec_version > NEWEST_FORMAT:
            key = f"{key}.specfile-version"
            raise _wrong_version(self._location, key, meta.spec_version, SPEC_VERSIONS)
        self.writer = self.writer or lock.spack
        self._add_environment(document, prefix, 0)

    def _add_environment(self, document: Raw, prefix: str, depth: int) -> None:
        """Take in the specs of an environment, then those of the environments that it includes."""
        if depth > _MAX_INCLUDES:
            reason = f"includes environments more than {_MAX_INCLUDES} deep"
            raise SourceError(self._location, reason, key=prefix)
        environment = self._decoded(document, _Environment, prefix)
        start = f"{prefix}." if prefix else ""
        roots = {root.hash: number for number, root in enumerate(environment.roots)}
        for digest, number in roots.items():
            if digest not in environment.concrete_specs:
                reason = f"{quoted(digest)} is not among the concrete specs"
                raise SourceError(self._location, reason, key=f"{start}roots[{number}].hash")
        for digest, raw in environment.concrete_specs.items():
            place = f"{start}concrete_specs.{digest}"
            node = self._decoded(raw, LockedNode, place)
            self._add(LockedSpec(digest, node, place, place, digest in roots))
        # Those of an environment that is included are told apart from its own by no name.
        places = {digest: number for number, digest in enumerate(environment.concrete_specs)}
        roots_in_order = sorted(environment.roots, key=lambda root: places[root.hash])
        for root in roots_in_order if depth == 0 else ():
            if root.group is not None:
                self.groups[legible(root.group, _LONGEST_TEXT)][root.hash] = None
        for name, raw in environment.include_concrete.items():
            self._add_environment(raw, f"{start}include_concrete.{quoted(name)}", depth + 1)

    def _add_printed(self, document: Raw, prefix: str) -> None:
        """Take in the specs that were printed of one: the first is the one that was asked for."""
        spec = self._decoded(document, SpecDocument, prefix).spec
        start = f"{prefix}." if prefix else ""
        if spec.meta.version not in SPEC_VERSIONS:
            key = f"{start}spec._meta.version"
            raise _wrong_version(self._location, key, spec.meta.version, SPEC_VERSIONS)
        for number, raw in enumerate(spec.nodes):
            self._add(self._alone(raw, f"{start}spec.nodes[{number}]", is_root=number == 0))

    def _add_list(self, raws: list[Raw], prefix: str) -> None:
        """Take in listed specs; the roots are those that no other one depends on.

        An item can be a whole document of its own, too.
        """
        listed: list[LockedSpec] = []
        for number, raw in enumerate(raws):
            place = f"{prefix}[{number}]"
            if self._decoded(raw, Form, place).spec is not UNSET:
                self._add_printed(raw, place)
            else:
                listed.append(self._alone(raw, place, is_root=False))
        below = {
            self._decoded(edge, EdgeRecord, f"{spec.place}.dependencies").hash
            for spec in listed
            for edge in spec.node.dependencies
        }
        for spec in listed:
            self._add(msgspec.structs.replace(spec, is_root=spec.hash not in below))

    def _alone(self, raw: Raw, place: str, *, is_root: bool) -> LockedSpec:
        """Return a node that states its own hash."""
        node = self._decoded(raw, LockedNode, place)
        if node.hash is None:
            raise SourceError(self._location, "is missing", key=f"{place}.hash")
        return LockedSpec(node.hash, node, f"{place}.hash", place, is_root)


def _wrong_version(
    location: str, key: str, version: object, versions: tuple[int, ...], advice: str = ""
) -> SourceError:
    shown = quoted(str(version))
    reason = f"{shown} is not a version that can be read: {', '.join(map(str, versions))}"
    if isinstance(version, int) and version > versions[-1]:
        advice = "a newer cachelog may read it"
    return SourceError(location, f"{reason}; {advice}" if advice else reason, key=key)


# -- documents in a row

MAX_DOCUMENTS = 10_000
"""How many documents may follow one another."""

_WHITE = " \t\r\n"


def documents(data: bytes, location: str) -> Iterator[msgspec.Raw]:
    """Yield each JSON document, unread; ``location`` names the whole in errors.

    No white space is around them. A document that stands alone is not looked into. Raises
    SourceError with the line of what is not JSON, and where there are too many documents or none.
    """
    try:
        yield msgspec.json.decode(data.strip(), type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        yield from _in_a_row(data, location)


def _in_a_row(data: bytes, location: str) -> Iterator[msgspec.Raw]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8: byte {error.start + 1:,}"
        raise SourceError(location, reason, line=data.count(b"\n", 0, error.start) + 1) from None
    decoder, place, count = json.JSONDecoder(), _behind_white(text, 0), 0
    while place < len(text):
        try:
            _, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            reason = f"is not valid JSON: {error.msg}"
            raise SourceError(location, reason, line=error.lineno) from None
        except (RecursionError, ValueError):  # a number of thousands of digits, too
            raise SourceError(location, "is nested too deeply, or has too long a number") from None
        count += 1
        if count > MAX_DOCUMENTS:
            raise SourceError(location, f"holds more than {MAX_DOCUMENTS:,} documents")
        yield msgspec.Raw(text[place:end].encode())
        place = _behind_white(text, end)
    if not count:
        raise SourceError(location, "is empty")


def _behind_white(text: str, place: int) -> int:
    """Return the place of the next character that is not white."""
    while place < len(text) and text[place] in _WHITE:
        place += 1
    return place


# -- lock files

NAME = "spack.lock"
"""What Spack calls the lock file in the folder of an environment."""

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
    location = _file_at(location)
    return parse(read_regular(location, MAX_BYTES), location)


def _file_at(location: str) -> str:
    """Return the lock file in a folder; any other location as it is."""
    is_folder = os.path.isdir(location)  # noqa: PTH112 - that of Path raises for long names
    return str(Path(location) / NAME) if is_folder else location


def parse(data: bytes, location: str) -> LockFile:
    """Read what is wanted; ``location`` names it in errors.

    A hash that appears twice, as in two environments, is wanted once; it is a root where it is
    one anywhere. A compiler that the document does not hold is not told. Raises SourceError with
    the key of what is wrong.
    """
    whole = _read_whole(data, location)
    specs: list[ConcreteSpec] = []
    left_out: list[LeftOut] = []
    for locked, spec in _specs(whole, location):
        why = _why_left_out(locked.node, spec)
        if why is None:
            facts = {name: getattr(spec, name) for name in _FACTS}
            specs.append(ConcreteSpec(**facts, is_root=locked.is_root))
        else:
            left_out.append(
                LeftOut(
                    hash=spec.hash,
                    name=spec.name,
                    version=spec.version,
                    why=why,
                    is_root=locked.is_root,
                )
            )
    return LockFile(
        specs=tuple(specs),
        left_out=tuple(left_out),
        groups=tuple(
            RootGroup(name=name, roots=tuple(roots)) for name, roots in whole.groups.items()
        ),
        writer=whole.writer,
    )


class LockedContent(msgspec.Struct, frozen=True):
    """All that a lock file says of its specs: a content to compare, and the hashes of its roots.

    External specs are outside the content, and none of its roots.
    """

    content: Content
    roots: tuple[str, ...]


def read_content(location: str) -> LockedContent:
    """Read the specs of a file, or of the ``spack.lock`` in a folder, with their dependencies.

    Raises as ``read`` does, and for specs that depend on themselves.
    """
    location = _file_at(location)
    return parse_content(read_regular(location, MAX_BYTES), location)


def parse_content(data: bytes, location: str) -> LockedContent:
    """Read the same from the bytes of a file; ``location`` names it in errors."""
    read = list(_specs(_read_whole(data, location), location))
    for circle in circles({spec.hash: spec for _, spec in read}):
        raise SourceError(location, circle_reason(circle), key=circle[0].hash)
    inside = [(locked, spec) for locked, spec in read if locked.node.external is None]
    external = [spec for locked, spec in read if locked.node.external is not None]
    roots = [spec.hash for locked, spec in inside if locked.is_root]
    return LockedContent(Content.of((spec for _, spec in inside), external), tuple(roots))


def _read_whole(data: bytes, location: str) -> _LockedSpecs:
    if len(data) > MAX_BYTES:
        raise SourceError(location, f"holds more than {MAX_BYTES:,} bytes")
    if data.count(b",") > max(_FEW_VALUES, len(data) // _MIN_VALUE_BYTES):
        raise SourceError(location, f"holds more values than a lock file of {len(data):,} bytes")
    whole = _LockedSpecs(location)
    for number, document in enumerate(documents(data, location)):
        whole.add_document(document, f"document {number + 1}" if number else "")
    return whole


def _specs(whole: _LockedSpecs, location: str) -> Iterator[tuple[LockedSpec, Spec]]:
    """Yield each spec with what it was read from. Raises SourceError."""
    reader = SpecReader({digest: locked.node for digest, locked in whole.specs.items()}, location)
    for digest, locked in whole.specs.items():
        yield locked, reader.spec(digest, locked.entry, locked.place)


def _why_left_out(node: LockedNode, spec: Spec) -> WhyLeftOut | None:
    if node.external is not None:
        return WhyLeftOut.EXTERNAL
    is_developed = any(variant.startswith(_DEVELOPMENT) for variant in spec.variants)
    return WhyLeftOut.DEVELOPMENT if is_developed or node.dev_path is not None else None


_FACTS = [name for name in ConcreteSpec.__struct_fields__ if name != "is_root"]
