"""The packages that changed, as columns."""

from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec
import numpy as np
import numpy.typing as npt

from snapshots.arrays import NO_ROW, Codes, Mask, Numbers, Rows
from snapshots.changes.pairings import ChangeTable, CommonNames, Pairing, code_of
from snapshots.changes.sides import row_hashes
from snapshots.frames.columns import Arrays, begins_of_runs, mixed, places_of_runs, rows_where
from snapshots.frames.frame import Frame
from snapshots.models import ARCHITECTURE
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.versions import VersionKey, is_older, place_in_order


class PackageTotals(Arrays):
    """Totals by package over some ascending rows of a frame.

    ``codes`` are the packages' codes in the frame, in any order; -1 is a package that the frame
    does not have. ``num_specs`` counts the rows of each.
    """

    def __init__(self, frame: Frame, rows: Rows | slice, codes: Codes) -> None:
        of_row = frame.package.codes[rows]
        starts = frame.starts
        if not isinstance(rows, slice):
            starts = np.searchsorted(of_row, np.arange(len(frame.packages) + 1)).astype(np.int32)
        self._frame = frame
        # Rows are sorted by package and version, so equal versions of a package form a run.
        versions = frame.version.codes[rows]
        runs = np.flatnonzero(begins_of_runs(versions) | begins_of_runs(of_row))
        self._versions = versions[runs]
        bounds = np.searchsorted(runs, starts).astype(np.int32)
        self._begins, self._ends = _at(bounds[:-1], codes), _at(bounds[1:], codes)
        self.num_specs = _at(np.diff(starts), codes)
        self._sizes = _at(frame.size.totals(rows, starts), codes)

    def size(self, place: int) -> int | None:
        """Return the sum of the known sizes of a package, in bytes; None if no size is known."""
        size = int(self._sizes[place])
        return None if size == NO_ROW else size

    def total_size(self) -> int | None:
        """Return the sum of all known sizes, in bytes; None if no size is known."""
        sizes = self._sizes[(self._sizes != NO_ROW) & (self.num_specs > 0)]
        return int(sizes.sum()) if len(sizes) else None

    def versions(self, place: int) -> tuple[str, ...]:
        """Return the versions of a package, newest first."""
        codes = self._versions[self._begins[place] : self._ends[place]]
        return tuple(self._frame.version.values[code] for code in codes.tolist())

    def newest(self, place: int) -> str:
        """Return the newest version of a package, which must have one."""
        return self._frame.version.values[int(self._versions[self._begins[place]])]

    def num_versions(self, places: Codes) -> npt.NDArray[np.integer]:
        """Return the number of versions of each of the packages."""
        return self._ends[places] - self._begins[places]

    def version_fingerprints(self, places: Codes) -> npt.NDArray[np.int64]:
        """Return a fingerprint of each version of the packages, package by package."""
        counts = self.num_versions(places)
        offsets = np.cumsum(counts) - counts
        numbers = np.repeat(self._begins[places] - offsets, counts) + np.arange(counts.sum())
        prints: npt.NDArray[np.int64] = self._frame.version.fingerprints[self._versions[numbers]]
        return prints


def _at(values: npt.NDArray[np.integer], codes: Codes) -> npt.NDArray[np.integer]:
    """Return the values of the codes, 0 for -1."""
    return np.append(values, values.dtype.type(0))[codes]


class PackageChangeKind(Enum):
    """How a package changed: the first kind that applies, in this order.

    - ADDED: Only in head.
    - REMOVED: Only in base.
    - UPGRADED: The newest version rose, in Spack's version order.
    - DOWNGRADED: The newest version fell, on an architecture or in a stack that both have.
    - VERSIONS_CHANGED: The set of versions differs, and the package is neither upgraded nor
      downgraded, as to or from a git ref that represents no version.
    - BUILDS_CHANGED: The same versions; specs were added, and others removed.
    - MORE_BUILDS: The same versions; specs were only added.
    - FEWER_BUILDS: The same versions; specs were only removed.
    - CHANGED: The same hashes, other facts about them.
    """

    # A package is downgraded only if its newest version is lower on an architecture or in a
    # stack that both sides have; otherwise the architecture or stack was removed, not the version.
    ADDED = "added"
    REMOVED = "removed"
    UPGRADED = "upgraded"
    DOWNGRADED = "downgraded"
    VERSIONS_CHANGED = "versions_changed"
    BUILDS_CHANGED = "builds_changed"
    MORE_BUILDS = "more_builds"
    FEWER_BUILDS = "fewer_builds"
    CHANGED = "changed"


class PackageChangeField(Enum):
    """The fields by which changed packages can be ordered.

    Ties are ordered by name.

    - NAME: By name.
    - KIND: By what happened to them, in the order of PackageChangeKind.
    """

    NAME = "name"
    KIND = "kind"


_KINDS = tuple(PackageChangeKind)


