"""The entries of an index to Spec records.

The compiler of a spec is what it states (up to version 7), what its annotations state, or the
build dependency that provides a language to it.
"""

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Self

import msgspec
from msgspec import Raw

from snapshots.errors import SourceError
from snapshots.models import Dependency, Spec, UnprovenReason
from snapshots.sources.buildcache import databases, parameters
from snapshots.sources.buildcache.databases import External, Install, Node
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.buildcache.proof import record_proof, unproven_reason
from snapshots.sources.reports import Report
from snapshots.spack.names import (
    Check,
    check_number,
    checked_build_spec,
    checked_checksum,
    checked_compiler,
    checked_items,
    checked_line,
    checked_name,
    checked_variant,
    checked_version,
    checked_virtual,
    checked_word,
    is_hash,
    is_name,
)
from snapshots.spack.spelling import canonical_compiler, canonical_variants
from snapshots.wording import quoted, shortened

_SHORT = 7
_LONGEST_CIRCLE = 400
_LANGUAGES = ("c", "cxx", "fortran")


class IndexSpecs(NamedTuple):
    """What an index says of specs, by hash: of those in the cache, and of others.

    ``outside`` are those that specs in the cache depend on, near or far. No spec knows its stacks.
    ``unproven`` has the reason why a hash could not be computed anew, None where it was found
    right; it is empty where that was not asked.
    ``is_installation`` tells whether it is an installation that has them, and no build cache.
    """

    in_cache: Mapping[str, Spec]
    outside: Mapping[str, Spec]
    unproven: Mapping[str, UnprovenReason | None]
    is_installation: bool = False


def decode(
    data: bytes | bytearray,
    location: str,
    report: Report,
    *,
    older: Iterable[bytes | bytearray] = (),
    proof: bool = True,
) -> IndexSpecs:
    """Return the specs of an index; ``location`` names it in errors.

    ``older`` are indexes of older versions that the same build cache has beside it, newest first:
    they are joined by hash. With ``proof`` the hashes are computed anew, and a spec that has
    another one is bad. Raises SourceError with the key of what is wrong. An entry that cannot be
    read goes to ``report.bad``, a compiler that the index does not hold to ``report.warn``.
    """
    installs: Mapping[str, Install] = {}
    unproven: dict[str, UnprovenReason | None] = {}
    for document in chain([data], older):
        entries = databases.installs(document, location, report)
        if proof:
            entries = _with_right_hashes(document, entries, location, report, unproven)
        installs = databases.joined(installs, entries)

    def place(digest: str) -> Place:
        return Place(location, f"installs.{digest}", f"installs.{digest}.spec")

    return gather(installs, location, report, place, unproven)


class Place(NamedTuple):
    """Where a document has a spec: its location, the key of its hash, and the key of its node."""

    location: str
    entry: str
    node: str


def gather(
    installs: Mapping[str, Install],
    location: str,
    report: Report,
    place: Callable[[str], Place],
    unproven: Mapping[str, UnprovenReason | None],
) -> IndexSpecs:
    """Return the specs of entries by their hashes, which ``place`` finds in what was read.

    An entry that cannot be read, or that depends on itself, goes to ``report.bad``, a compiler that
    is among none of them to ``report.warn``, with the location of them all. ``unproven`` is what
    became of their hashes.
    """
    reader = SpecReader({digest: it.spec for digest, it in installs.items()}, location)
    in_cache: dict[str, Spec] = {}
    outside: dict[str, Spec] = {}

    def read(digest: str, into: dict[str, Spec]) -> None:
        where = place(digest)
        try:
            into[digest] = reader.at(where.location).spec(digest, where.entry, where.node)
        except SourceError as error:
            report.bad(error)

    is_installation = False
    for digest, install in installs.items():
        if install.is_held:
            read(digest, in_cache)
        if install.in_buildcache is None:
            is_installation = True
            if spec := in_cache.get(digest):
                in_cache[digest] = msgspec.structs.replace(
                    spec, explicit=install.explicit, installed_at=install.installed_at
                )
    seen: set[str] = set()
    while pending := reader.ends() - seen:
        seen |= pending
        for digest in sorted(pending):
            if digest in installs and not installs[digest].is_held:
                read(digest, outside)
    for (name, digest), count in reader.absent_compilers.items():
        who = f"the compiler {name}/{digest} of {count:,} specs"
        report.warn(f"{location}: {who} is not in the index, so they are read without one")
    for circle in _circles({**outside, **in_cache}):
        names = " -> ".join(f"{spec.name}/{spec.hash[:_SHORT]}" for spec in (*circle, circle[0]))
        where = place(circle[0].hash)
        reason = f"depends on itself, which no spec can: {shortened(names, _LONGEST_CIRCLE)}"
        report.bad(SourceError(where.location, reason, key=where.node))
        for spec in circle:
            in_cache.pop(spec.hash, None)
            outside.pop(spec.hash, None)
    return IndexSpecs(in_cache, outside, unproven, is_installation)


