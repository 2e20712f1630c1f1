"""The content of a revision, package by package: its canonical digest and its Arrow rows.

A package caches its digest, and its rows are sliced from those of the content before. So a history
of daily states, where few packages change from one to the next, costs little more than its changes.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from snapshots.models import SPEC_FACTS, ProofCounts, Source, Spec
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import SPEC_ROWS, spec_rows

_required = attrgetter(*(fact.name for fact in SPEC_FACTS.values() if not fact.may_be_unknown))
_OPTIONAL = [fact.name for fact in SPEC_FACTS.values() if fact.may_be_unknown]
_optional = attrgetter(*_OPTIONAL)
_NONE_KNOWN = (None,) * len(_OPTIONAL)
_json = msgspec.json.Encoder()


class _Specs:
    """Specs by rising hash, and their digest."""

    def __init__(self, specs: Iterable[Spec]) -> None:
        self.specs = sorted(specs, key=attrgetter("hash"))

    @cached_property
    def digest(self) -> bytes:
        """The sha256 of one canonical JSON line a spec.

        Unknown facts are left out, so that a kind of fact that cachelog learns to read later
        changes no digest of the past.
        """
        lines = [(*_required(spec), _known(_optional(spec))) for spec in self.specs]
        return hashlib.sha256(_json.encode_lines(lines)).digest()


class PackageContent(_Specs):
    """The specs of one package."""

    @cached_property
    def stacks(self) -> frozenset[str]:
        """The stacks that have a spec of the package."""
        return frozenset().union(*{spec.stacks for spec in self.specs})

    @cached_property
    def total_size(self) -> int | None:
        """The sum of the known sizes in bytes; None where none is known."""
        sizes = [spec.size for spec in self.specs if spec.size is not None]
        return sum(sizes) if sizes else None


class Content:
    """The packages of one revision, each with at least one spec.

    ``outside`` holds what the source says of specs that those of the packages depend on, near or
    far, and that are not in the cache themselves: external compilers, say. They are not specs of
    the revision and count nowhere but in the digest.
    """

    def __init__(
        self, packages: Mapping[str, PackageContent], outside: Iterable[Spec] = ()
    ) -> None:
        self.packages = {name: packages[name] for name in sorted(packages) if packages[name].specs}
        self.outside = _Specs(outside)

    @classmethod
    def of(cls, specs: Iterable[Spec], outside: Iterable[Spec] = ()) -> "Content":
        """Gather specs, in any order, by their packages."""
        packages: defaultdict[str, list[Spec]] = defaultdict(list)
        for spec in specs:
            packages[spec.name].append(spec)
        return cls({name: PackageContent(own) for name, own in packages.items()}, outside)

    def __len__(self) -> int:
        return sum(len(package.specs) for package in self.packages.values())

    def specs(self) -> Iterator[Spec]:
        """Yield every spec, by package and hash."""
        for package in self.packages.values():
            yield from package.specs

    @cached_property
    def digest(self) -> str:
        """The sha256 of the packages' names and digests: 64 hexadecimal digits.

        The specs outside the cache, if there are any, come last, under an empty name.
        """
        digest = hashlib.sha256()
        for name, package in self.packages.items():
            digest.update(name.encode() + b"\0" + package.digest)
        if self.outside.specs:
            digest.update(b"\0" + self.outside.digest)
        return digest.hexdigest()

    @cached_property
    def stacks(self) -> frozenset[str]:
        """The stacks of all specs."""
        return frozenset().union(*(package.stacks for package in self.packages.values()))

    def total_size(self) -> int | None:
        """Return the sum of the known sizes in bytes; None where none is known."""
        totals = (package.total_size for package in self.packages.values())
        sizes = [size for size in totals if size is not None]
        return sum(sizes) if sizes else None

    def summary(self) -> "ContentSummary":
        """Return the summary that a revision records."""
        return ContentSummary(
            digest=self.digest,
            num_packages=len(self.packages),
            num_specs=len(self),
            num_stacks=len(self.stacks - {ROOT_STACK}),
            total_size=self.total_size(),
        )

    def table(self) -> pa.Table:
        """Return one row a spec, sorted by package so that they compress well."""
        return SuccessiveTables().rows(self).table


class PackageRows(msgspec.Struct, frozen=True, gc=False):
    """Where the rows of a package stand; equal digests have equal rows."""

    digest: bytes
    start: int
    stop: int


class ContentRows(msgspec.Struct, frozen=True):
    """The rows of a content, and where those of its ``packages`` stand, if that is known.

    What is outside the cache is the package without a name.
    """

    digest: str
    table: pa.Table
    packages: Mapping[str, PackageRows] = {}

    def unlike(self, other: "ContentRows") -> pa.Table:
        """Return the rows of the packages that the other content has not or has otherwise.

        They are all rows where the packages of one of the two are not known.
        """
        if not self.packages or not other.packages:
            return self.table
        # Slices would be joined for each column, which takes five times as long.
        return self.table.take(pa.array(np.flatnonzero(~self.alike(other))))

    def alike(self, other: "ContentRows") -> npt.NDArray[np.bool_]:
        """Return a mask over the rows: those of the packages that both have alike."""
        mask = np.ones(len(self.table), np.bool_)
        for name, package in self.packages.items():
            theirs = other.packages.get(name)
            if theirs is None or theirs.digest != package.digest:
                mask[package.start : package.stop] = False
        return mask


class SuccessiveTables:
    """Builds the tables of successive contents.

    The rows of the packages that a content shares with the one before are taken from that one's,
    and those of all its other packages are built at once: to make a column takes as long as to make
    some dozens of its values.
    """

    def __init__(self) -> None:
        self._rows = SPEC_ROWS.empty_table()
        self._packages: dict[str, PackageRows] = {}

    @property
    def num_bytes(self) -> int:
        """How many bytes the rows of the last content take."""
        return int(self._rows.nbytes)

    def rows(self, content: Content) -> ContentRows:
        """Return one row a spec, sorted by package so that they compress well."""
        packages: dict[str, PackageRows] = {}
        places = [np.empty(0, np.int64)]
        new: list[Spec] = []
        start = 0
        for name, package in content.packages.items():
            before = self._packages.get(name)
            if before is not None and before.digest == package.digest:
                place = before.start
            else:
                place = len(self._rows) + len(new)
                new += package.specs
            stop = start + len(package.specs)
            places.append(np.arange(place, place + stop - start))
            packages[name] = PackageRows(package.digest, start, stop)
            start = stop
        both = pa.concat_tables([self._rows, pa.Table.from_batches([spec_rows(new)])])
        rows = both.combine_chunks().take(pa.array(np.concatenate(places)))
        self._rows, self._packages = rows, packages
        if content.outside.specs:
            outside = spec_rows(content.outside.specs, in_cache=False)
            rows = pa.concat_tables([rows, pa.Table.from_batches([outside])])
            packages = packages | {"": PackageRows(content.outside.digest, start, len(rows))}
        return ContentRows(content.digest, rows, packages)


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One state of the build cache as a source read it, ready to be published.

    ``proof`` is None where the source has no hashes that can be computed anew.
    """

    tag: str
    content: Content
    source: Source
    taken_at: datetime | None = None
    proof: ProofCounts | None = None

    def summary(self) -> "ContentSummary":
        """Return the summary of the content."""
        return self.content.summary()

    def packed(self, rows: pa.Table | None) -> "PackedSnapshot":
        """Return the state without its records, with the rows of its content if they are needed."""
        return PackedSnapshot(
            tag=self.tag,
            contents=self.summary(),
            rows=rows,
            source=self.source,
            taken_at=self.taken_at,
            proof=self.proof,
        )


class ContentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a content that a revision records; the stack root is not counted."""

    digest: str
    num_packages: int
    num_specs: int
    num_stacks: int
    total_size: int | None


class PackedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One state of the build cache without its records, as processes exchange it.

    ``rows`` are those of the table ``specs``; None where the catalog has the content already.
    """

    tag: str
    contents: ContentSummary
    rows: pa.Table | None
    source: Source
    taken_at: datetime | None = None
    proof: ProofCounts | None = None

    def summary(self) -> ContentSummary:
        """Return the summary of the content."""
        return self.contents


def _known(facts: tuple[Any, ...]) -> dict[str, Any]:
    if facts == _NONE_KNOWN:
        return {}
    pairs = zip(_OPTIONAL, facts, strict=True)
    return {name: _plain(value) for name, value in pairs if value is not None}


def _plain(value: Any) -> Any:
    """Return a fact as JSON has it, records as lists of their values."""
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return msgspec.structs.astuple(value) if isinstance(value, msgspec.Struct) else value
