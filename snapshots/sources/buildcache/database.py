"""Decoder of Spack's JSON to Spec records: databases, and documents of single specs.

A database of versions 5 to 9 is the index of a build cache, or of an installation. Up to version 7,
each spec has a ``compiler``. In version 8, the compiler is a dependency, or in the annotations of
specs created by an older Spack. Version 9 has specs of format 6, with the virtual packages that
they provide. Edges have ``parameters``, or ``type`` in older indexes. Version 5 nests each node
below its name, and each edge below that of the dependency. An entry of a build cache has
``in_buildcache``; an entry of an installation has ``installed``, the time of installation, and
whether it was explicitly requested. Deprecated specs are not installed.

Without a complete index, each spec is read from its own document, ``{"spec": {"_meta":
{"version"}, "nodes": [...]}}``, as written by ``spack buildcache push``. The first node is the spec
itself; the others are its direct and transitive dependencies. A node has the same form as in an
index.

The compiler of a spec is its ``compiler`` (up to version 7), the compiler in its annotations, or
the build dependency that provides a language to it. Only the fields of a Spec are decoded. Values
that many entries share (architecture, parameters, edges) remain JSON and are decoded once per
distinct text.

Sources: the databases that Spack writes, its documentation of the spec format, and its computation
of DAG hashes since spec format 3.
"""

import base64
import hashlib
import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, permutations, product
from math import factorial, prod
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Raw

from snapshots.errors import SourceError
from snapshots.models import Dependency, Spec, UnprovenReason
from snapshots.sources.buildcache import spelling
from snapshots.sources.inputs import (
    JSON_ERRORS,
    decode_json,
    unreadable_json,
)
from snapshots.sources.reports import Report
from snapshots.spack import names
from snapshots.spack.notation import canonical_compiler, checked_variants, variant_of
from snapshots.spack.versions import version_key
from snapshots.texts import quoted, shortened

# -- databases

VERSIONS = ("5", "6", "7", "8", "9")
"""The supported versions of databases."""

_NESTED = "5"
"""The version of databases whose nodes are below their names."""

SPEC_FORMATS = {"8": 5, "9": 6}
"""The spec format of all nodes in a database version; older versions can contain several."""

NEWEST_FORMAT = 6
"""The newest supported version of Spack's spec format."""

FORMAT_OF_VIRTUALS = 6
"""The first spec format with the virtual packages that each spec provides."""

Value = TypeVar("Value")
Result = TypeVar("Result")

_Seconds = Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800)]  # up to the year 9999

Parameters = dict[str, Any]
"""The type of ``NodeRecord.parameters``: variants and flags by name."""


class Named(msgspec.Struct, gc=False):
    """An object of which only the name is decoded."""

    name: str


class Compiler(msgspec.Struct, gc=False):
    """The compiler of a spec in databases up to version 7."""

    name: str
    version: str


class Annotations(msgspec.Struct, gc=False, omit_defaults=True):
    """The annotations of a spec since version 8: the spec format in which it was first written.

    Specs created by an older Spack also have the ``compiler``, such as gcc@=10.2.1.
    """

    original_specfile_version: int | None = None
    compiler: str | None = None


class BuildSpec(msgspec.Struct, gc=False):
    """The spec as which a spliced spec was built."""

    name: str
    hash: str

    def __str__(self) -> str:
        return f"{self.name}/{self.hash}"


class External(msgspec.Struct, gc=False):
    """A spec that Spack did not install: its path, modules that load it, further attributes."""

    path: str | None = None
    module: list[str] | str | None = None
    extra_attributes: Raw = Raw(b"{}")


class Arch(msgspec.Struct, gc=False):
    """The type of ``NodeRecord.arch``."""

    platform: str
    platform_os: str
    target: str | Named


class EdgeParameters(msgspec.Struct, gc=False):
    """The types of a dependency, and the virtual packages that it provides."""

    deptypes: list[str]
    virtuals: list[str] = []


class EdgeRecord(msgspec.Struct, gc=False, omit_defaults=True):
    """A dependency of a node: newer edges have ``parameters``, older ones ``type``."""

    name: str
    hash: str
    parameters: EdgeParameters | None = None
    type: list[str] | None = None


