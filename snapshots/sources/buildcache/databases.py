"""Spack's database of versions 5 to 8 as JSON, which the index of a build cache is: its entries.

Source: the databases that Spack writes. Up to version 7 each spec has its ``compiler``; version 8
has it among the dependencies, or in the annotations of specs that an older Spack made. Edges have
``parameters``, or in older indexes ``type``. The form of version 5 before Spack 0.17, in which the
name stands around each object, is not read.

Only what a Spec needs is decoded, and what many entries share (architecture, parameters, edges)
stays JSON here, to be decoded once for each distinct text.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from snapshots.errors import SourceError
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.reports import Report

VERSIONS = ("5", "6", "7", "8")
"""The versions of the database that can be read."""

SPEC_FORMATS = {"8": 5}
"""The spec format of the nodes that Spack writes into a version; older ones may have several."""

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
    """What version 8 notes of specs that an older Spack made, with ``compiler`` as gcc@=10.2.1."""

    compiler: str | None = None


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


class Install(msgspec.Struct, gc=False):
    """An entry; one that is not in the cache itself is there because others depend on it."""

    in_buildcache: bool
    spec: Node


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
    goes to ``report.bad``. Raises SourceError where the whole is no database.
    """
    try:
        database = msgspec.json.decode(data, type=_Document).database
        _check_version(database.version, location)
        return database.installs
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw = decode_json(data, _RawDocument, location).database
    _check_version(raw.version, location)
    found: dict[str, Install] = {}
    for digest, text in raw.installs.items():
        try:
            found[digest] = decode_json(text, Install, location, f"installs.{digest}")
        except SourceError as error:
            report.bad(error)
    return found


def _check_version(version: str, location: str) -> None:
    if version not in VERSIONS:
        reason = f"{version!r} is not a version that can be read: {', '.join(VERSIONS)}"
        raise SourceError(location, reason, key="database.version")
