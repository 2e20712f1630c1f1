"""One revision in memory, column by column.

The rows stand in one order that the content alone decides: by package, newest version first, by
hash. Everything that a query asks - masks, orders, facets - is arithmetic on the columns' codes.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from operator import attrgetter, itemgetter
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from cachetools import LRUCache, cachedmethod

from snapshots.frames.columns import (
    Column,
    ListColumn,
    Mask,
    NumberColumn,
    PlainColumn,
    Rows,
    column_of,
    list_column_of,
    rows_where,
)
from snapshots.frames.combinations import Joint, join
from snapshots.frames.filters import PackageFilter, SpecFilter, built_with, having_all, having_any
from snapshots.frames.hashes import Hashes
from snapshots.models import Spec
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.spelling import compiler_key
from snapshots.spack.versions import version_key
from snapshots.tables import split_by_cache

_JOINTS = 64
_MIXER = np.uint64(0x9E3779B97F4A7C15)


class SpecField(Enum):
    """What specs can be ordered by. Equal ones stand in the frame's own order."""

    PACKAGE = "package"
    VERSION = "version"
    HASH = "hash"
    COMPILER = "compiler"
    TARGET = "target"
    SIZE = "size"


class PackageField(Enum):
    """What packages can be ordered by. Equal ones stand by name."""

    NAME = "name"
    NUM_SPECS = "num_specs"


