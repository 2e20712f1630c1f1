"""The records of the domain, all frozen: what a source yields and what the catalog lists."""

from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec

from snapshots.spack.short_form import short_form

SIZE_MAX = (1 << 53) - 1
"""The largest size in bytes that every reader of JSON takes exactly."""


def utc(moment: datetime) -> datetime:
    """Return the moment in UTC; one without a zone is taken to be in UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Dependency(msgspec.Struct, frozen=True, gc=False, order=True):
    """An edge from a spec to another, which need not be in the same revision.

    ``types`` are a sorted choice of build, link, run and test; ``virtuals`` the virtual packages
    that the dependency provides to the spec (mpi, c, blas ...), sorted.
    """

    name: str
    hash: str
    types: tuple[str, ...]
    virtuals: tuple[str, ...] = ()


class Spec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One built configuration of a package, in canonical spelling.

    Fields that default to None are facts that a source may not know. ``size`` is in bytes.
    """

    hash: str
    name: str
    version: str
    compiler: str | None
    operating_system: str
    platform: str
    target: str
    variants: tuple[str, ...]
    stacks: tuple[str, ...]
    size: int | None = None
    tarball: str | None = None
    namespace: str | None = None
    package_hash: str | None = None
    dependencies: tuple[Dependency, ...] | None = None

    @property
    def short(self) -> str:
        """Spack's short form, as ``snapshots.spack.short_form`` has it."""
        architecture = f"{self.platform}-{self.operating_system}-{self.target}"
        return short_form(self.name, self.version, self.variants, architecture, self.compiler)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a revision came from.

    ``kind`` is one of the readers (pages, index, git, demo); ``version`` the commit or ETag that
    was read, if there is one; ``importer`` the cachelog that read it. ``synthetic`` marks data
    that a generator made up.
    """

    kind: str
    location: str
    version: str | None = None
    importer: str
    synthetic: bool = False


class RevisionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the catalog: a published state of a tag.

    ``digest`` is the sha256 of the content, so several lines may share one. Both times are in UTC:
    ``taken_at`` is when the cache stood so, ``published_at`` when the catalog learned of it.
    ``total_size`` is in bytes, None where no size is known.
    """

    tag: str
    digest: str
    taken_at: datetime
    published_at: datetime
    num_packages: int
    num_specs: int
    num_stacks: int
    total_size: int | None
    source: Source

    @property
    def key(self) -> str:
        """A short name of this line, for ever the same: 18 hexadecimal digits."""
        return _key(self.tag, self.taken_at, self.digest)


@lru_cache(maxsize=1 << 14)
def _key(tag: str, taken_at: datetime, digest: str) -> str:
    name = f"{tag}\0{taken_at.isoformat()}\0{digest}"
    return sha256(name.encode()).hexdigest()[:18]


def revision_facts(revision: RevisionInfo) -> dict[str, Any]:
    """Return a revision as a program reads it: plain values, times in RFC 3339."""
    facts: dict[str, Any] = msgspec.to_builtins(revision)
    return facts
