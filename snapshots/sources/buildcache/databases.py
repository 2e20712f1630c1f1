"""Spack's database of versions 5 to 8 as JSON, which the index of a build cache is: its entries.

Source: the databases that Spack writes. Up to version 7 each spec has its ``compiler``; version 8
has it among the dependencies, or in the annotations of specs that an older Spack made. Edges have
``parameters``, or in older indexes ``type``. The form of version 5 before Spack 0.17, in which the
name stands around each object, is not read.

Only what a Spec needs is decoded, and what many entries share (architecture, parameters, edges)
stays JSON here, to be decoded once for each distinct text.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from snapshots.errors import SourceError
from snapshots.sources.buildcache.decoding import decode_json, refuse_repeated_keys
from snapshots.sources.reports import Report

VERSIONS = ("5", "6", "7", "8")
"""The versions of the database that can be read."""

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


def _check_version(version: str, location: str) -> None:
    if version not in VERSIONS:
        reason = f"{version!r} is not a version that can be read: {', '.join(VERSIONS)}"
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