class NodeRecord(msgspec.Struct, gc=False, omit_defaults=True):
    """A spec. Some databases omit the hash, which is then only in the entry's key.

    The keys are in the order in which Spack writes them, so that a usual node can be told from its
    text: it is encoded to the same one.
    ``parts`` is set from the text of the node; see ``spelling.of_node``.
    """

    name: str
    version: str
    arch: Raw
    compiler: Compiler | None = None
    namespace: str | None = None
    parameters: Raw = Raw(b"{}")
    external: External | None = None
    patches: list[str] = []
    package_hash: str | None = None
    provided_virtuals: list[str] | None = None
    dependencies: list[Raw] = []
    build_spec: BuildSpec | None = None
    annotations: Annotations | None = None
    hash: str | None = None
    parts: spelling.Parts = msgspec.field(default=(), name="")


class Install(msgspec.Struct, gc=False):
    """An entry; those that are not held are included only as dependencies of others.

    ``in_buildcache`` is None in the database of an installation, which has the other fields.
    ``installation_time`` is in seconds since 1970. Raises ValueError for an entry of neither kind.
    """

    spec: NodeRecord
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
        """The time of installation: RFC 3339, in UTC."""
        if self.in_buildcache is not None or self.installation_time is None:
            return None
        moment = datetime.fromtimestamp(int(self.installation_time), UTC)
        return moment.isoformat().replace("+00:00", "Z")


class _Database(msgspec.Struct):
    version: str
    installs: dict[str, Raw]


class _Document(msgspec.Struct):
    database: _Database


class _NodeText(msgspec.Struct):
    spec: Raw


def installs(
    data: bytes | bytearray,
    location: str,
    report: Report,
    unproven: dict[str, UnprovenReason | None] | None = None,
) -> dict[str, Install]:
    """Return the entries of a database by hash; ``location`` names the database in errors.

    With ``unproven``, hashes are recomputed, and the results are added to it. A bad entry, and one
    with another hash, is passed to ``report.bad``. Raises SourceError if the document is not a
    database.
    """
    database = decode_json(data, _Document, location).database
    if database.version not in VERSIONS:
        is_older = version_key(database.version) < version_key(VERSIONS[0])
        refusal = f"{database.version!r} is not a version that can be read: {', '.join(VERSIONS)}"
        refusal += "; older ones are not read" if is_older else "; newer ones need a newer cachelog"
        raise SourceError(location, refusal, key="database.version")
    written_format = SPEC_FORMATS.get(database.version)
    entries: dict[str, Install] = {}
    for digest, raw in database.installs.items():
        key = f"installs.{digest}"
        try:
            raw = _unnested(raw, location, key) if database.version == _NESTED else raw
            install = decode_json(raw, Install, location, key)
            text = _spelled_node(install.spec, raw, location, f"{key}.spec")
            if unproven is not None:
                reason = unproven_reason(text, digest, written_format, location, key)
                record_proof(unproven, digest, reason)
        except SourceError as error:
            report.bad(error)
        else:
            entries[digest] = install
    return entries


_encoded = msgspec.json.Encoder().encode


def _spelled_node(node: NodeRecord, raw: Raw, location: str, key: str) -> bytes:
    """Set the parts of a node, and return its text in the text of its entry.

    Spack writes the node first. Raises the errors of ``spell``.
    """
    node.parts = ()
    usual = _encoded(node)
    if node.external is None and bytes(raw).startswith(b'{"spec":%b,' % usual):
        return usual
    text = bytes(msgspec.json.decode(raw, type=_NodeText).spec)
    spell(node, text, location, key)
    return text


def spell(node: NodeRecord, text: bytes, location: str, key: str) -> None:
    """Set the parts of a node from its text, of which ``location`` and ``key`` are the position.

    Raises SourceError if a part that is not decoded otherwise is no JSON.
    """
    node.parts = ()
    if node.external is None and _encoded(node) == text:
        return
    try:
        node.parts = spelling.of_node(text)
    except JSON_ERRORS as error:
        raise unreadable_json(error, location, key) from None


def _unnested(raw: Raw, location: str, key: str) -> Raw:
    """Return an entry of version 5 in the form of later ones; one of another form unchanged.

    Raises SourceError for invalid JSON.
    """
    entry = decode_json(raw, dict[str, Any], location, key)
    nested = entry.get("spec")
    if isinstance(nested, dict) and "name" not in nested:
        return Raw(msgspec.json.encode({**entry, "spec": unnested_node(nested)}))
    return raw


