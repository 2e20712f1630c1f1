"""The content of a revision by package: its canonical digest and its Arrow rows.

Digests of packages are cached, and rows of unchanged packages are reused from the previous content.
The cost of importing a history of daily states, in which few packages change per day, is therefore
nearly proportional to its changes.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa

from snapshots.models import SHOWN_FACTS, SPEC_FACTS, ProofCounts, Source, Spec
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import SPEC_ROWS, spec_rows

_required = attrgetter(*(fact.name for fact in SPEC_FACTS.values() if not fact.may_be_unknown))
_OPTIONAL = [fact.name for fact in SHOWN_FACTS.values() if fact.may_be_unknown]
_optional = attrgetter(*_OPTIONAL)
_ALL_UNKNOWN = (None,) * len(_OPTIONAL)
_json = msgspec.json.Encoder()


class _Specs:
    """Specs in ascending order of hash, and their digest."""

    def __init__(self, specs: Iterable[Spec]) -> None:
        self.specs = sorted(specs, key=attrgetter("hash"))

    @cached_property
    def digest(self) -> bytes:
        """The sha256 of one canonical line of JSON per spec.

        Unknown facts are omitted, so that support for a new kind of fact does not change the
        digests of existing contents. Internal ones are, because Spack can write the same specs in
        another way.
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
        """Sum of the known sizes in bytes; None if no size is known."""
        sizes = [spec.size for spec in self.specs if spec.size is not None]
        return sum(sizes) if sizes else None


class Content:
    """The packages of one revision, each with at least one spec.

    ``outside`` has the records of direct and indirect dependencies that are not in the cache, such
    as external compilers, as far as the source states them. They are not specs of the revision, and
    only the digest includes them.
    """

    def __init__(
        self, packages: Mapping[str, PackageContent], outside: Iterable[Spec] = ()
    ) -> None:
        self.packages = {name: packages[name] for name in sorted(packages) if packages[name].specs}
        self.outside = _Specs(outside)

    @classmethod
    def of(cls, specs: Iterable[Spec], outside: Iterable[Spec] = ()) -> "Content":
        """Group specs, in any order, by package."""
        packages: defaultdict[str, list[Spec]] = defaultdict(list)
        for spec in specs:
            packages[spec.name].append(spec)
        return cls({name: PackageContent(own) for name, own in packages.items()}, outside)

    def __len__(self) -> int:
        return sum(len(package.specs) for package in self.packages.values())

    def specs(self) -> Iterator[Spec]:
        """Yield all specs, by package and hash."""
        for package in self.packages.values():
            yield from package.specs

    @cached_property
    def digest(self) -> str:
        """The sha256 of the packages' names and digests: 64 hexadecimal digits.

        The specs outside the cache, if there are any, come last, with an empty name.
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
        """Return the sum of the known sizes in bytes; None if no size is known."""
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
        """Return one row per spec, sorted by package for better compression."""
        return SuccessiveTables().rows(self).table


class _PackageRows(msgspec.Struct, frozen=True, gc=False):
    """The position of the first row of a package; equal digests imply equal rows."""

    digest: bytes
    start: int


class ContentRows(msgspec.Struct, frozen=True):
    """The rows of a content."""

    digest: str
    table: pa.Table


class SuccessiveTables:
    """Builds the tables of successive contents.

    The rows of packages that are equal in the previous content are reused. The rows of all other
    packages are built at once, because creating a column takes as long as creating dozens of its
    values.
    """

    def __init__(self) -> None:
        self._rows = SPEC_ROWS.empty_table()
        self._packages: dict[str, _PackageRows] = {}

    def rows(self, content: Content) -> ContentRows:
        """Return one row per spec, sorted by package for better compression."""
        packages: dict[str, _PackageRows] = {}
        runs = [slice(0, 0)]  # of the previous rows, followed by the new ones
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
            end = place + stop - start
            if runs[-1].stop == place:
                runs[-1] = slice(runs[-1].start, end)
            else:
                runs.append(slice(place, end))
            packages[name] = _PackageRows(package.digest, start)
            start = stop
        both = pa.concat_tables([self._rows, pa.Table.from_batches([spec_rows(new)])])
        rows = pa.concat_tables([both[run] for run in runs]).combine_chunks()
        self._rows, self._packages = rows, packages
        if content.outside.specs:
            outside = spec_rows(content.outside.specs, in_cache=False)
            rows = pa.concat_tables([rows, pa.Table.from_batches([outside])])
        return ContentRows(content.digest, rows)


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A state of the build cache as read from a source, ready to be published.

    ``proof`` is None if the source has no hashes that can be recomputed.
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
    """The summary of a content that a revision records; the root stack is not counted."""

    digest: str
    num_packages: int
    num_specs: int
    num_stacks: int
    total_size: int | None


class PackedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A state of the build cache without its records, in the form that processes exchange.

    ``rows`` are rows of the table ``specs``; None if the catalog already has the content.
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
    if facts == _ALL_UNKNOWN:
        return {}
    pairs = zip(_OPTIONAL, facts, strict=True)
    return {name: value for name, value in pairs if value is not None}
