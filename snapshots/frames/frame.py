"""One revision in memory, stored by column.

The order of the rows depends only on the content: by package, then by version (newest first), then
by hash. Masks, orders and facets are computed from the codes of the columns.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec.structs import asdict

from snapshots.arrays import Mask, Rows
from snapshots.errors import AmbiguousHash
from snapshots.frames import filters
from snapshots.frames.columns import (
    Column,
    FactColumn,
    ListColumn,
    NumberColumn,
    PlainColumn,
    column_of,
    list_column_of,
    mixed,
    number_column_of,
    rows_where,
)
from snapshots.frames.hashes import Hashes, words_of
from snapshots.models import COMPARED_FACTS, SPEC_FACTS, Encoding, Fact, Spec
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import split_by_cache
from snapshots.texts import versioned

_MAX_CANDIDATES = 20
"""Maximum number of specs with the same hash prefix that an error lists."""


class SpecField(Enum):
    """Keys by which specs can be ordered.

    Ties are in the order of the frame.

    - PACKAGE: By package, newest version first.
    - VERSION: In Spack's version order.
    - HASH: By hash.
    - COMPILER: By name and version; specs without a compiler sort lowest.
    - TARGET: By name.
    - SIZE: By bytes; unknown sizes sort lowest.
    """

    PACKAGE = "package"
    VERSION = "version"
    HASH = "hash"
    COMPILER = "compiler"
    TARGET = "target"
    SIZE = "size"


class PackageField(Enum):
    """Keys by which packages can be ordered.

    Ties are ordered by name.

    - NAME: By name.
    - NUM_SPECS: By the number of specs in the revision.
    - SIZE: By the sum of the known sizes in the revision; unknown sums sort lowest.
    """

    NAME = "name"
    NUM_SPECS = "num_specs"
    SIZE = "size"


class Frame:
    """The specs of one content.

    ``table`` has the columns of ``snapshots.tables.SPECS``, with its rows in any order; ``digest``
    is the digest of the content. With ``in_cache=False`` the frame has the rows outside the cache
    instead. Their facts are None where the source does not state them, regardless of the facts'
    types.

    ``columns`` maps the names of the facts to their columns. Each column is also an attribute;
    those that are accessed by name are declared here. ``package`` and ``hashes`` are the columns of
    ``name`` and ``hash``.

    ``fingerprints`` has a 64-bit hash of the compared facts of each row. It is valid within this
    process only. About one in 10^19 pairs of different rows have the same fingerprint by chance.
    """

    hashes: Hashes
    package: Column[str]
    version: Column[str]
    compiler: Column[str | None]
    operating_system: Column[str]
    platform: Column[str]
    target: Column[str]
    variants: ListColumn
    stacks: ListColumn
    size: NumberColumn
    tarball: PlainColumn
    namespace: Column[str | None]
    package_hash: Column[str | None]
    provided_virtuals: ListColumn
    spec_format: Column[int | None]

    def __init__(self, table: pa.Table, digest: str, *, in_cache: bool = True) -> None:
        self.digest = digest
        inside, outside = split_by_cache(table)
        table = inside if in_cache else outside
        columns = {
            fact.name: _fact_column(fact, table[fact.name])
            for fact in SPEC_FACTS.values()
            if fact.encoding is not Encoding.EDGES
        }
        rows = _own_order(columns)
        self.columns = {name: column.reordered(rows) for name, column in columns.items()}
        vars(self).update(self.columns, package=self.columns["name"], hashes=self.columns["hash"])
        self._orders: dict[SpecField, tuple[Rows, Rows]] = {}
        counts = np.bincount(self.package.codes, minlength=len(self.package.values))
        self.starts: npt.NDArray[np.int32] = np.concatenate(([0], np.cumsum(counts))).astype(
            np.int32
        )
        # Every comparison needs the fingerprints, so they are computed while the frame is loaded.
        self.fingerprints = mixed(
            self.stacks_without_root[self.stacks.codes].astype(np.uint64),
            *(getattr(self, name).row_hashes() for name in COMPARED_FACTS if name != "stacks"),
        )

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def num_bytes(self) -> int:
        """Approximate memory used by the frame alone and the data that queries derive, in bytes."""
        orders = 2 * len(SpecField) * 4 * len(self)
        return orders + sum(column.num_bytes for column in self.columns.values())

    # -- packages and stacks

    @property
    def packages(self) -> Sequence[str]:
        """Names of all packages, sorted."""
        return self.package.values

    def rows_of(self, package: str) -> slice | None:
        """Return the rows of a package's specs; None if there is no such package."""
        code = self.package.index.get(package)
        return None if code is None else self.slice_of(code)

    def slice_of(self, code: int) -> slice:
        """Return the rows of the specs of the package with this code."""
        return slice(int(self.starts[code]), int(self.starts[code + 1]))

    @cached_property
    def stacks_without_root(self) -> npt.NDArray[np.int64]:
        """A 64-bit hash of each distinct list of stacks, computed without the root stack."""
        return self.stacks.fingerprints_without(ROOT_STACK)

    def in_stack(self, stack: str) -> Mask:
        """Return a mask of the rows of the specs of a stack."""
        return self.stacks.having(stack)[self.stacks.codes]

    # -- specs

    def row_of_prefix(self, prefix: str) -> int | None:
        """Return the row of the hash that begins with a prefix; None if there is none.

        Raises AmbiguousHash if there are several.
        """
        rows = self.hashes.with_prefix(prefix)
        if len(rows) > 1:
            some = {
                self.hashes.at(row): versioned(self.package.at(row), self.version.at(row))
                for row in rows[:_MAX_CANDIDATES].tolist()
            }
            raise AmbiguousHash(prefix, some, len(rows))
        return int(rows[0]) if len(rows) else None

    def spec(self, row: int) -> Spec:
        """Return the record of a row, without its dependencies."""
        return Spec(**{name: at(row) for name, at in self._readers})

    @cached_property
    def _readers(self) -> Sequence[tuple[str, Callable[[int], Any]]]:
        return [(name, column.at) for name, column in self.columns.items()]

    # -- selection

    def select(self, conditions: filters.SpecFilter, within: slice = slice(None)) -> Mask:
        """Return a mask over the rows of ``within``, of those that meet all conditions."""
        mask = np.ones(len(range(*within.indices(len(self)))), np.bool_)
        for name, condition in asdict(conditions).items():
            if condition is not None and name != "hash_prefix":
                column_name, accepted = filters.CONDITIONS[name]
                column = getattr(self, column_name)
                mask &= accepted(column, condition)[column.codes[within]]
        if conditions.hash_prefix is not None:
            has_prefix = np.zeros(len(self), np.bool_)
            has_prefix[self.hashes.with_prefix(conditions.hash_prefix)] = True
            mask &= has_prefix[within]
        return mask

    def select_packages(self, conditions: filters.SpecFilter) -> Rows:
        """Return the codes of the packages with a spec that meets all conditions, by name."""
        return rows_where(self.packages_having(self.select(conditions)))

    def packages_having(self, mask: Mask) -> Mask:
        """Return a mask of the packages with at least one selected row."""
        packages: Mask = np.logical_or.reduceat(mask, self.starts[:-1])  # sorted by package
        return packages

    # -- orders

    def order(self, field: SpecField) -> tuple[Rows, Rows]:
        """Return the rows in ascending order, and the position of each row in it; both cached."""
        if field not in self._orders:
            order = self._sorted(field)
            places = np.empty_like(order)
            places[order] = np.arange(len(order), dtype=np.int32)
            self._orders[field] = order, places
        return self._orders[field]

    def _sorted(self, field: SpecField) -> Rows:
        match field:
            case SpecField.PACKAGE:
                return np.arange(len(self), dtype=np.int32)
            case SpecField.HASH:
                return self.hashes.order
        column = getattr(self, field.value)
        numbers = column.numbers if isinstance(column, NumberColumn) else column.codes
        return np.argsort(numbers, kind="stable").astype(np.int32)

    def sort_packages(self, codes: Rows, field: PackageField) -> Rows:
        """Return the package codes in ascending order."""
        if field is PackageField.NAME:
            return codes
        by_size = field is PackageField.SIZE
        keys = self.size.totals(slice(None), self.starts) if by_size else np.diff(self.starts)
        return codes[np.argsort(keys[codes], kind="stable")]

    # -- facets

    def facet(self, name: str, rows: Rows | slice) -> list[tuple[str, int]]:
        """Count the rows by a column's values, largest count first, ties in the column's order."""
        column = getattr(self, name)
        counts = column.item_counts(rows) if isinstance(column, ListColumn) else column.counts(rows)
        return sorted(counts, key=itemgetter(1), reverse=True)


