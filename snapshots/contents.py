"""What a revision holds, package by package: its canonical digest and its Arrow rows.

Both are kept with each package. A history of daily states, where few packages change from one to
the next, so costs little more than its changes.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import Any

import msgspec
import orjson
import pyarrow as pa

from snapshots.models import Dependency, Source, Spec
from snapshots.tables import SPECS

_IDENTITY = ("hash", "name", "version", "compiler", "operating_system", "platform", "target")
_LISTS = ("variants", "stacks")
_FACTS = ("size", "tarball", "namespace", "package_hash", "dependencies")

_identity = attrgetter(*_IDENTITY, *_LISTS)
_facts = attrgetter(*_FACTS)
_ROW = pa.schema([field for field in SPECS if field.name != "digest"])


class _Specs:
    """Specs by rising hash."""

    _in_cache: bool

    def __init__(self, specs: Iterable[Spec]) -> None:
        self.specs = sorted(specs, key=attrgetter("hash"))

    @cached_property
    def digest(self) -> bytes:
        """The sha256 of one canonical JSON line a spec.

        Facts that are not known are left out, so that a kind of fact that cachelog learns to read
        later changes no digest of the past.
        """
        digest = hashlib.sha256()
        for spec in self.specs:
            facts = zip(_FACTS, _facts(spec), strict=True)
            known = {name: _plain(value) for name, value in facts if value is not None}
            line = [*_identity(spec), known]
            digest.update(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        return digest.digest()

    @cached_property
    def rows(self) -> pa.RecordBatch:
        """The columns of ``snapshots.tables.SPECS`` but the digest, one row a spec."""
        columns: dict[str, Any] = {
            name: list(map(attrgetter(name), self.specs)) for name in Spec.__struct_fields__
        }
        columns["dependencies"] = [
            None if edges is None else [msgspec.structs.asdict(edge) for edge in edges]
            for edges in columns["dependencies"]
        ]
        columns["in_cache"] = [self._in_cache] * len(self.specs)
        return pa.RecordBatch.from_pydict(columns, schema=_ROW)


class PackageContent(_Specs):
    """The specs of one package, by rising hash."""

    _in_cache = True

    @cached_property
    def stacks(self) -> frozenset[str]:
        """The stacks that have a spec of the package."""
        return frozenset(stack for spec in self.specs for stack in spec.stacks)

    @cached_property
    def total_size(self) -> int | None:
        """The sum of the known sizes in bytes; None where none is known."""
        sizes = [spec.size for spec in self.specs if spec.size is not None]
        return sum(sizes) if sizes else None


class OutsideContent(_Specs):
    """The specs outside the cache that those in it depend on, by rising hash."""

    _in_cache = False


class Content:
    """The packages of one revision, each with one spec at the least.

    ``outside`` holds what the source says of specs that those of the packages depend on, near or
    far, and that are not in the cache themselves: external compilers, say. They are no specs of the
    revision and count nowhere but in the digest.
    """

    def __init__(
        self, packages: Mapping[str, PackageContent], outside: Iterable[Spec] = ()
    ) -> None:
        self.packages = {name: packages[name] for name in sorted(packages) if packages[name].specs}
        self.outside = OutsideContent(outside)

    @classmethod
    def of(cls, specs: Iterable[Spec], outside: Iterable[Spec] = ()) -> "Content":
        """Gather specs, in any order, by their packages."""
        packages: defaultdict[str, list[Spec]] = defaultdict(list)
        for spec in specs:
            packages[spec.name].append(spec)
        return cls({name: PackageContent(found) for name, found in packages.items()}, outside)

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
        sizes = [package.total_size for package in self.packages.values()]
        known = [size for size in sizes if size is not None]
        return sum(known) if known else None

    def table(self) -> pa.Table:
        """Return the rows of the table ``specs``, sorted by package so that they compress well."""
        return Succession().table(self)


class Succession:
    """Makes the tables of contents that follow one another.

    To join the rows of a thousand packages takes longer than to write them. So what a content has
    from the one before it is cut out of that one's rows, in as few slices as possible.
    """

    def __init__(self) -> None:
        self._rows = _ROW.empty_table()
        self._places: dict[str, tuple[PackageContent, int]] = {}

    def table(self, content: Content) -> pa.Table:
        """Return the rows of the table ``specs``, sorted by package so that they compress well."""
        self._rows = pa.Table.from_batches(self._pieces(content), _ROW).combine_chunks()
        self._places.clear()
        place = 0
        for name, package in content.packages.items():
            self._places[name] = package, place
            place += len(package.specs)
        rows = self._rows
        if content.outside.specs:
            outside = pa.Table.from_batches([content.outside.rows], _ROW)
            rows = pa.concat_tables([rows, outside])
        return rows.add_column(0, SPECS.field("digest"), pa.repeat(content.digest, len(rows)))

    def _pieces(self, content: Content) -> Iterator[pa.RecordBatch]:
        start = stop = 0
        for name, package in content.packages.items():
            known, place = self._places.get(name, (None, 0))
            if known is not package or place != stop:
                yield from self._rows.slice(start, stop - start).to_batches()
                start = stop = place
            if known is package:
                stop += len(package.specs)
            else:
                yield package.rows
        yield from self._rows.slice(start, stop - start).to_batches()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One state of the build cache as a source read it, ready to be published."""

    tag: str
    content: Content
    source: Source
    taken_at: datetime | None = None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        edges: tuple[Dependency, ...] = value
        return [msgspec.structs.astuple(edge) for edge in edges]
    return value