def _circles(specs: Mapping[str, Spec]) -> Iterator[Sequence[Spec]]:
    """Yield circles of dependencies, the specs of each in order, until without them none is left.

    A hash covers those of the dependencies, so that only what was tampered with has one.
    """
    done: set[str] = set()
    for start in specs:
        path: dict[str, Iterator[Dependency]] = {}
        if start not in done:
            path[start] = iter(specs[start].dependencies or ())
        while path:
            here, edges = next(reversed(path.items()))
            end = next((edge.hash for edge in edges), None)
            if end is None:
                done.add(here)
                path.popitem()
            elif end in path:
                circle: deque[Spec] = deque()
                while end in path:
                    digest, _ = path.popitem()
                    done.add(digest)
                    circle.appendleft(specs[digest])
                yield circle
            elif end in specs and end not in done:
                path[end] = iter(specs[end].dependencies or ())


def _with_right_hashes(
    data: bytes | bytearray,
    entries: Mapping[str, Install],
    location: str,
    report: Report,
    unproven: dict[str, UnprovenReason | None],
) -> Mapping[str, Install]:
    """Return the entries whose hashes are right or cannot be computed; say in ``unproven`` which.

    The others go to ``report.bad``. A hash that one index proves stays proven.
    """
    written_format, texts = databases.node_texts(data)
    right: dict[str, Install] = {}
    for digest, install in entries.items():
        text, key = bytes(texts[digest]), f"installs.{digest}"
        try:
            reason = unproven_reason(text, digest, written_format, location, key)
        except SourceError as error:
            report.bad(error)
            continue
        right[digest] = install
        record_proof(unproven, digest, reason)
    return right


