"""The records of the domain, all immutable: the output of sources and the rows of the catalog.

The facts of a spec are declared once, in the annotations of the fields. The columns of the store
and of a frame, the facts that a comparison considers, the digest of a content, and the fields of
the API are derived from them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from types import NoneType
from typing import Annotated, Any, Self, TypeGuard, get_args

import msgspec

from snapshots.spack import names
from snapshots.spack.notation import compiler_key, short_form
from snapshots.spack.versions import VersionKey, version_key
from snapshots.texts import described_parts


class Encoding(Enum):
    """How a frame stores a fact of all its specs.

    ``CODES`` suit facts with few distinct values; ``PLAIN`` values suit facts that differ for
    nearly every spec. ``PLAIN`` texts cannot be compared, ``PLAIN`` numbers can. The ``KEY``
    identifies a spec. ``EDGES`` are stored in the dependency graph instead of a column.
    """

    CODES = "codes"
    PLAIN = "plain"
    KEY = "key"
    EDGES = "edges"


class CauseKind(Enum):
    """What caused a rebuild.

    If several own facts differ, the first of version, recipe, repository, variants, dependencies,
    compiler and target decides.

    - VERSION: Another version.
    - RECIPE: The same version, another recipe: the package hash differs.
    - REPOSITORY: The same recipe, from another package repository.
    - VARIANTS: Other variants.
    - COMPILER: Another compiler, where compilers are not dependencies: one cause for all packages.
    - TARGET: Another platform, operating system or target.
    - DEPENDENCY_ADDED: A dependency that it did not have.
    - DEPENDENCY_REMOVED: A dependency that it no longer has.
    - PROVIDER: Another package provides a virtual package.
    - EXTERNAL: Another path, other modules or other attributes of an external spec; or a dependency
      outside the cache, of which a source states only the hash.
    - ARCHITECTURE: The two sides have no stack in common and are for different architectures.
    - FORMAT: The specs are written differently, which changes their hashes: another Spack or
      archspec wrote them.
    - UNKNOWN: The sources do not state it.
    """

    # Causes of the same package are listed in this order.
    VERSION = "version"
    RECIPE = "recipe"
    REPOSITORY = "repository"
    VARIANTS = "variants"
    COMPILER = "compiler"
    TARGET = "target"
    DEPENDENCY_ADDED = "dependency_added"
    DEPENDENCY_REMOVED = "dependency_removed"
    PROVIDER = "provider"
    EXTERNAL = "external"
    ARCHITECTURE = "architecture"
    FORMAT = "format"
    UNKNOWN = "unknown"


class Fact(msgspec.Struct, frozen=True):
    """A fact of a record, declared in the annotation of its field.

    ``label`` precedes its value in terminal output, if it differs from the name. ``sort_key``
    orders its distinct values. ``check`` raises ValueError for a text that is not valid for the
    fact or one of its items. A number with ``is_bytes`` is a size. A difference in a fact without
    ``is_compared`` is not a change. A fact with ``is_exceptional`` is shown only for the few specs
    that have it; one with ``is_internal`` is stored and compared, but not shown.

    A fact with a ``rank`` is an own fact, in which different specs of a package are compared.
    Own facts are listed by rank, and the first that differs names the cause of a rebuild:
    ``cause`` is its kind, except for dependencies, which have several.

    The other attributes are derived from the field: ``description`` documents the fact in the API
    and in the store, as the docstring of the record does, ``value_type`` is its type without None,
    ``is_optional`` is whether it may be None, and ``may_be_unknown`` is whether None is the
    default, and thus means that the source does not state it.
    """

    sort_key: Callable[[Any], Any] = str
    check: Callable[[str], str] | None = None
    encoding: Encoding = Encoding.CODES
    is_bytes: bool = False
    is_compared: bool = True
    is_exceptional: bool = False
    is_internal: bool = False
    rank: int = 0
    cause: CauseKind | None = None
    label: str = ""
    name: str = ""
    description: str = ""
    value_type: Any = None
    is_optional: bool = False
    may_be_unknown: bool = False


def facts_of(record: type[msgspec.Struct]) -> Mapping[str, Fact]:
    """Return the facts of a type of record, by name, in the order of its fields."""
    _, texts = described_parts(record)
    return {field.name: _fact(field, texts) for field in msgspec.structs.fields(record)}


def _fact(field: msgspec.structs.FieldInfo, texts: Mapping[str, str]) -> Fact:
    annotated, declared = get_args(field.type)
    alternatives = get_args(annotated)
    is_optional = NoneType in alternatives
    assert isinstance(declared, Fact)  # noqa: S101 - narrows what an annotation may be
    value_type = alternatives[0] if is_optional else annotated
    if declared.encoding is Encoding.PLAIN and value_type is not int and declared.is_compared:
        raise TypeError(f"{field.name} is a PLAIN text, which cannot be compared")
    return msgspec.structs.replace(
        declared,
        name=field.name,
        description=texts.get(field.name, ""),
        value_type=value_type,
        is_optional=is_optional,
        may_be_unknown=not field.required,
    )


# -- records


SIZE_MAX = (1 << 40) - 1
"""Maximum size in bytes. All JSON parsers represent the sum of thousands exactly, and the sum of
millions fits into 64 bits."""

NOTHING = sha256().hexdigest()
"""The digest of a content without specs."""


def utc(moment: datetime) -> datetime:
    """Return the time in UTC; a time without a time zone is already in UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _version_order(version: str) -> tuple[VersionKey, str]:
    return version_key(version), version


