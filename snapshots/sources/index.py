"""The index of a build cache, Spack's database of versions 5 to 8 as JSON, to Spec records.

Source: the databases that Spack writes. Only what a Spec needs is decoded, and the parts that many
entries share (architecture, parameters, edges) once for each distinct text.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from snapshots.errors import SourceError
from snapshots.models import Dependency, Spec
from snapshots.sources.reports import Report
from snapshots.spack import COMPILER_FLAGS, canonical_compiler, canonical_variants, is_hash, is_name

VERSIONS = ("5", "6", "7", "8")
"""The versions of the database that can be read."""

_LANGUAGES = ("c", "cxx", "fortran")
_PATCH_DIGITS = 7
_BARE_VALUE = re.compile(r"[A-Za-z0-9,/_.\-\[\]]+")
_VALIDATION = re.compile(r"(?P<reason>.*?)(?: - at `(?:key in )?\$(?P<path>[^`]*)`)?", re.S)
_ABSENT = re.compile(r"Object missing required field `(?P<field>.+)`")


T = TypeVar("T")


class Index(msgspec.Struct, frozen=True):
    """What an index says: the specs in the cache by hash, and every hash that it names.

    The specs know no stacks, sizes or tarballs: those are not in an index.
    """

    specs: dict[str, Spec]
    named: frozenset[str]


class _Named(msgspec.Struct, gc=False):
    name: str


class _Compiler(msgspec.Struct, gc=False):
    name: str
    version: str


class _Annotations(msgspec.Struct, gc=False):
    compiler: str | None = None


class _Arch(msgspec.Struct, gc=False):
    platform: str
    platform_os: str
    target: str | _Named


class _EdgeParameters(msgspec.Struct, gc=False):
    deptypes: list[str]
    virtuals: list[str] = []


class _Edge(msgspec.Struct, gc=False):
    name: str
    hash: str
    parameters: _EdgeParameters | None = None
    type: list[str] | None = None


class _Node(msgspec.Struct, gc=False):
    name: str
    version: str
    arch: Raw
    parameters: Raw = Raw(b"{}")
    dependencies: list[Raw] = []
    namespace: str | None = None
    package_hash: str | None = None
    compiler: _Compiler | None = None
    annotations: _Annotations | None = None
    hash: str | None = None


class _Install(msgspec.Struct, gc=False):
    in_buildcache: bool
    spec: _Node


class _Database(msgspec.Struct):
    version: str
    installs: dict[str, _Install]


class _Document(msgspec.Struct):
    database: _Database


class _OldEdge(msgspec.Struct, gc=False):
    hash: str
    type: list[str]


class _OldNode(msgspec.Struct, gc=False):
    version: str
    arch: Raw
    parameters: Raw = Raw(b"{}")
    dependencies: dict[str, _OldEdge] = {}
    namespace: str | None = None
    compiler: _Compiler | None = None
    hash: str | None = None


class _OldInstall(msgspec.Struct, gc=False):
    in_buildcache: bool
    spec: dict[str, _OldNode]


class _RawDatabase(msgspec.Struct):
    version: str
    installs: dict[str, Raw]


class _RawDocument(msgspec.Struct):
    database: _RawDatabase


class _Probe(msgspec.Struct):
    database: Raw = Raw(b"")


def is_index(data: bytes | bytearray) -> bool:
    """Tell whether a JSON text has the outer form of an index; what cannot be read has not."""
    try:
        return memoryview(msgspec.json.decode(data, type=_Probe).database).nbytes > 0
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def decode(data: bytes | bytearray, location: str, report: Report) -> Index:
    """Decode the JSON text of one index; ``location`` names it in errors.

    Raises SourceError, with the key of what is wrong. An entry that cannot be read goes to
    ``report.bad``, a compiler that the index does not hold to ``report.warn``.
    """
    installs = _installs(data, location, report)
    reader = _Reader(installs, location, report)
    specs: dict[str, Spec] = {}
    for digest, install in installs.items():
        if install.in_buildcache:
            try:
                specs[digest] = reader.spec(digest, install.spec)
            except SourceError as error:
                report.bad(error)
    return Index(specs, frozenset(installs))


def _installs(data: bytes | bytearray, location: str, report: Report) -> Mapping[str, _Install]:
    """Decode the entries all at once; where one of them is bad, each by itself, to name it."""
    try:
        database = msgspec.json.decode(data, type=_Document).database
        _check_version(database.version, location)
        return database.installs
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raw = decode_json(data, _RawDocument, location).database
    _check_version(raw.version, location)
    installs: dict[str, _Install] = {}
    for digest, text in raw.installs.items():
        try:
            installs[digest] = _install(text, location, f"installs.{digest}")
        except SourceError as error:
            report.bad(error)
    return installs


def _install(text: Raw, location: str, key: str) -> _Install:
    try:
        return decode_json(text, _Install, location, key)
    except SourceError:
        old = _old_install(text)
        if old is None:
            raise
        return old


def _old_install(text: Raw) -> _Install | None:
    """Read an entry of version 5 as Spack wrote it before 0.17, the name around each object."""
    try:
        old = msgspec.json.decode(text, type=_OldInstall)
        ((name, node),) = old.spec.items()
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        return None
    edges = [
        Raw(msgspec.json.encode(_Edge(name=other, hash=edge.hash, type=edge.type)))
        for other, edge in node.dependencies.items()
    ]
    return _Install(
        in_buildcache=old.in_buildcache,
        spec=_Node(
            name=name,
            version=node.version,
            arch=node.arch,
            parameters=node.parameters,
            dependencies=edges,
            namespace=node.namespace,
            compiler=node.compiler,
            hash=node.hash,
        ),
    )


def _check_version(version: str, location: str) -> None:
    if version not in VERSIONS:
        reason = f"{version!r} is not a version that can be read: {', '.join(VERSIONS)}"
        raise SourceError(location, reason, key="database.version")


def decode_json(data: bytes | bytearray | Raw, shape: type[T], location: str, key: str = "") -> T:
    """Decode JSON as ``shape``; raise SourceError with the key below ``key`` that is wrong."""
    try:
        return msgspec.json.decode(data, type=shape)
    except msgspec.ValidationError as error:
        match = _VALIDATION.fullmatch(str(error))
        reason, path = match.group("reason", "path") if match else (str(error), "")
        absent = _ABSENT.fullmatch(reason)
        path = f"{key}{path or ''}"
        if absent is None:
            found = path.lstrip(".") or None
            raise SourceError(location, reason[0].lower() + reason[1:], key=found) from None
        path = f"{path}.{absent['field']}".lstrip(".")
        raise SourceError(location, "is missing", key=path) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceError(location, f"is no good JSON: {error}", key=key or None) from None
    except RecursionError:
        raise SourceError(location, "is nested too deeply", key=key or None) from None


def variants(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the variants that a spec's parameters stand for, spelled as Spack writes them.

    A null says nothing, nor does an empty list of flags or values. Patches are cut to seven
    digits. Raises ValueError with the name of a parameter that is none of bool, number, text or
    list of those.
    """
    for name, value in parameters.items():
        if value is None or value == []:
            continue
        if isinstance(value, bool):
            yield f"{'+' if value else '~'}{name}"
            continue
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(item, str | int | float) for item in values):
            raise ValueError(name)
        texts = list(map(str, values))
        if name in COMPILER_FLAGS:
            yield f"{name}={json.dumps(' '.join(texts), ensure_ascii=False)}"
            continue
        if name == "patches":
            texts = [text[:_PATCH_DIGITS] for text in texts]
        yield f"{name}={_quoted(','.join(sorted(set(texts))))}"