def _fact_column(fact: Fact, values: pa.ChunkedArray) -> FactColumn:
    """Return the column of a fact in a frame."""
    if fact.encoding is Encoding.KEY:
        return Hashes(words_of(values))
    is_unknown = len(values) > 0 and values.null_count == len(values)  # common in older sources
    if fact.encoding is Encoding.PLAIN:
        if fact.value_type is int:
            return number_column_of(values)
        return PlainColumn(pa.nulls(len(values)) if is_unknown else values.combine_chunks())
    is_list = fact.value_type == tuple[str, ...]
    if is_unknown:
        codes, none = np.zeros(len(values), np.int32), np.empty(0, np.int32)
        unknown: list[Any] = [None]
        return ListColumn(codes, unknown, [], none) if is_list else Column(codes, unknown)
    return list_column_of(values) if is_list else column_of(values, fact.sort_key)


def _own_order(columns: Mapping[str, Any]) -> Rows:
    """Return the rows by package, then newest version first, then by hash."""
    names, versions, by_hash = columns["name"], columns["version"], columns["hash"].order
    newest_first = len(versions.values) - versions.codes.astype(np.int64)
    group = names.codes.astype(np.int64) * (len(versions.values) + 1) + newest_first
    rows: Rows = by_hash[np.argsort(group[by_hash], kind="stable")]
    return rows