class SpecReader:
    """Makes Spec records of the nodes of one document, and shares what is equal among them.

    ``nodes`` are by their hashes. ``location`` names the document in errors.
    """

    def __init__(self, nodes: Mapping[str, Node], location: str) -> None:
        self.absent_compilers: Counter[tuple[str, str]] = Counter()
        self._nodes = nodes
        self._location = location
        self._arches: dict[bytes, tuple[str, str, str]] = {}
        self._variants: dict[bytes, tuple[str, ...]] = {}
        self._edges: dict[bytes, Dependency] = {}

    def at(self, location: str) -> Self:
        """Name another document in errors from now on: that of the next node."""
        self._location = location
        return self

    def ends(self) -> set[str]:
        """Return the hashes that the specs read so far depend on."""
        return {edge.hash for edge in self._edges.values()}

    def spec(self, digest: str, entry: str, place: str) -> Spec:
        """Return the record of one node, without stacks. Raises SourceError.

        ``entry`` is the key that the hash stands at, ``place`` that of the node.
        """
        node = self._nodes[digest]
        self._check_hash(digest, entry)
        if node.hash not in (None, digest):
            raise self._wrong(
                f"{place}.hash", f"{quoted(node.hash or '')} is not the entry's own hash"
            )
        self._check_name(node.name, f"{place}.name")
        version = self._checked(checked_version, node.version, f"{place}.version")
        platform, operating_system, target = self._arch(node.arch, place)
        dependencies = self._dependencies(node.dependencies, place)
        spec_format = self._format(node, place)
        external_path, external_modules = self._external(node.external, f"{place}.external")
        return Spec(
            hash=digest,
            name=sys.intern(node.name),
            version=version,
            compiler=self._checked_compiler(node, dependencies, place),
            operating_system=operating_system,
            platform=platform,
            target=target,
            variants=self._parameters(node.parameters, place),
            stacks=(),
            namespace=self._checked(checked_word, node.namespace, f"{place}.namespace")
            if node.namespace
            else None,
            package_hash=self._checked(checked_checksum, node.package_hash, f"{place}.package_hash")
            if node.package_hash
            else None,
            dependencies=dependencies,
            patches=self._items(checked_checksum, node.patches, f"{place}.patches"),
            provided_virtuals=self._provided(node, spec_format, place),
            external_path=external_path,
            external_modules=external_modules,
            build_spec=None
            if node.build_spec is None
            else self._checked(checked_build_spec, str(node.build_spec), f"{place}.build_spec"),
            spec_format=spec_format,
        )

    def _format(self, node: Node, place: str) -> int | None:
        """Return the format that a node was first written in, None where that is not told."""
        if node.annotations is None or node.annotations.original_specfile_version is None:
            return None
        found = node.annotations.original_specfile_version
        if not 0 < found <= databases.NEWEST_FORMAT:
            reason = (
                f"{found} is not a format of specs that can be read: 1 to "
                f"{databases.NEWEST_FORMAT}; a newer cachelog may read it"
            )
            raise self._wrong(f"{place}.annotations.original_specfile_version", reason)
        return found

    def _external(
        self, external: External | None, place: str
    ) -> tuple[str | None, tuple[str, ...] | None]:
        """Return the path and the modules of an external node; None for another."""
        if external is None:
            return None, None
        path = external.path and self._checked(checked_line, external.path, f"{place}.path")
        return path, self._items(checked_line, external.modules, f"{place}.module")

    def _provided(self, node: Node, spec_format: int | None, place: str) -> tuple[str, ...] | None:
        """Return the virtuals that a node provides; None where its format does not tell them."""
        virtuals = node.provided_virtuals
        if virtuals is None and (spec_format or 0) < databases.FORMAT_OF_VIRTUALS:
            return None
        key = f"{place}.provided_virtuals"
        return self._items(checked_virtual, sorted(set(virtuals or ())), key)

    def _arch(self, raw: Raw, place: str) -> tuple[str, str, str]:
        text = bytes(raw)
        known = self._arches.get(text)
        if known is None:
            arch = decode_json(text, databases.Arch, self._location, f"{place}.arch")
            target = arch.target if isinstance(arch.target, str) else arch.target.name
            known = self._arches[text] = (
                self._checked(checked_word, arch.platform, f"{place}.arch.platform"),
                self._checked(checked_word, arch.platform_os, f"{place}.arch.platform_os"),
                self._checked(checked_word, target, f"{place}.arch.target"),
            )
        return known

    def _parameters(self, raw: Raw, place: str) -> tuple[str, ...]:
        text = bytes(raw)
        known = self._variants.get(text)
        if known is None:
            key = f"{place}.parameters"
            values = decode_json(text, databases.Parameters, self._location, key)
            self._check_number(len(values), key)
            spelled = [self._variant(name, value, key) for name, value in values.items()]
            variants = canonical_variants(variant for variant in spelled if variant is not None)
            known = self._variants[text] = self._items(checked_variant, variants, key)
        return known

    def _variant(self, name: str, value: object, key: str) -> str | None:
        try:
            return parameters.variant(name, value)
        except TypeError:
            reason = "is none of true, false, a number, a text or a list of those"
            raise self._wrong(f"{key}.{name}", reason) from None

    def _dependencies(self, raws: Sequence[Raw], place: str) -> tuple[Dependency, ...]:
        self._check_number(len(raws), f"{place}.dependencies")
        edges = self._edges
        found: list[Dependency] = []
        for index, raw in enumerate(raws):
            text = bytes(raw)
            edge = edges.get(text)
            if edge is None:
                edge = edges[text] = self._edge(text, f"{place}.dependencies[{index}]")
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
            types=self._items(checked_name, sorted(set(types)), f"{key}.parameters.deptypes"),
            virtuals=self._items(checked_name, sorted(set(virtuals)), f"{key}.parameters.virtuals"),
        )

    def _checked_compiler(
        self, node: Node, dependencies: Sequence[Dependency], place: str
    ) -> str | None:
        compiler = self._compiler(node, dependencies)
        return compiler and self._checked(checked_compiler, compiler, f"{place}.compiler")

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
        node = self._nodes.get(edge.hash)
        if node is None:
            self.absent_compilers[edge.name, edge.hash] += 1
            return None
        compiler = canonical_compiler(f"{node.name}@{node.version}")
        try:
            return compiler and checked_compiler(compiler)
        except ValueError:  # what is wrong is told where its own entry is read
            return None

    def _check_hash(self, text: str, key: str) -> None:
        if not is_hash(text):
            raise self._wrong(key, f"{quoted(text)} is no hash: 32 characters of a-z and 2-7")

    def _check_name(self, text: str, key: str) -> None:
        if not is_name(text):
            raise self._wrong(key, f"{quoted(text)} cannot name a package")

    def _checked(self, check: Check, text: str, key: str) -> str:
        try:
            return check(text)
        except ValueError as error:
            raise self._wrong(key, str(error)) from None

    def _check_number(self, count: int, key: str) -> None:
        try:
            check_number(count)
        except ValueError as error:
            raise self._wrong(key, str(error)) from None

    def _items(self, check: Check, texts: Sequence[str], key: str) -> tuple[str, ...]:
        try:
            return checked_items(texts, check)
        except ValueError as error:
            raise self._wrong(key, str(error)) from None

    def _wrong(self, key: str, reason: str) -> SourceError:
        return SourceError(self._location, reason, key=key)
