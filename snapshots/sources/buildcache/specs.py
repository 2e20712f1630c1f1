"""The entries of an index to Spec records.

The compiler of a spec is what it states (up to version 7), what its annotations state, or the
build dependency that provides a language to it.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Raw

from snapshots.errors import SourceError
from snapshots.models import Dependency, Spec
from snapshots.sources.buildcache import databases, parameters
from snapshots.sources.buildcache.databases import Install, Node
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.reports import Report
from snapshots.spack.names import is_hash, is_name
from snapshots.spack.spelling import canonical_compiler, canonical_variants

_LANGUAGES = ("c", "cxx", "fortran")


class IndexSpecs(NamedTuple):
    """What an index says of specs, by hash: of those in the cache, and of others.

    ``outside`` are those that specs in the cache depend on, near or far. No spec knows its stacks.
    """

    in_cache: Mapping[str, Spec]
    outside: Mapping[str, Spec]


def decode(data: bytes | bytearray, location: str, report: Report) -> IndexSpecs:
    """Return the specs of an index; ``location`` names it in errors.

    Raises SourceError with the key of what is wrong. An entry that cannot be read goes to
    ``report.bad``, a compiler that the index does not hold to ``report.warn``.
    """
    installs = databases.installs(data, location, report)
    reader = _Reader(installs, location)
    in_cache: dict[str, Spec] = {}
    outside: dict[str, Spec] = {}

    def read(digest: str, into: dict[str, Spec]) -> None:
        try:
            into[digest] = reader.spec(digest, installs[digest].spec)
        except SourceError as error:
            report.bad(error)

    for digest, install in installs.items():
        if install.in_buildcache:
            read(digest, in_cache)
    seen: set[str] = set()
    while pending := reader.ends() - seen:
        seen |= pending
        for digest in sorted(pending):
            if digest in installs and not installs[digest].in_buildcache:
                read(digest, outside)
    for (name, digest), count in reader.absent_compilers.items():
        who = f"the compiler {name}/{digest} of {count:,} specs"
        report.warn(f"{location}: {who} is not in the index, so they are read without one")
    return IndexSpecs(in_cache, outside)


class _Reader:
    """Makes Spec records of the entries of one index, and shares what is equal among them."""

    def __init__(self, installs: Mapping[str, Install], location: str) -> None:
        self.absent_compilers: Counter[tuple[str, str]] = Counter()
        self._installs = installs
        self._location = location
        self._arches: dict[bytes, tuple[str, str, str]] = {}
        self._variants: dict[bytes, tuple[str, ...]] = {}
        self._edges: dict[bytes, Dependency] = {}

    def ends(self) -> set[str]:
        """Return the hashes that the specs read so far depend on."""
        return {edge.hash for edge in self._edges.values()}

    def spec(self, digest: str, node: Node) -> Spec:
        """Return the record of one entry. Raises SourceError."""
        place = f"installs.{digest}"
        self._check_hash(digest, place)
        if node.hash not in (None, digest):
            raise self._wrong(f"{place}.spec.hash", f"{node.hash!r} is not the entry's own hash")
        self._check_name(node.name, f"{place}.spec.name")
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
            patches=tuple(map(sys.intern, node.patches)),
        )

    def _arch(self, raw: Raw, place: str) -> tuple[str, str, str]:
        text = bytes(raw)
        known = self._arches.get(text)
        if known is None:
            arch = decode_json(text, databases.Arch, self._location, f"{place}.spec.arch")
            target = arch.target if isinstance(arch.target, str) else arch.target.name
            known = self._arches[text] = (arch.platform, arch.platform_os, target)
        return known

    def _parameters(self, raw: Raw, place: str) -> tuple[str, ...]:
        text = bytes(raw)
        known = self._variants.get(text)
        if known is None:
            key = f"{place}.spec.parameters"
            values = decode_json(text, databases.Parameters, self._location, key)
            spelled = [self._variant(name, value, key) for name, value in values.items()]
            known = canonical_variants(variant for variant in spelled if variant is not None)
            self._variants[text] = known
        return known

    def _variant(self, name: str, value: object, key: str) -> str | None:
        try:
            return parameters.variant(name, value)
        except TypeError:
            reason = "is none of true, false, a number, a text or a list of those"
            raise self._wrong(f"{key}.{name}", reason) from None

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
        edge = decode_json(text, databases.Edge, self._location, key)
        self._check_name(edge.name, f"{key}.name")
        self._check_hash(edge.hash, f"{key}.hash")
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

    def _compiler(self, node: Node, dependencies: Sequence[Dependency]) -> str | None:
        if node.compiler is not None:
            return canonical_compiler(f"{node.compiler.name}@{node.compiler.version}")
        if node.annotations is not None and node.annotations.compiler is not None:
            return canonical_compiler(node.annotations.compiler)
        for language in _LANGUAGES:
            for edge in dependencies:
                if language in edge.virtuals and "build" in edge.types:
                    return self._compiler_node(edge)
        return None

    def _compiler_node(self, edge: Dependency) -> str | None:
        install = self._installs.get(edge.hash)
        if install is None:
            self.absent_compilers[edge.name, edge.hash] += 1
            return None
        return canonical_compiler(f"{install.spec.name}@{install.spec.version}")

    def _check_hash(self, text: str, key: str) -> None:
        if not is_hash(text):
            raise self._wrong(key, f"{text!r} is no hash: 32 characters of a-z and 2-7")

    def _check_name(self, text: str, key: str) -> None:
        if not is_name(text):
            raise self._wrong(key, f"{text!r} cannot name a package")

    def _wrong(self, key: str, reason: str) -> SourceError:
        return SourceError(self._location, reason, key=key)