def _quoted(value: str) -> str:
    """Quote a value where Spack would: canonical spelling leaves what is quoted as it is."""
    if _BARE_VALUE.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False) if "'" in value else f"'{value}'"


class _Reader:
    """Makes Spec records of the entries of one index, and shares what is equal among them."""

    def __init__(self, installs: Mapping[str, _Install], location: str, report: Report) -> None:
        self._installs = installs
        self._location = location
        self._report = report
        self._arches: dict[bytes, tuple[str, str, str]] = {}
        self._variants: dict[bytes, tuple[str, ...]] = {}
        self._edges: dict[bytes, Dependency] = {}

    def spec(self, digest: str, node: _Node) -> Spec:
        """Return the record of one entry. Raises SourceError."""
        place = f"installs.{digest}"
        if not is_hash(digest):
            raise self._wrong(place, f"{digest!r} is no hash: 32 characters of a-z and 2-7")
        if node.hash not in (None, digest):
            raise self._wrong(f"{place}.spec.hash", f"{node.hash!r} is not the entry's own hash")
        if not is_name(node.name):
            raise self._wrong(f"{place}.spec.name", f"{node.name!r} cannot name a package")
        if not node.version:
            raise self._wrong(f"{place}.spec.version", "is empty")
        platform, operating_system, target = self._arch(node.arch, place)
        dependencies = self._dependencies(node.dependencies, place)
        return Spec(
            hash=digest,
            name=sys.intern(node.name),
            version=sys.intern(node.version),
            compiler=self._compiler(node, dependencies),
            operating_system=operating_system,
            platform=platform,
            target=target,
            variants=self._parameters(node.parameters, place),
            stacks=(),
            namespace=node.namespace and sys.intern(node.namespace),
            package_hash=node.package_hash and sys.intern(node.package_hash),
            dependencies=dependencies,
        )

    def _arch(self, raw: Raw, place: str) -> tuple[str, str, str]:
        text = bytes(raw)
        known = self._arches.get(text)
        if known is None:
            arch = self._typed(text, _Arch, f"{place}.spec.arch")
            target = arch.target if isinstance(arch.target, str) else arch.target.name
            known = self._arches[text] = (arch.platform, arch.platform_os, target)
        return known

    def _parameters(self, raw: Raw, place: str) -> tuple[str, ...]:
        text = bytes(raw)
        known = self._variants.get(text)
        if known is None:
            key = f"{place}.spec.parameters"
            try:
                parameters = self._typed(text, dict[str, Any], key)
                known = self._variants[text] = canonical_variants(variants(parameters))
            except ValueError as error:
                reason = "is none of true, false, a number, a text or a list of those"
                raise self._wrong(f"{key}.{error}", reason) from None
        return known

    def _dependencies(self, raws: Sequence[Raw], place: str) -> tuple[Dependency, ...]:
        edges = self._edges
        found: list[Dependency] = []
        for index, raw in enumerate(raws):
            text = bytes(raw)
            edge = edges.get(text)
            if edge is None:
                edge = edges[text] = self._edge(text, f"{place}.spec.dependencies[{index}]")
            found.append(edge)
        return tuple(sorted(found))

    def _edge(self, text: bytes, key: str) -> Dependency:
        edge = self._typed(text, _Edge, key)
        if not is_hash(edge.hash):
            reason = f"{edge.hash!r} is no hash: 32 characters of a-z and 2-7"
            raise self._wrong(f"{key}.hash", reason)
        types = edge.parameters.deptypes if edge.parameters else edge.type
        if types is None:
            raise self._wrong(f"{key}.parameters", "is missing, and so is type")
        virtuals = edge.parameters.virtuals if edge.parameters else []
        return Dependency(
            name=sys.intern(edge.name),
            hash=edge.hash,
            types=tuple(sorted(set(types))),
            virtuals=tuple(sorted(set(virtuals))),
        )

    def _compiler(self, node: _Node, dependencies: Sequence[Dependency]) -> str | None:
        if node.compiler is not None:
            return canonical_compiler(f"{node.compiler.name}@{node.compiler.version}")
        if node.annotations is not None and node.annotations.compiler is not None:
            return canonical_compiler(node.annotations.compiler)
        for language in _LANGUAGES:
            for edge in dependencies:
                if language in edge.virtuals and "build" in edge.types:
                    return self._compiler_node(edge, node)
        return None

    def _compiler_node(self, edge: Dependency, node: _Node) -> str | None:
        install = self._installs.get(edge.hash)
        if install is None:
            who = f"{self._location}: the compiler of {node.name}@{node.version}"
            self._report.warn(f"{who}, {edge.name}/{edge.hash}, is not in the index")
            return None
        return canonical_compiler(f"{install.spec.name}@{install.spec.version}")

    def _typed(self, text: bytes, shape: type[T], key: str) -> T:
        return decode_json(text, shape, self._location, key)

    def _wrong(self, key: str, reason: str) -> SourceError:
        return SourceError(self._location, reason, key=key)