class Dependency(msgspec.Struct, frozen=True, gc=False, order=True, array_like=True):
    """An edge from a spec to another one, which may be outside the revision.

    ``types`` is a sorted subset of build, link, run and test; ``virtuals`` has the virtual packages
    that the dependency provides to the spec (mpi, c, blas ...), sorted. In JSON, it is the list of
    these values.
    """

    name: str
    hash: str
    types: tuple[str, ...]
    virtuals: tuple[str, ...] = ()


class Spec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One built configuration of a package, in canonical spelling.

    This is the table of the facts of a spec. Storage, tables, the API and JSON documents are
    derived from it, as are the comparisons of two specs. What queries can name is in
    ``spack/query.py`` and ``frames/filters.py``. Fields that default to None are facts that a
    source may not state. New fields are appended and default to None, so that existing digests do
    not change.

    - hash: The DAG hash: 32 characters of a-z2-7.
    - name: The package's name.
    - version: The version that was built.
    - compiler: name@version, canonical (gcc@13.2.0, never gcc@=13.2.0); null where the spec has
      none.
    - operating_system: The operating system it was built for.
    - platform: The platform it was built for: linux, darwin ...
    - target: The microarchitecture it was built for.
    - variants: Canonical Spack spelling: +shared, ~mpi, build_type=Release,
      patches=26090f4,b231fcc.
    - stacks: The stacks that it was built in, sorted.
    - size: The binary package's size, where it is known.
    - tarball: The binary package's URL, where it is known.
    - namespace: The package repository: builtin ...
    - package_hash: The hash of the package's recipe.
    - dependencies: What it depends on.
    - patches: The sha256 of each patch, in the order that they were applied in, where it is known;
      the variant has seven digits of each.
    - provided_virtuals: The virtual packages that it provides, with versions where these are
      limited: zlib-api, libgfortran@5. Known from format 6 of specs on.
    - external_path: Where an external spec is installed, which Spack did not install. Null for
      others.
    - external_modules: The environment modules that an external spec is loaded by. Null for others.
    - build_spec: The NAME/HASH of the spec that a spliced spec was built as: its binary was made
      for other dependencies. Null for others.
    - spec_format: The version of Spack's format of specs that it was first written in, which
      decides what its hash covers.
    - explicit: Whether it was requested by name, not only installed as a dependency. Null in a
      build cache.
    - installed_at: When it was installed: RFC 3339, in UTC, to the second. Null where it is in a
      build cache.
    - checksum: The binary package's checksum, ALGORITHM:CHECKSUM, where it is known. With another
      one, the binary was replaced under the same hash.
    - external_attributes: The further attributes of an external spec, each as KEY.KEY=VALUE:
      compilers.c=/usr/bin/gcc. Null for others.
    - spelling: The parts of its document that are not spelled as Spack usually does, each as
      PART=JSON: its hash covers them. Null where the source has no documents.
    """

    hash: Annotated[str, Fact(check=names.checked_hash, encoding=Encoding.KEY, is_compared=False)]
    name: Annotated[str, Fact(check=names.checked_name)]
    version: Annotated[
        str,
        Fact(sort_key=_version_order, check=names.checked_version, rank=1, cause=CauseKind.VERSION),
    ]
    compiler: Annotated[
        str | None,
        Fact(sort_key=compiler_key, check=names.checked_compiler, rank=6, cause=CauseKind.COMPILER),
    ]
    operating_system: Annotated[str, Fact(check=names.checked_word, rank=8, cause=CauseKind.TARGET)]
    platform: Annotated[str, Fact(check=names.checked_word, rank=7, cause=CauseKind.TARGET)]
    target: Annotated[str, Fact(check=names.checked_word, rank=9, cause=CauseKind.TARGET)]
    variants: Annotated[
        tuple[str, ...], Fact(check=names.checked_variant, rank=4, cause=CauseKind.VARIANTS)
    ]
    stacks: Annotated[tuple[str, ...], Fact(check=names.checked_name)]
    size: Annotated[int | None, Fact(encoding=Encoding.PLAIN, is_bytes=True)] = None
    # Not compared, because it contains the tag and stack that the binary is fetched for.
    tarball: Annotated[
        str | None, Fact(check=names.checked_url, encoding=Encoding.PLAIN, is_compared=False)
    ] = None
    namespace: Annotated[
        str | None, Fact(check=names.checked_word, rank=3, cause=CauseKind.REPOSITORY)
    ] = None
    package_hash: Annotated[
        str | None, Fact(check=names.checked_checksum, rank=2, cause=CauseKind.RECIPE)
    ] = None
    # Dependencies and patches are the same as long as the hash is.
    dependencies: Annotated[
        tuple[Dependency, ...] | None, Fact(encoding=Encoding.EDGES, is_compared=False, rank=5)
    ] = None
    patches: Annotated[
        tuple[str, ...] | None, Fact(check=names.checked_checksum, is_compared=False)
    ] = None
    # The hash covers the following facts, so they are equal if the hashes are.
    provided_virtuals: Annotated[
        tuple[str, ...] | None,
        Fact(check=names.checked_virtual, is_compared=False, label="Provides"),
    ] = None
    external_path: Annotated[
        str | None,
        Fact(check=names.checked_line, is_compared=False, is_exceptional=True, label="External at"),
    ] = None
    external_modules: Annotated[
        tuple[str, ...] | None,
        Fact(check=names.checked_line, is_compared=False, is_exceptional=True),
    ] = None
    build_spec: Annotated[
        str | None,
        Fact(
            check=names.checked_build_spec,
            is_compared=False,
            is_exceptional=True,
            label="Spliced, built as",
        ),
    ] = None
    spec_format: Annotated[int | None, Fact(sort_key=int, is_compared=False)] = None
    # Only the database of an installation has these facts.
    explicit: Annotated[bool | None, Fact(is_exceptional=True)] = None
    # Not compared, because a spec that is installed again is the same spec.
    installed_at: Annotated[
        str | None,
        Fact(
            check=names.checked_moment,
            encoding=Encoding.PLAIN,
            is_compared=False,
            is_exceptional=True,
        ),
    ] = None
    checksum: Annotated[str | None, Fact(check=names.checked_binary_checksum)] = None
    external_attributes: Annotated[
        tuple[str, ...] | None,
        Fact(check=names.checked_line, is_compared=False, is_exceptional=True),
    ] = None
    # The same hash can have another spelling, because Spack writes what it read in its own.
    spelling: Annotated[tuple[str, ...] | None, Fact(is_compared=False, is_internal=True)] = None

    @property
    def short(self) -> str:
        """Spack's short form; see ``short_form``."""
        architecture = f"{self.platform}-{self.operating_system}-{self.target}"
        return short_form(self.name, self.version, self.variants, architecture, self.compiler)