def unnested_node(nested: dict[str, Any]) -> dict[str, Any]:
    """Return a node ``{NAME: {...}}``, as Spack wrote it up to 0.16, in the form of later ones.

    Its edges are ``{NAME: {"hash", "type"}}``; some lock files name another kind of hash. A node of
    another form is returned unchanged, for the decoder to refuse.
    """
    match [*nested.items()]:
        case [(str(name), dict(node))]:
            unnested = {"name": name, **node}
            edges = node.get("dependencies")
            if isinstance(edges, dict) and all(isinstance(edge, dict) for edge in edges.values()):
                unnested["dependencies"] = [
                    {"name": end, **_hash_of_edge(edge), **edge} for end, edge in edges.items()
                ]
            return unnested
    return nested


def _hash_of_edge(edge: dict[str, Any]) -> dict[str, Any]:
    return next(({"hash": edge[kind]} for kind in ("build_hash", "full_hash") if kind in edge), {})


def joined(newer: Mapping[str, Install], older: Mapping[str, Install]) -> dict[str, Install]:
    """Return the entries of two databases of one build cache, each hash once.

    A cache can have one database per version of Spack that writes to it, none of them complete. If
    both have an entry, the one with more facts of its spec is used, or else the newer one. It is in
    the cache if either says so.
    """
    # Facts of nodes are not combined one by one, as MergedIndexes does with those of decoded specs:
    # each version of databases represents them differently, for example compilers.
    entries = dict(newer)
    for digest, install in older.items():
        other = entries.get(digest)
        if other is None:
            entries[digest] = install
            continue
        richer = install if _richness(install.spec) > _richness(other.spec) else other
        is_held = install.is_held or other.is_held
        entries[digest] = msgspec.structs.replace(richer, in_buildcache=is_held)
    return entries


_COMMON_FACTS = frozenset({"name", "version", "arch", "parameters", "compiler", "hash", "parts"})
"""The facts of a node in all versions of databases, though possibly under other names."""


def _richness(node: NodeRecord) -> int:
    """Return the number of facts of a node that not every version of database has."""
    facts = msgspec.structs.asdict(node)
    return sum(bool(facts[name]) for name in facts.keys() - _COMMON_FACTS)


# -- proof of hashes


def dag_hash(text: bytes) -> str:
    """Return the hash of a node, given its JSON text as Spack serializes it for hashing."""
    digest = hashlib.sha1(text, usedforsecurity=False).digest()
    return base64.b32encode(digest).decode().lower()


def record_proof(
    unproven: dict[str, UnprovenReason | None], digest: str, reason: UnprovenReason | None
) -> None:
    """Record a result of ``unproven_reason`` for a hash; a proven one remains proven."""
    unproven[digest] = reason and unproven.get(digest, reason)


def unproven_reason(
    text: bytes, digest: str, written_format: int | None, location: str, key: str
) -> UnprovenReason | None:
    """Return None if a node hashes to ``digest``, or the reason why this cannot be verified.

    ``text`` is the node as JSON that has been decoded before; ``location`` and ``key`` are its
    position. ``written_format`` is the spec format of the document, None if it has none.

    A spec converted by a newer Spack keeps the hash of the older text, a spliced spec keeps a part
    of another hash, the hash of an external covers details that an index omits, and Spack writes
    some parts of a node anew when it has read it. Raises SourceError if none of these applies and
    the hash is different.
    """
    end = b',"hash":"%s"}' % digest.encode()
    if text.endswith(end) and dag_hash(text[: -len(end)] + b"}") == digest:
        return None
    try:
        node = json.loads(text)
    except (ValueError, RecursionError) as error:  # in a key that was not decoded before
        raise SourceError(location, f"is not valid JSON: {error}", key=key) from None
    node.pop("hash", None)
    computed = _hash_of(node)
    if computed == digest:
        return None
    if node.get("build_spec") is not None:
        return UnprovenReason.SPLICED
    if node.get("external") is not None:
        return UnprovenReason.EXTERNAL
    original = (node.get("annotations") or {}).get("original_specfile_version")
    if written_format is None or not isinstance(original, int) or original > NEWEST_FORMAT:
        return UnprovenReason.FORMAT_UNKNOWN  # the reader of the node rejects a newer format
    if original < written_format:
        return UnprovenReason.CONVERTED
    if _may_be_rewritten(node, digest):
        return UnprovenReason.REWRITTEN
    reason = f"its content has another hash, {computed}: it is damaged or forged"
    raise SourceError(location, f"{reason}; --skip-bad leaves it out", key=key)