class PackageChange(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A package that changed.

    Versions are newest first; the newest version before or after is None if there is no spec.

    Sizes are the sums of the known sizes, in bytes: None if no size is known, 0 if there is no
    spec.
    """

    kind: PackageChangeKind
    name: str
    newest_before: str | None
    newest_after: str | None
    versions_before: tuple[str, ...]
    versions_after: tuple[str, ...]
    specs_added: int
    specs_removed: int
    specs_changed: int
    size_before: int | None
    size_after: int | None

    @property
    def versions_added(self) -> list[str]:
        """The versions that only head has, newest first."""
        return _only_in(self.versions_after, self.versions_before)

    @property
    def versions_removed(self) -> list[str]:
        """The versions that only base has, newest first."""
        return _only_in(self.versions_before, self.versions_after)


class PackageChanges(ChangeTable[PackageChange]):
    """A table of changed packages, by name; records are created on access.

    The columns are ``places`` (indices into ``names``), ``kinds`` (codes in the order of
    PackageChangeKind) and the numbers of specs that were added, removed and changed.
    """

    def __init__(
        self,
        names: CommonNames,
        totals: tuple[PackageTotals, PackageTotals],
        places: Codes,
        kinds: npt.NDArray[np.int8],
        specs: Numbers,
    ) -> None:
        self.names = names
        self.places = places
        self.kinds = kinds
        self._specs = specs
        self._totals = totals

    def _record(self, number: int) -> PackageChange:
        place = int(self.places[number])
        before, after = (totals.versions(place) for totals in self._totals)
        sizes = [totals.size(place) for totals in self._totals]
        added, removed, changed = self._specs[:, number].tolist()
        return PackageChange(
            kind=_KINDS[self.kinds[number]],
            name=self.names.names[place],
            newest_before=before[0] if before else None,
            newest_after=after[0] if after else None,
            versions_before=before,
            versions_after=after,
            specs_added=added,
            specs_removed=removed,
            specs_changed=changed,
            size_before=sizes[0],
            size_after=sizes[1],
        )

    @property
    def num_compared(self) -> int:
        """Number of packages that have a compared spec on either side, including unchanged ones."""
        before, after = (totals.num_specs > 0 for totals in self._totals)
        return int(np.count_nonzero(before | after))

    def total_sizes(self) -> tuple[int | None, int | None]:
        """Return the sums of the known sizes before and after, including unchanged packages.

        The sum of a side is None if no size is known.
        """
        before, after = self._totals
        return before.total_size(), after.total_size()

    def take(self, numbers: slice | Mask | Rows) -> "PackageChanges":
        """Return the table of the changes at some indices."""
        columns = self.places[numbers], self.kinds[numbers], self._specs[:, numbers]
        return PackageChanges(self.names, self._totals, *columns)

    def select(
        self, kinds: Sequence[PackageChangeKind] | None = None, search: str | None = None
    ) -> "PackageChanges":
        """Return the changes of the given kinds whose package name contains the text.

        The search ignores case.
        """
        mask = self.of_kinds(kinds)
        if search:
            mask &= self.names.with_text(search)[self.places]
        return self if mask.all() else self.take(mask)

    def find(self, name: str) -> int | None:
        """Return the index of a package; None if it is not among the changes."""
        (numbers,) = np.nonzero(self.places == self.names.place_of(name))
        return int(numbers[0]) if len(numbers) else None


def _only_in(versions: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    if versions == others:
        return []
    return [version for version in versions if version not in others]


def list_package_changes(pairing: Pairing, names: CommonNames) -> PackageChanges:
    """Return the table of all packages that changed."""
    before = PackageTotals(pairing.base, pairing.base_rows, names.in_base)
    after = PackageTotals(pairing.head, pairing.head_rows, names.in_head)
    of_base = names.from_base[pairing.base.package.codes[pairing.removed]]
    head_codes = pairing.head.package.codes
    of_head = (
        names.from_head[head_codes[rows]] for rows in (pairing.added, pairing.changed.head_rows)
    )
    added, changed = (np.bincount(codes, minlength=len(names)) for codes in of_head)
    removed = np.bincount(of_base, minlength=len(names))
    is_before, is_after = before.num_specs > 0, after.num_specs > 0
    places = rows_where((added + removed + changed > 0) | (is_before != is_after))
    specs = np.stack([counts[places] for counts in (added, removed, changed)])
    kinds = _kinds(before, after, places, specs)
    downgraded = np.flatnonzero(kinds == code_of(PackageChangeKind.DOWNGRADED))
    elsewhere = downgraded[~_are_downgraded(pairing, names, places[downgraded])]
    kinds[elsewhere] = code_of(PackageChangeKind.VERSIONS_CHANGED)
    return PackageChanges(names, (before, after), places, kinds, specs)


def _kinds(
    before: PackageTotals, after: PackageTotals, places: Codes, specs: Numbers
) -> npt.NDArray[np.int8]:
    """Return the kind of change of each of the packages; ``specs`` are numbers by kind."""
    is_before, is_after = before.num_specs[places] > 0, after.num_specs[places] > 0
    in_both = np.flatnonzero(is_before & is_after)
    in_both = in_both[_versions_differ(before, after, places[in_both])]
    newest = {
        number: (place_in_order(before.newest(place)), place_in_order(after.newest(place)))
        for number, place in zip(in_both.tolist(), places[in_both].tolist(), strict=True)
    }
    return package_kinds(is_before, is_after, specs[0] > 0, specs[1] > 0, newest)


def _are_downgraded(pairing: Pairing, names: CommonNames, places: Codes) -> Mask:
    """Return which packages have a lower newest version on a common architecture or stack.

    Only architectures and stacks for which both sides have the package count.
    """
    fell = np.zeros(len(places), np.bool_)
    if not len(places):
        return fell
    base, head = pairing.base, pairing.head
    keys, packages, before = _newest(base, pairing.base_rows, names.in_base[places])
    keys_of_head, _, after = _newest(head, pairing.head_rows, names.in_head[places])
    _, ours, theirs = np.intersect1d(keys, keys_of_head, assume_unique=True, return_indices=True)
    old = map(base.version.values.__getitem__, before[ours].tolist())
    new = map(head.version.values.__getitem__, after[theirs].tolist())
    are_older = np.fromiter(map(is_older, new, old), np.bool_, len(ours))
    fell[packages[ours][are_older]] = True
    return fell


def _newest(
    frame: Frame, compared: Rows | slice, codes: Codes
) -> tuple[npt.NDArray[np.uint64], Codes, Codes]:
    """Return the locations of packages, architectures and stacks, with the newest versions there.

    The result contains a hash of the package and the location, the index of the package in
    ``codes``, and the code of the version.
    """
    starts, ends = frame.starts[codes], frame.starts[codes + 1]
    rows = places_of_runs(starts.astype(np.int64), ends - starts).astype(np.int32)
    packages = np.repeat(np.arange(len(codes), dtype=np.int32), ends - starts)
    if not isinstance(compared, slice):
        is_compared = np.isin(rows, compared)
        rows, packages = rows[is_compared], packages[is_compared]
    owners, items = frame.stacks.items_of(frame.stacks.codes[rows])
    is_stack = np.array([item != ROOT_STACK for item in frame.stacks.items], np.bool_)[items]
    owners, items = owners[is_stack], items[is_stack]
    stacks = np.fromiter(map(hash, frame.stacks.items), np.int64, len(frame.stacks.items))
    architectures = row_hashes(frame, rows, ARCHITECTURE)
    places = np.concatenate([architectures, stacks[items].astype(np.uint64)])
    owner = np.concatenate([np.arange(len(rows)), owners])
    # The newest version of a package comes first.
    keys, first = np.unique(mixed(packages[owner].astype(np.uint64), places), return_index=True)
    return keys, packages[owner[first]], frame.version.codes[rows[owner[first]]]


def package_kinds(
    was_there: Mask,
    is_there: Mask,
    has_added: Mask,
    has_removed: Mask,
    newest: Mapping[int, tuple[VersionKey | None, VersionKey | None]],
) -> npt.NDArray[np.int8]:
    """Return the codes of the first kind that applies to each of some packages.

    ``has_added`` and ``has_removed`` mark packages with such specs. ``newest`` contains the newest
    version before and after of packages whose versions differ, by their numbers; None if it has no
    place in the order.
    """
    kinds = np.full(len(was_there), code_of(PackageChangeKind.CHANGED), np.int8)
    kinds[has_removed] = code_of(PackageChangeKind.FEWER_BUILDS)
    kinds[has_added] = code_of(PackageChangeKind.MORE_BUILDS)
    kinds[has_added & has_removed] = code_of(PackageChangeKind.BUILDS_CHANGED)
    for number, (old, new) in newest.items():
        kind = PackageChangeKind.VERSIONS_CHANGED
        if old is not None and new is not None and old != new:
            kind = PackageChangeKind.UPGRADED if new > old else PackageChangeKind.DOWNGRADED
        kinds[number] = code_of(kind)
    kinds[~is_there] = code_of(PackageChangeKind.REMOVED)
    kinds[~was_there] = code_of(PackageChangeKind.ADDED)
    return kinds


def _versions_differ(before: PackageTotals, after: PackageTotals, places: Codes) -> Mask:
    """Return which of the packages, which have versions on both sides, have different versions."""
    num_versions = before.num_versions(places)
    differ: Mask = num_versions != after.num_versions(places)
    # Both sides are sorted, newest first, so equal sets are equal lists.
    alike = np.flatnonzero(~differ)
    if len(alike):
        lists = (totals.version_fingerprints(places[alike]) for totals in (before, after))
        starts = np.cumsum(num_versions[alike]) - num_versions[alike]
        differ[alike] = np.logical_or.reduceat(np.not_equal(*lists), starts)
    return differ