SPEC_FACTS = facts_of(Spec)
"""The facts of a spec, by name."""

SHOWN_FACTS = {name: fact for name, fact in SPEC_FACTS.items() if not fact.is_internal}
"""The facts that are shown, by name."""

COMPARED_FACTS = {name: fact for name, fact in SPEC_FACTS.items() if fact.is_compared}
"""The facts in which specs with the same hash are compared, by name."""

_BY_RANK = sorted(SPEC_FACTS.items(), key=lambda named: named[1].rank)
OWN_FACTS = {name: fact for name, fact in _BY_RANK if fact.rank}
"""The own facts of a spec, by name, in the order of their ranks."""

OWN_COLUMNS = [name for name, fact in OWN_FACTS.items() if fact.encoding is not Encoding.EDGES]
"""The names of the own facts that are columns: all but the dependencies."""

ARCHITECTURE = tuple(name for name, fact in OWN_FACTS.items() if fact.cause is CauseKind.TARGET)
"""The platform, the operating system and the target."""


class ConcreteSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A required concrete spec, as described by a lock file; None represents unknown facts.

    ``is_root`` is whether the spec was requested explicitly, not only as a dependency.
    """

    hash: str
    name: str
    version: str | None = None
    compiler: str | None = None
    platform: str | None = None
    operating_system: str | None = None
    target: str | None = None
    variants: tuple[str, ...] | None = None
    namespace: str | None = None
    package_hash: str | None = None
    is_root: bool = False


class UnprovenReason(Enum):
    """Why the hash of a spec could not be recomputed.

    - CONVERTED: A newer Spack wrote the spec in another format and kept its hash.
    - SPLICED: The spec has a part of the hash of the spec that it was built as.
    - EXTERNAL: The spec is external: the source omits details that its hash covers.
    - FORMAT_UNKNOWN: The source does not state the format that was hashed.
    - REWRITTEN: A newer Spack may have described the target anew, or sorted flags and values, and
      kept its hash.
    """

    CONVERTED = "converted"
    SPLICED = "spliced"
    EXTERNAL = "external"
    FORMAT_UNKNOWN = "format_unknown"
    REWRITTEN = "rewritten"


class Unproven(msgspec.Struct, frozen=True):
    """The number of specs whose hash could not be recomputed, for one reason."""

    reason: UnprovenReason
    num_specs: int


class ProofCounts(msgspec.Struct, frozen=True):
    """Numbers of hashes that were recomputed and confirmed, and that could not be recomputed."""

    num_proven: int
    unproven: tuple[Unproven, ...] = ()

    @classmethod
    def of(cls, reasons: Iterable[UnprovenReason | None]) -> "ProofCounts":
        """Count the reasons of all specs; None represents a confirmed hash."""
        counts = Counter(reasons)
        unproven = [
            Unproven(reason, counts[reason]) for reason in UnprovenReason if reason in counts
        ]
        return cls(counts[None], tuple(unproven))


class SourceKind(msgspec.Struct, frozen=True):
    """A kind of source of revisions; ``name`` is the value in the rows of revisions.

    Spack can install from a mirror. With ``goes_on``, an import skips versions that the catalog
    already has.
    """

    name: str
    is_mirror: bool = False
    goes_on: bool = False


PAGES = SourceKind("pages")
INDEX = SourceKind("index", is_mirror=True)
INSTALLATION = SourceKind("installation")
GIT = SourceKind("git", goes_on=True)
DEMO = SourceKind("demo")

LOCK_FILE = SourceKind("lock_file")
"""The kind of files that are compared, but never published."""

SOURCE_KINDS = {kind.name: kind for kind in (PAGES, INDEX, INSTALLATION, GIT, DEMO)}
*_OTHER_KINDS, _LAST_KIND = SOURCE_KINDS
SOURCE_KIND_TEXT = f"What was read: {', '.join(_OTHER_KINDS)} or {_LAST_KIND}."


def source_kind(name: str) -> SourceKind:
    """Return the kind of source named in a row; the name is unknown if a newer program wrote it."""
    return SOURCE_KINDS.get(name) or SourceKind(name)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a revision came from.

    ``kind`` is the name of a SourceKind; ``version`` is the commit or ETag of the source, if it has
    one; ``importer`` is the version of cachelog that read it. ``synthetic`` is whether the data was
    generated.
    """

    kind: str
    location: str
    version: str | None = None
    importer: str
    synthetic: bool = False

    @property
    def public_location(self) -> str:
        """The location without private details; see ``public_location``."""
        return public_location(self.location)


