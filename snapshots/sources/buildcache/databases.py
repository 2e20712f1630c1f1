"""Spack's database of versions 5 to 9 as JSON: the index of a build cache, or of an installation.

Source: the databases that Spack writes, and its documentation of the format of specs. Up to version
7 each spec has its ``compiler``; version 8 has it among the dependencies, or in the annotations of
specs that an older Spack made; version 9 has specs of format 6, with what they provide. Edges have
``parameters``, or in older indexes ``type``. The form of version 5 before Spack 0.17, in which the
name stands around each object, is not read.

An entry of a build cache's says whether it is ``in_buildcache``, one of an installation's whether
it is ``installed``, when, and whether it was asked for. What was deprecated is not installed there.

Only what a Spec needs is decoded, and what many entries share (architecture, parameters, edges)
stays JSON here, to be decoded once for each distinct text.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Raw

from snapshots.errors import SourceError
from snapshots.sources.buildcache.decoding import decode_json, refuse_repeated_keys
from snapshots.sources.reports import Report

VERSIONS = ("5", "6", "7", "8", "9")
"""The versions of the database that can be read."""

SPEC_FORMATS = {"8": 5, "9": 6}
"""The spec format of the nodes that Spack writes into a version; older ones may have several."""

NEWEST_FORMAT = 6
"""The newest version of Spack's format of specs that can be read."""

FORMAT_OF_VIRTUALS = 6
"""The first one that says of each spec which virtual packages it provides."""

_NOT_IN_ALL = (
    "namespace",
    "package_hash",
    "dependencies",
    "patches",
    "annotations",
    "provided_virtuals",
    "external",
    "build_spec",
)
"""The facts of a node that some databases leave out."""

_Seconds = Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800)]  # up to the year 9999

Parameters = dict[str, Any]
"""The form of ``Node.parameters``: variants and flags by name."""


class Named(msgspec.Struct, gc=False):
    """An object of which only the name matters."""

    name: str


class Compiler(msgspec.Struct, gc=False):
    """The compiler of a spec, as databases up to version 7 state it."""

    name: str
    version: str


class Annotations(msgspec.Struct, gc=False):
    """What version 8 and later note of a spec: the format that it was first written in.

    Of specs that an older Spack made also the ``compiler``, as gcc@=10.2.1.
    """

    original_specfile_version: int | None = None
    compiler: str | None = None


class BuildSpec(msgspec.Struct, gc=False):
    """The spec that a spliced spec was built as."""

    name: str
    hash: str

    def __str__(self) -> str:
        return f"{self.name}/{self.hash}"


class External(msgspec.Struct, gc=False):
    """Where a spec is that Spack did not install, and the environment modules that load it."""

    path: str | None = None
    module: list[str] | str | None = None

    @property
    def modules(self) -> list[str]:
        """The modules as a list."""
        return [self.module] if isinstance(self.module, str) else self.module or []


class Arch(msgspec.Struct, gc=False):
    """The form of ``Node.arch``."""

    platform: str
    platform_os: str
    target: str | Named


class EdgeParameters(msgspec.Struct, gc=False):
    """The types of a dependency, and the virtual packages that it provides."""

    deptypes: list[str]
    virtuals: list[str] = []


class Edge(msgspec.Struct, gc=False):
    """The form of ``Node.dependencies``: newer edges have ``parameters``, older ones ``type``."""

    name: str
    hash: str
    parameters: EdgeParameters | None = None
    type: list[str] | None = None


class Node(msgspec.Struct, gc=False):
    """A spec. The hash is absent in some databases, where the entry's key is all there is."""

    name: str
    version: str
    arch: Raw
    parameters: Raw = Raw(b"{}")
    dependencies: list[Raw] = []
    namespace: str | None = None
    package_hash: str | None = None
    compiler: Compiler | None = None
    annotations: Annotations | None = None
    patches: list[str] = []
    hash: str | None = None
    provided_virtuals: list[str] | None = None
    external: External | None = None
    build_spec: BuildSpec | None = None