def _hash_of(node: Mapping[str, Any]) -> str:
    return dag_hash(json.dumps(node, separators=(",", ":")).encode())


_MANY_VALUES, _MAX_ORDERS = 7, 1_000
"""From this number of values on, and above this number of orders, not all orders are tried."""


def _may_be_rewritten(node: dict[str, Any], digest: str) -> bool:
    """Return whether a node may have had the hash before Spack read it and wrote it again.

    Of a target that is not generic, Spack reads only the name, and writes the description of its
    own archspec, or the name alone if that does not have it. It sorts flags and the values of
    variants, of which all orders are tried if they are few.
    """
    arch, parameters = node.get("arch"), node.get("parameters")
    if isinstance(arch, dict) and not _is_generic(arch.get("target")):
        return True
    if not isinstance(parameters, dict):
        return False
    lists = {
        name: values
        for name, values in parameters.items()
        if isinstance(values, list) and len(values) > 1
    }
    if prod(factorial(min(len(values), _MANY_VALUES)) for values in lists.values()) > _MAX_ORDERS:
        return True
    for orders in product(*map(permutations, lists.values())):
        node["parameters"] = parameters | dict(zip(lists, orders, strict=True))
        if _hash_of(node) == digest:
            return True
    return False


def _is_generic(target: object) -> bool:
    """Return whether Spack always writes a target as its name, such as x86_64_v3."""
    from archspec.cpu import TARGETS  # imported late, as few nodes have another hash

    return isinstance(target, str) and target in TARGETS and TARGETS[target].vendor == "generic"


def contradiction(spec: Spec, other: Spec, location: str, key: str) -> SourceError | None:
    """Return the error if records of one hash differ in facts that Spack does not rewrite.

    ``location`` and ``key`` are the position of the other record; None if they agree.
    """
    facts = ((fact, getattr(spec, fact), getattr(other, fact)) for fact in _NOT_REWRITTEN)
    edges = "dependencies", _ends_of(spec), _ends_of(other)
    for name, before, now in (*facts, edges):
        if before != now:
            reason = f"its {name} contradicts another record of this hash: it is damaged or forged"
            return SourceError(location, f"{reason}; --skip-bad leaves it out", key=key)
    return None


_NOT_REWRITTEN = ("name", "version", "variants")
"""The facts, beside the dependencies, that Spack does not change when it writes a spec again."""


def _ends_of(spec: Spec) -> set[tuple[str, str]]:
    return {(edge.name, edge.hash) for edge in spec.dependencies or ()}


# -- entries to records

_SHORT = 7
_MAX_CYCLE_LENGTH = 400
_LANGUAGES = ("c", "cxx", "fortran")


class IndexSpecs(msgspec.Struct, frozen=True):
    """The specs of an index by hash: those in the cache, and others.

    ``outside`` are direct and transitive dependencies of specs in the cache. Specs have no stacks.
    ``unproven`` has the reason why a hash could not be verified, None if it is correct; it is empty
    if hashes were not recomputed. ``is_installation`` is true for an installation, and false for a
    build cache.
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

    ``older`` are the build cache's other indexes, of older versions, newest first: they are merged
    by hash. With ``proof``, hashes are recomputed, and a spec with another hash is bad. Raises
    SourceError with the key of the invalid value. An unreadable entry is passed to ``report.bad``,
    a compiler that the index does not contain to ``report.warn``.
    """

    def position_of(digest: str) -> NodePosition:
        return NodePosition(location, f"installs.{digest}", f"installs.{digest}.spec")

    entries: Mapping[str, Install] = {}
    unproven: dict[str, UnprovenReason | None] = {}
    for document in chain([data], older):
        reasons: dict[str, UnprovenReason | None] = {}
        own = installs(document, location, report, reasons if proof else None)
        for digest in own.keys() & entries.keys():
            if UnprovenReason.REWRITTEN in (reasons.get(digest), unproven.get(digest)):
                position = position_of(digest)
                first, other = (
                    SpecReader({digest: install.spec}).spec(digest, position)
                    for install in (entries[digest], own[digest])
                )
                if error := contradiction(first, other, location, position.entry):
                    report.bad(error)
                    del own[digest]
        for digest in reasons.keys() & own.keys():
            record_proof(unproven, digest, reasons[digest])
        entries = joined(entries, own)

    return gather(entries, location, report, position_of, unproven)