_NAMED_STACKS = re.compile(r"[\w.+-]+=\S+(?: [\w.+-]+=\S+)*")


def public_location(location: str) -> str:
    """Return a location without private details: only the last part of a local path.

    Of a location of the form ``STACK=LOCATION ...``, that is each of them.
    """
    if _NAMED_STACKS.fullmatch(location):
        named = (item.partition("=") for item in location.split(" "))
        return " ".join(f"{stack}={public_location(path)}" for stack, _, path in named)
    first, slash, _ = location.partition("/")
    is_remote = ":" in first and first != "file:"  # a URL, or HOST:PATH in git's syntax
    if is_remote or not slash:
        return location
    return location.rstrip("/").rpartition("/")[2] or location


class _SideFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a side of a comparison, whether it is published or not.

    ``digest`` is the sha256 of the content. ``num_stacks`` does not count root, the union of all
    stacks. ``total_size`` is in bytes, None if no size is known. ``num_proven`` is the number of
    hashes that were recomputed and confirmed, ``unproven`` has the numbers of those that could not
    be recomputed, by reason; both are None if this was not tried.
    """

    tag: str | None
    digest: str
    taken_at: datetime | None
    published_at: datetime | None
    num_packages: int
    num_specs: int
    num_stacks: int
    total_size: int | None
    source: Source
    num_proven: int | None = None
    unproven: tuple[Unproven, ...] | None = None

    @property
    def known_stacks(self) -> int | None:
        """Number of stacks; None if there are specs, and their source does not list stacks."""
        return self.num_stacks if self.num_stacks or not self.num_specs else None

    @property
    def content(self) -> str:
        """The id of the compared specs in a catalog and its library."""
        return self.digest

    @property
    def ref(self) -> str | None:
        """The ref of a revision; None for a file."""
        return None


class RevisionInfo(_SideFacts, frozen=True, kw_only=True):
    """One row of the catalog: a published state of a tag.

    Several rows may have the same digest. Both times are in UTC: ``taken_at`` is when the cache was
    in this state, ``published_at`` is when it was published in the catalog. ``num_stacks`` of older
    rows counts root, and is not corrected.
    """

    tag: str
    taken_at: datetime
    published_at: datetime

    @property
    def ref(self) -> str:
        """The ref of this row alone; see ``exact_ref``."""
        return exact_ref(self.tag, self.taken_at, self.digest)

    @property
    def name(self) -> str:
        """The name for readers."""
        return self.tag


class StackInfo(RevisionInfo, frozen=True, kw_only=True):
    """A stack of a revision as a side of a comparison; the numbers are those of its specs only.

    Such a side does not list stacks, because all of its specs are in this stack.
    """

    stack: str

    @classmethod
    def uncounted(cls, revision: RevisionInfo, stack: str) -> Self:
        """Return a stack whose specs are not counted: the numbers are those of the revision."""
        return cls(**msgspec.structs.asdict(revision), stack=stack)

    @property
    def revision(self) -> RevisionInfo:
        """The revision of a stack that is ``uncounted``."""
        fields = RevisionInfo.__struct_fields__
        return RevisionInfo(**{name: getattr(self, name) for name in fields})

    @property
    def ref(self) -> str:
        """The ref of this stack alone: that of the revision, and the stack."""
        return f"{super().ref}{_STACK_SIGN}{self.stack}"

    @property
    def name(self) -> str:
        """The name for readers."""
        return f"{self.tag}:{self.stack}"

    @property
    def content(self) -> str:
        """The id of the compared specs in a catalog and its library."""
        return content_of_stack(self.digest, self.stack)


class FileInfo(_SideFacts, frozen=True, kw_only=True):
    """A file as a side of a comparison: it is not published, so it has no tag and no times.

    ``roots`` are the hashes of the specs that were requested explicitly; None if it is not a lock
    file.
    """

    tag: None = None
    taken_at: None = None
    published_at: None = None
    roots: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The name for readers: its path."""
        return self.source.location