class Frame:
    """The specs of one content.

    ``table`` has the columns of ``snapshots.tables.SPECS``, in any order of rows; ``digest`` names
    the content. With ``in_cache=False`` the frame has the rows outside the cache instead. Facts
    that their source does not state are None there, whatever their type says.
    """

    def __init__(self, table: pa.Table, digest: str, *, in_cache: bool = True) -> None:
        self.digest = digest
        inside, outside = split_by_cache(table)
        table = inside if in_cache else outside
        names = column_of(table["name"], str)
        versions = column_of(table["version"], lambda version: (version_key(version), version))
        hashes = Hashes("".join(table["hash"].to_pylist()).encode())
        rows = _own_order(names, versions, hashes)

        self.hashes = hashes.reordered(rows)
        self.package = _reordered(names, rows)
        self.version = _reordered(versions, rows)
        self.compiler: Column[str | None] = _reordered(
            column_of(table["compiler"], compiler_key), rows
        )
        self.operating_system = _reordered(column_of(table["operating_system"], str), rows)
        self.platform = _reordered(column_of(table["platform"], str), rows)
        self.target = _reordered(column_of(table["target"], str), rows)
        self.namespace = _reordered(column_of(table["namespace"], str), rows)
        self.package_hash = _reordered(column_of(table["package_hash"], str), rows)
        self.variants = _reordered_lists(list_column_of(table["variants"]), rows)
        self.stacks = _reordered_lists(list_column_of(table["stacks"]), rows)
        self.tarball = PlainColumn(table["tarball"].combine_chunks().take(pa.array(rows)))
        self.size = NumberColumn(np.asarray(table["size"].fill_null(-1), np.int64)[rows])

        counts = np.bincount(self.package.codes, minlength=len(self.package.values))
        self.starts: npt.NDArray[np.int32] = np.concatenate(([0], np.cumsum(counts))).astype(
            np.int32
        )
        # Every comparison needs these; who loads a frame waits anyway.
        _ = self.fingerprints, self.hashes.sorted_keys
        self._joints: LRUCache[tuple[str, ...], Joint | None] = LRUCache(_JOINTS)
        self._lock = Lock()
        self._orders: dict[SpecField, tuple[Rows, Rows]] = {}

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def num_bytes(self) -> int:
        """About how much memory the frame takes, with what queries will make of it."""
        columns = (
            self.package,
            self.version,
            self.compiler,
            self.operating_system,
            self.platform,
            self.target,
            self.namespace,
            self.package_hash,
            self.variants,
            self.stacks,
        )
        orders = 2 * len(SpecField) * 4 * len(self)
        hashes = (32 + 8 + 8 + 4 + 89 + 91) * len(self)
        plain = self.tarball.num_bytes + self.size.numbers.nbytes
        return sum(column.num_bytes for column in columns) + plain + orders + hashes

    @cachedmethod(attrgetter("_joints"), lock=attrgetter("_lock"), key=lambda _frame, names: names)
    def joint(self, names: tuple[str, ...]) -> Joint | None:
        """Return the named columns joined; None where they have too many values in common."""
        column = getattr(self, names[-1])
        if not isinstance(column, Column):
            return None
        if len(names) == 1:
            return join(None, column)
        before = self.joint(names[:-1])
        return None if before is None else join(before, column)

    # -- packages and stacks

    @property
    def packages(self) -> Sequence[str]:
        """The names of all packages, sorted."""
        return self.package.values

    def versions_of(self, package: str) -> tuple[str, ...]:
        """Return the versions of a package, newest first; none where there is no such package."""
        rows = self.rows_of(package)
        if rows is None:
            return ()
        return tuple(reversed(self.version.present(rows)))

    def rows_of(self, package: str) -> slice | None:
        """Return where a package's specs stand; None where there is no such package."""
        code = self.package.index.get(package)
        return None if code is None else self.slice_of(code)

    def slice_of(self, code: int) -> slice:
        """Return where the specs of the package with this code stand."""
        return slice(int(self.starts[code]), int(self.starts[code + 1]))

    @cached_property
    def fingerprints(self) -> npt.NDArray[np.uint64]:
        """A 64-bit hash of each row's facts that every source knows, good within this process.

        Two rows that differ share one by chance in one of some 10^19 pairs.
        """
        mixed = self.stacks_without_root[self.stacks.codes].astype(np.uint64)
        for column in (
            self.package,
            self.version,
            self.compiler,
            self.operating_system,
            self.platform,
            self.target,
            self.variants,
        ):
            mixed = mixed * _MIXER + column.fingerprints[column.codes].astype(np.uint64)
        return mixed

    @cached_property
    def stacks_without_root(self) -> npt.NDArray[np.int64]:
        """A 64-bit hash of each distinct list of stacks, as if root stood in none."""
        return self.stacks.fingerprints_without(ROOT_STACK)

    def in_stack(self, stack: str) -> Mask:
        """Return a mask over the rows: the specs of a stack."""
        return self.stacks.having(stack)[self.stacks.codes]

    # -- specs

    def spec(self, row: int) -> Spec:
        """Return the record of a row, without its dependencies."""
        return Spec(
            hash=self.hashes.at(row),
            name=self.package.at(row),
            version=self.version.at(row),
            compiler=self.compiler.at(row),
            operating_system=self.operating_system.at(row),
            platform=self.platform.at(row),
            target=self.target.at(row),
            variants=self.variants.at(row),
            stacks=self.stacks.at(row),
            size=self.size.at(row),
            tarball=self.tarball.at(row),
            namespace=self.namespace.at(row),
            package_hash=self.package_hash.at(row),
        )

    # -- questions

    def select(self, wanted: SpecFilter, within: slice = slice(None)) -> Mask:
        """Return a mask over the rows of ``within``: those that meet every condition."""
        mask = np.ones(len(range(*within.indices(len(self)))), np.bool_)
        for column, accepted in self._conditions(wanted):
            mask &= accepted[column.codes[within]]
        if wanted.hash_prefix is not None:
            found = np.zeros(len(self), np.bool_)
            found[self.hashes.with_prefix(wanted.hash_prefix)] = True
            mask &= found[within]
        return mask

    def _conditions(self, wanted: SpecFilter) -> Iterator[tuple[Column[Any], Mask]]:
        """Yield the columns that a filter is about, with a mask over their distinct values."""
        exact = (
            (self.package, wanted.packages),
            (self.version, wanted.versions),
            (self.operating_system, wanted.operating_systems),
            (self.platform, wanted.platforms),
            (self.target, wanted.targets),
        )
        for column, values in exact:
            if values is not None:
                yield column, column.among(values)
        if wanted.compilers is not None:
            yield self.compiler, built_with(self.compiler, wanted.compilers)
        if wanted.stacks is not None:
            yield self.stacks, having_any(self.stacks, wanted.stacks)
        if wanted.variants is not None:
            yield self.variants, having_all(self.variants, wanted.variants)

    def select_packages(self, wanted: PackageFilter) -> Rows:
        """Return the codes of the packages that meet every condition, by name."""
        mask = np.ones(len(self.packages), np.bool_)
        of_specs = wanted.of_specs()
        if of_specs != SpecFilter():
            mask &= self.packages_having(self.select(of_specs))
        if wanted.names is not None:
            mask &= self.package.among(wanted.names)
        if wanted.search is not None:
            search = wanted.search.lower()
            mask &= self.package.where(lambda name: search in name.lower())
        return rows_where(mask)

    def packages_having(self, mask: Mask) -> Mask:
        """Return a mask over the packages: those with one of the masked rows at the least."""
        found = np.zeros(len(self.packages), np.bool_)
        found[self.package.codes[mask]] = True
        return found

    # -- orders

    def order(self, field: SpecField) -> tuple[Rows, Rows]:
        """Return the rows in rising order, and the place of each row in it; kept once made."""
        known = self._orders.get(field)
        if known is None:
            order = self._sorted(field)
            places = np.empty_like(order)
            places[order] = np.arange(len(order), dtype=np.int32)
            known = self._orders[field] = order, places
        return known

    def _sorted(self, field: SpecField) -> Rows:
        match field:
            case SpecField.PACKAGE:
                return np.arange(len(self), dtype=np.int32)
            case SpecField.HASH:
                return self.hashes.order
            case SpecField.VERSION:
                keys: npt.NDArray[Any] = self.version.codes
            case SpecField.COMPILER:
                keys = self.compiler.codes
            case SpecField.TARGET:
                keys = self.target.codes
            case SpecField.SIZE:
                keys = self.size.numbers
        return np.argsort(keys, kind="stable").astype(np.int32)

    def sort_packages(self, codes: Rows, field: PackageField) -> Rows:
        """Return the package codes in rising order."""
        if field is PackageField.NAME:
            return codes
        return codes[np.argsort(np.diff(self.starts)[codes], kind="stable")]

    # -- facets

    def facet(self, name: str, rows: Rows | slice) -> list[tuple[str, int]]:
        """Count the rows by a column's values, largest first, equal ones in the column's order."""
        column = getattr(self, name)
        counts = column.item_counts(rows) if isinstance(column, ListColumn) else column.counts(rows)
        return sorted(counts, key=itemgetter(1), reverse=True)


def _own_order(names: Column[str], versions: Column[str], hashes: Hashes) -> Rows:
    by_hash = hashes.order
    newest_first = len(versions.values) - versions.codes.astype(np.int64)
    group = names.codes * np.int64(len(versions.values) + 1) + newest_first
    return by_hash[np.argsort(group[by_hash], kind="stable")]


def _reordered(column: Column[Any], rows: Rows) -> Column[Any]:
    return Column(column.codes[rows], column.values)


def _reordered_lists(column: ListColumn, rows: Rows) -> ListColumn:
    return ListColumn(column.codes[rows], column.values, column.items, column.flat)