class NodePosition(msgspec.Struct, frozen=True):
    """The position of a spec: a document's location, and the keys of its hash and its node."""

    location: str
    entry: str
    node: str


def gather(
    installs: Mapping[str, Install],
    location: str,
    report: Report,
    position_of: Callable[[str], NodePosition],
    unproven: Mapping[str, UnprovenReason | None],
) -> IndexSpecs:
    """Return the specs of entries by hash; ``position_of`` returns the position of a hash.

    An entry that is unreadable or depends on itself is passed to ``report.bad``. A compiler that is
    not among the entries is passed to ``report.warn``, with ``location``. ``unproven`` is the
    result of verifying the hashes.
    """
    reader = SpecReader({digest: install.spec for digest, install in installs.items()})
    in_cache: dict[str, Spec] = {}
    outside: dict[str, Spec] = {}

    def read(digest: str, into: dict[str, Spec]) -> None:
        try:
            into[digest] = reader.spec(digest, position_of(digest))
        except SourceError as error:
            report.bad(error)

    for digest, install in installs.items():
        if install.is_held:
            read(digest, in_cache)
    of_installation = {digest for digest in installs if installs[digest].in_buildcache is None}
    for digest in of_installation & in_cache.keys():
        install = installs[digest]
        in_cache[digest] = msgspec.structs.replace(
            in_cache[digest], explicit=install.explicit, installed_at=install.installed_at
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
    for cycle in cycles({**outside, **in_cache}):
        where = position_of(cycle[0].hash)
        report.bad(SourceError(where.location, cycle_reason(cycle), key=where.node))
        for spec in cycle:
            in_cache.pop(spec.hash, None)
            outside.pop(spec.hash, None)
    return IndexSpecs(in_cache, outside, unproven, is_installation=bool(of_installation))


def cycle_reason(cycle: Sequence[Spec]) -> str:
    """Return the reason for rejecting specs that depend on themselves."""
    path = " -> ".join(f"{spec.name}/{spec.hash[:_SHORT]}" for spec in (*cycle, cycle[0]))
    return f"depends on itself, which no spec can: {shortened(path, _MAX_CYCLE_LENGTH)}"


def cycles(specs: Mapping[str, Spec]) -> Iterator[Sequence[Spec]]:
    """Yield dependency cycles, the specs of each in order, until no other cycle is left.

    A hash covers those of the dependencies, so that cycles exist only in manipulated data.
    """
    done: set[str] = set()
    for start in specs:
        path: dict[str, Iterator[str]] = {}
        if start not in done:
            path[start] = (edge.hash for edge in specs[start].dependencies or ())
        while path:
            current, edges = next(reversed(path.items()))
            end = next(edges, None)
            if end is None:
                done.add(current)
                path.popitem()
            elif end in path:
                cycle: deque[Spec] = deque()
                while end in path:
                    digest, _ = path.popitem()
                    done.add(digest)
                    cycle.appendleft(specs[digest])
                yield cycle
            elif end in specs and end not in done:
                path[end] = (edge.hash for edge in specs[end].dependencies or ())


class SpecReader:
    """Creates the Spec records of nodes, sharing equal values among them.

    ``nodes`` are by hash.
    """

    def __init__(self, nodes: Mapping[str, NodeRecord]) -> None:
        self.absent_compilers: Counter[tuple[str, str]] = Counter()
        self._nodes = nodes
        self._position = NodePosition("", "", "")  # of the last node, for errors
        self._arches: dict[bytes, tuple[tuple[str, str, str], spelling.Parts]] = {}
        self._variants: dict[bytes, tuple[tuple[str, ...], spelling.Parts]] = {}
        self._edges: dict[bytes, Dependency] = {}
        self._unusual_edges: dict[bytes, spelling.Parts] = {}
        self._spellings: dict[spelling.Parts, spelling.Parts] = {(): ()}

    def ends(self) -> set[str]:
        """Return the hashes of the dependencies of all specs read so far."""
        return {edge.hash for edge in self._edges.values()}

    def spec(self, digest: str, position: NodePosition) -> Spec:
        """Return the record of the node at a position, without stacks. Raises SourceError."""
        node, self._position = self._nodes[digest], position
        try:
            names.checked_hash(digest)
        except ValueError as error:
            raise SourceError(position.location, str(error), key=position.entry) from None
        if node.hash not in (None, digest):
            raise self._wrong(".hash", f"{quoted(node.hash or '')} is not the entry's own hash")
        self._checked(".name", names.checked_name, node.name)
        version = self._checked(".version", names.checked_version, node.version)
        (platform, operating_system, target), of_arch = self._arch(node.arch)
        variants, of_variants = self._parameters(node.parameters)
        dependencies, of_edges = self._dependencies(node.dependencies)
        parts = node.parts + of_arch + of_variants + of_edges
        spec_format = self._format(node)
        external_path, external_modules, external_attributes = self._external(node.external)
        built_as = None if node.build_spec is None else str(node.build_spec)
        return Spec(
            hash=digest,
            name=sys.intern(node.name),
            version=version,
            compiler=self._optional(
                ".compiler", names.checked_compiler, self._compiler(node, dependencies)
            ),
            operating_system=operating_system,
            platform=platform,
            target=target,
            variants=variants,
            stacks=(),
            namespace=self._optional(".namespace", names.checked_word, node.namespace),
            package_hash=self._optional(".package_hash", names.checked_checksum, node.package_hash),
            dependencies=dependencies,
            patches=self._items(".patches", names.checked_checksum, node.patches),
            provided_virtuals=self._provided(node, spec_format),
            external_path=external_path,
            external_modules=external_modules,
            build_spec=self._optional(".build_spec", names.checked_build_spec, built_as),
            spec_format=spec_format,
            external_attributes=external_attributes,
            spelling=self._spellings.setdefault(parts, parts),
        )

    def _format(self, node: NodeRecord) -> int | None:
        """Return the format in which a node was first written, None if it is not recorded."""
        if node.annotations is None or node.annotations.original_specfile_version is None:
            return None
        spec_format = node.annotations.original_specfile_version
        if not 0 < spec_format <= NEWEST_FORMAT:
            reason = (
                f"{spec_format} is not a format of specs that can be read: 1 to "
                f"{NEWEST_FORMAT}; a newer cachelog may read it"
            )
            raise self._wrong(".annotations.original_specfile_version", reason)
        return spec_format

    def _external(
        self, external: External | None
    ) -> tuple[str | None, tuple[str, ...] | None, tuple[str, ...] | None]:
        """Return the path, modules and attributes of an external node; None for any other."""
        if external is None:
            return None, None, None
        path = external.path and self._checked(".external.path", names.checked_line, external.path)
        modules = external.module or []
        modules = [modules] if isinstance(modules, str) else modules
        key, attributes = ".external.extra_attributes", bytes(external.extra_attributes)
        return (
            path,
            self._items(".external.module", names.checked_line, modules),
            self._items(
                key,
                str,
                sorted(self._spelled(key, spelling.leaves, attributes))[: names.ITEMS_MAX],
            )
            or None,
        )

    def _provided(self, node: NodeRecord, spec_format: int | None) -> tuple[str, ...] | None:
        """Return the virtuals that a node provides; None if its format does not record them."""
        virtuals = node.provided_virtuals
        if virtuals is None and (spec_format or 0) < FORMAT_OF_VIRTUALS:
            return None
        return self._items(".provided_virtuals", names.checked_virtual, sorted(set(virtuals or ())))

    def _arch(self, raw: Raw) -> tuple[tuple[str, str, str], spelling.Parts]:
        text = bytes(raw)
        facts = self._arches.get(text)
        if facts is None:
            arch = self._decoded(".arch", Arch, text)
            target = arch.target if isinstance(arch.target, str) else arch.target.name
            names_of_arch = (
                self._checked(".arch.platform", names.checked_word, arch.platform),
                self._checked(".arch.platform_os", names.checked_word, arch.platform_os),
                self._checked(".arch.target", names.checked_word, target),
            )
            facts = self._arches[text] = (
                names_of_arch,
                self._spelled(".arch", spelling.of_arch, text),
            )
        return facts

    def _parameters(self, raw: Raw) -> tuple[tuple[str, ...], spelling.Parts]:
        text = bytes(raw)
        variants = self._variants.get(text)
        if variants is None:
            key = ".parameters"
            values = self._decoded(key, Parameters, text)
            self._checked(key, names.check_number, len(values))
            stated = [*self._stated(key, values)]
            checked = self._checked(key, checked_variants, stated)
            variants = self._variants[text] = checked, spelling.of_parameters(values)
        return variants

    def _stated(self, key: str, values: Parameters) -> Iterator[str]:
        """Yield the variants and flags that parameters state."""
        for name, value in values.items():
            try:
                variant = variant_of(name, value)
            except ValueError as error:
                raise self._wrong(f"{key}.{name}", str(error)) from None
            if variant is not None:
                yield variant

    def _dependencies(self, raws: Sequence[Raw]) -> tuple[tuple[Dependency, ...], spelling.Parts]:
        self._checked(".dependencies", names.check_number, len(raws))
        edges = self._edges
        texts = [bytes(raw) for raw in raws]
        dependencies: list[Dependency] = []
        for index, text in enumerate(texts):
            edge = edges.get(text)
            if edge is None:
                edge = edges[text] = self._edge(text, f".dependencies[{index}]")
            dependencies.append(edge)
        in_order = sorted(dependencies)
        parts: spelling.Parts = ()
        if self._unusual_edges:
            parts = (*chain.from_iterable(self._unusual_edges.get(text, ()) for text in texts),)
        if in_order != dependencies:
            parts += spelling.of_order([edge.name for edge in dependencies])
        return tuple(in_order), parts

    def _edge(self, text: bytes, key: str) -> Dependency:
        edge = self._decoded(key, EdgeRecord, text)
        self._checked(f"{key}.name", names.checked_name, edge.name)
        self._checked(f"{key}.hash", names.checked_hash, edge.hash)
        types = edge.parameters.deptypes if edge.parameters else edge.type
        if types is None:
            raise self._wrong(f"{key}.parameters", "is missing, and so is type")
        virtuals = edge.parameters.virtuals if edge.parameters else []
        dependency = Dependency(
            name=sys.intern(edge.name),
            hash=edge.hash,
            types=self._items(f"{key}.parameters.deptypes", names.checked_name, sorted(set(types))),
            virtuals=self._items(
                f"{key}.parameters.virtuals", names.checked_name, sorted(set(virtuals))
            ),
        )
        is_in_order = dependency.types == (*types,) and dependency.virtuals == (*virtuals,)
        if is_in_order and _encoded(edge) == text:
            return dependency
        if parts := self._spelled(key, partial(spelling.of_edge, types, virtuals), text):
            self._unusual_edges[text] = parts
        return dependency

    def _compiler(self, node: NodeRecord, dependencies: Sequence[Dependency]) -> str | None:
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
            return compiler and names.checked_compiler(compiler)
        except ValueError:  # the error is reported for the compiler's own entry
            return None

    def _decoded(self, key: str, shape: type[Value], text: bytes) -> Value:
        return decode_json(text, shape, self._position.location, f"{self._position.node}{key}")

    def _spelled(
        self, key: str, parts_of: Callable[[bytes], spelling.Parts], text: bytes
    ) -> spelling.Parts:
        """Return the parts of a text. Raises SourceError if some of it is no JSON."""
        try:
            return parts_of(text)
        except JSON_ERRORS as error:
            position = self._position
            raise unreadable_json(error, position.location, f"{position.node}{key}") from None

    def _checked(self, key: str, check: Callable[[Value], Result], value: Value) -> Result:
        """Return the result of a check. Raises SourceError with the key, below the node."""
        try:
            return check(value)
        except ValueError as error:
            raise self._wrong(key, str(error)) from None

    def _optional(self, key: str, check: names.Check, text: str | None) -> str | None:
        return self._checked(key, check, text) if text else None

    def _items(self, key: str, check: names.Check, texts: Iterable[str]) -> tuple[str, ...]:
        return self._checked(key, lambda texts: names.checked_items(texts, check), texts)

    def _wrong(self, key: str, reason: str) -> SourceError:
        return SourceError(self._position.location, reason, key=f"{self._position.node}{key}")


# -- documents of single specs

FORMATS = range(2, NEWEST_FORMAT + 1)
"""The supported versions of the spec format in documents."""


class _Meta(msgspec.Struct):
    version: Any


def is_version(value: object, versions: Container[int]) -> bool:
    """Return whether a value is one of some versions; true and 5.0 are no versions."""
    return type(value) is int and value in versions


class _Nodes(msgspec.Struct):
    meta: _Meta = msgspec.field(name="_meta")
    nodes: list[Raw]


class SpecDocument(msgspec.Struct):
    """A spec with its dependencies, as published and as printed by Spack."""

    spec: _Nodes


class SpecDocuments(msgspec.Struct):
    """The specs of many documents, combined as in an index.

    ``location`` names all of them in warnings: their folder or registry. With ``proof``, the hashes
    of nodes are recomputed.
    """

    location: str
    report: Report
    proof: bool = True
    _unproven: dict[str, UnprovenReason | None] = {}
    _installs: dict[str, Install] = {}
    _positions: dict[str, NodePosition] = {}
    _seen: set[bytes] = set()

    def add(self, digest: str, document: bytes | bytearray, location: str) -> None:
        """Add the document of the spec with the hash ``digest``; ``location`` names it in errors.

        A node that several documents contain is added once: from its own document, or else from the
        first one. Raises SourceError, without adding anything, for an invalid document or an
        unsupported format, for a document of another spec or a second one of the same spec, and for
        a node with an incorrect hash.
        """
        spec = decode_json(document, SpecDocument, location).spec
        if not is_version(spec.meta.version, FORMATS):
            formats = f"{FORMATS[0]} to {FORMATS[-1]}"
            reason = f"{spec.meta.version} is not a format of specs that can be read: {formats}"
            raise SourceError(location, reason, key="spec._meta.version")
        new = self._new_nodes(spec.nodes, location)
        own = new.get(0)
        if own is None or own.hash != digest:
            stated = "nothing" if own is None else quoted(own.hash or "")
            reason = f"is {stated}, but the document is published as that of {quoted(digest)}"
            raise SourceError(location, reason, key="spec.nodes[0].hash")
        if digest in self._installs and self._installs[digest].in_buildcache:
            first = self._positions[digest].location
            raise SourceError(location, f"contains the spec {digest}, as does {first}")
        unproven = {
            node.hash or "": unproven_reason(
                bytes(spec.nodes[index]),
                node.hash or "",
                spec.meta.version,
                location,
                f"spec.nodes[{index}]",
            )
            for index, node in new.items()
            if self.proof
        }
        for index, node in new.items():
            self._refuse_contradiction(node, unproven.get(node.hash or ""), location, index)
        for index, node in new.items():
            node_hash, key = node.hash or "", f"spec.nodes[{index}]"
            if index == 0 or node_hash not in self._installs:
                self._installs[node_hash] = Install(in_buildcache=index == 0, spec=node)
                self._positions[node_hash] = NodePosition(location, key, key)
        self._seen.update(map(bytes, spec.nodes))
        for node_hash, why in unproven.items():
            record_proof(self._unproven, node_hash, why)

    def specs(self) -> IndexSpecs:
        """Return the records of all specs added, those in the cache and those outside of it.

        A spec that cannot be read is passed to ``report.bad``.
        """
        return gather(
            self._installs, self.location, self.report, self._positions.__getitem__, self._unproven
        )

    def _refuse_contradiction(
        self, node: NodeRecord, reason: UnprovenReason | None, location: str, index: int
    ) -> None:
        """Raise SourceError if a rewritten node contradicts the one of another document."""
        digest = node.hash or ""
        if digest in self._installs and UnprovenReason.REWRITTEN in (
            reason,
            self._unproven.get(digest),
        ):
            key = f"spec.nodes[{index}]"
            first = SpecReader({digest: self._installs[digest].spec})
            spec = first.spec(digest, self._positions[digest])
            other = SpecReader({digest: node}).spec(digest, NodePosition(location, key, key))
            if error := contradiction(spec, other, location, key):
                raise error

    def _new_nodes(self, raws: list[Raw], location: str) -> Mapping[int, NodeRecord]:
        """Return new nodes by position: the spec itself, and those not seen before."""
        nodes = {}
        for index, raw in enumerate(raws):
            text = bytes(raw)
            if index == 0 or text not in self._seen:
                key = f"spec.nodes[{index}]"
                nodes[index] = node = decode_json(text, NodeRecord, location, key)
                spell(node, text, location, key)
                if node.hash is None:
                    raise SourceError(location, "is missing", key=f"{key}.hash")
        return nodes