SideInfo = RevisionInfo | FileInfo
"""A side of a comparison; a stack of a revision is a RevisionInfo as well."""

_STACK_SIGN = ":"


def is_revision(side: SideInfo) -> TypeGuard[RevisionInfo]:
    """Return whether a side is an entire revision, which has a position in its series."""
    return type(side) is RevisionInfo


def content_of_stack(digest: str, stack: str) -> str:
    """Return the id of the specs of a stack of a content."""
    return f"{digest}{_STACK_SIGN}{stack}"


def stack_of_content(content: str) -> tuple[str, str | None]:
    """Return the digest and the stack in such an id; None for the entire content."""
    digest, sign, stack = content.partition(_STACK_SIGN)
    return digest, stack if sign else None


DIGITS_OF_REF = 8
"""Number of digits of the digest in the ref of a single revision."""


@lru_cache(maxsize=1 << 14)
def exact_ref(tag: str, taken_at: datetime, digest: str) -> str:
    """Return the ref of a single revision: TAG@TIME.DIGEST, with the first digits of the digest.

    TIME is the day, and the time of day in UTC as exactly as it is known, unless it is midnight:
    ``2025-03-30``, ``2025-03-30T1205``, ``2025-03-30T120559``. It depends on nothing else in the
    catalog, so that the ref never means another revision. Without colons it can be part of the name
    of a file, and of a side.
    """
    clock = f"{taken_at:T%H%M}"
    if taken_at.second or taken_at.microsecond:
        clock += f"{taken_at:%S%f}" if taken_at.microsecond else f"{taken_at:%S}"
    elif clock == "T0000":
        clock = ""
    return f"{tag}@{taken_at.date()}{clock}.{digest[:DIGITS_OF_REF]}"


def revision_facts(revision: SideInfo) -> dict[str, Any]:
    """Return a revision in its JSON form: plain values, None for unknown, times in RFC 3339.

    A stack also has its name, a file the number of its roots. The location of a file is the path as
    passed; that of a published revision is public.
    """
    facts: dict[str, Any] = {"ref": revision.ref, **msgspec.to_builtins(revision)}
    facts["num_stacks"] = revision.known_stacks
    if isinstance(revision, FileInfo):
        del facts["roots"]
        facts["num_roots"] = None if revision.roots is None else len(revision.roots)
    else:
        facts["source"]["location"] = revision.source.public_location
    return facts