class Install(msgspec.Struct, gc=False):
    """An entry; one that is not held is there because others depend on it.

    ``in_buildcache`` is None in the database of an installation, which has the facts behind it.
    ``installation_time`` is in seconds since 1970. Raises ValueError for an entry of neither.
    """

    spec: Node
    in_buildcache: bool | None = None
    installed: bool | None = None
    explicit: bool | None = None
    installation_time: _Seconds | None = None

    def __post_init__(self) -> None:
        if self.in_buildcache is None and self.installed is None:
            raise ValueError("has neither in_buildcache nor installed")

    @property
    def is_held(self) -> bool:
        """Whether the build cache or the installation has the spec itself."""
        return bool(self.installed if self.in_buildcache is None else self.in_buildcache)

    @property
    def installed_at(self) -> str | None:
        """When it was installed: RFC 3339, in UTC."""
        if self.in_buildcache is not None or self.installation_time is None:
            return None
        moment = datetime.fromtimestamp(int(self.installation_time), UTC)
        return moment.isoformat().replace("+00:00", "Z")


class _Database(msgspec.Struct):
    version: str
    installs: dict[str, Install]


class _Document(msgspec.Struct):
    database: _Database


class _RawDatabase(msgspec.Struct):
    version: str
    installs: dict[str, Raw]


class _RawDocument(msgspec.Struct):
    database: _RawDatabase


class _NodeText(msgspec.Struct):
    spec: Raw


class _NodeTexts(msgspec.Struct):
    version: str
    installs: dict[str, _NodeText]


class _TextsDocument(msgspec.Struct):
    database: _NodeTexts


def node_texts(data: bytes | bytearray) -> tuple[int | None, Mapping[str, Raw]]:
    """Return the spec format of a database, and the JSON text of each node by its hash.

    ``installs`` has read the same. Entries without a node are left out.
    """
    try:
        database = msgspec.json.decode(data, type=_TextsDocument).database
        texts = {digest: entry.spec for digest, entry in database.installs.items()}
        return SPEC_FORMATS.get(database.version), texts
    except msgspec.ValidationError:
        raws = msgspec.json.decode(data, type=_RawDocument).database
    texts = {}
    for digest, raw in raws.installs.items():
        with suppress(msgspec.ValidationError):
            texts[digest] = msgspec.json.decode(raw, type=_NodeText).spec
    return SPEC_FORMATS.get(raws.version), texts


def installs(data: bytes | bytearray, location: str, report: Report) -> Mapping[str, Install]:
    """Return the entries of a database by their hashes; ``location`` names it in errors.

    They are decoded all at once; where one of them is bad, each by itself, to name it. It then
    goes to ``report.bad``. Raises SourceError where the whole is no database, or has a key twice.
    """
    try:
        database = msgspec.json.decode(data, type=_Document).database
        _check_version(database.version, location)
        _check_keys(data, len(database.installs), location)
        return database.installs
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw = decode_json(data, _RawDocument, location).database
    _check_version(raw.version, location)
    _check_keys(data, len(raw.installs), location)
    found: dict[str, Install] = {}
    for digest, text in raw.installs.items():
        try:
            found[digest] = decode_json(text, Install, location, f"installs.{digest}")
        except SourceError as error:
            report.bad(error)
    return found


def joined(newer: Mapping[str, Install], older: Mapping[str, Install]) -> dict[str, Install]:
    """Return the entries of two databases of one build cache, each hash once.

    A cache can have one for each Spack that writes to it, and neither then holds all. Where both
    have an entry, the one that tells more of its spec counts, and else the newer one. It is in the
    cache where either says so.
    """
    entries = dict(newer)
    for digest, install in older.items():
        other = entries.get(digest)
        if other is None:
            entries[digest] = install
            continue
        richer = install if _richness(install.spec) > _richness(other.spec) else other
        in_buildcache = install.is_held or other.is_held
        entries[digest] = Install(in_buildcache=in_buildcache, spec=richer.spec)
    return entries


def _richness(node: Node) -> int:
    """Return how many of the facts that not every database has a node tells."""
    return sum(bool(getattr(node, name)) for name in _NOT_IN_ALL)


def _check_version(version: str, location: str) -> None:
    if version not in VERSIONS:
        reason = f"{version!r} is not a version that can be read: {', '.join(VERSIONS)}"
        reason += "; newer ones take a newer cachelog"
        raise SourceError(location, reason, key="database.version")


def _check_keys(data: bytes | bytearray, num_entries: int, location: str) -> None:
    """Raise SourceError where an entry stands there twice, or has one of its own keys twice.

    msgspec keeps the last one. Each entry has each of its keys once, so that they are counted
    first: what cannot be decided so, as where a key may be written with escapes, is read again.
    """
    is_plain = b"\\u00" not in data
    if not is_plain or any(
        data.count(key) != num_entries for key in (b'"in_buildcache"', b'"spec"')
    ):
        refuse_repeated_keys(data, location)
