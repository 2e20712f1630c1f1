"""What changed between two frames: pure, hash by hash, then folded to packages and stacks.

Hashes are the stable key. Everything else follows from one pairing of them: what only head has was
added, what only base has was removed, and a hash that both have changed if a fact about it did.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from snapshots.frames.columns import Column, Mask, NumberColumn, Rows, rows_where
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import match
from snapshots.models import SPEC_FACTS, Spec
from snapshots.spack.names import ROOT_STACK, natural_key
from snapshots.spack.versions import version_key

LEFT_OUT = (
    f"the stack {ROOT_STACK}, which is the union of all others",
    "facts that only one of the two revisions knows, such as sizes that were read for one of them",
    "tarball URLs, which name the tag and stack that a binary was fetched for",
    "dependencies, which are the same as long as the hash is",
    "the order of lists, and the two spellings of compilers and variants",
)
"""What a comparison does not count as a change."""

_COMPARED = [fact for fact in SPEC_FACTS.values() if fact.is_compared]
_ALWAYS_KNOWN = [
    fact.name
    for fact in _COMPARED
    if not fact.may_be_unknown and fact.name not in ("name", "stacks")
]
_SOMETIMES_KNOWN = [fact.name for fact in _COMPARED if fact.may_be_unknown]


class SpecChangeKind(Enum):
    """What became of a hash."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class PackageChangeKind(Enum):
    """What became of a package: the first that applies, in this order."""

    ADDED = "added"
    REMOVED = "removed"
    UPGRADED = "upgraded"
    DOWNGRADED = "downgraded"
    VERSIONS_CHANGED = "versions_changed"
    REBUILT = "rebuilt"
    CHANGED = "changed"


class StackChangeKind(Enum):
    """What became of a stack."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class SpecChange(msgspec.Struct, frozen=True):
    """A hash that came, went or changed, with its row in base and in head where it is there."""

    kind: SpecChangeKind
    hash: str
    name: str
    before: int | None
    after: int | None


class PackageChange(msgspec.Struct, frozen=True, kw_only=True):
    """A package that changed. Versions are newest first; ``newest`` ones None where it is not.

    Sizes are the sums of those that are known, in bytes; None where none is, 0 where there is no
    package.
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
        return [version for version in self.versions_after if version not in self.versions_before]

    @property
    def versions_removed(self) -> list[str]:
        """The versions that only base has, newest first."""
        return [version for version in self.versions_before if version not in self.versions_after]


class StackChange(msgspec.Struct, frozen=True, kw_only=True):
    """A stack that came, went, or has other specs than it had."""

    kind: StackChangeKind
    name: str
    num_specs_before: int
    num_specs_after: int
    size_before: int | None
    size_after: int | None
    specs_added: int
    specs_removed: int
    packages_added: tuple[str, ...]
    packages_removed: tuple[str, ...]


class Comparison:
    """The difference from base to head. The hashes are paired at once, the rest when asked for."""

    def __init__(self, base: Frame, head: Frame) -> None:
        self.base = base
        self.head = head
        partners = match(base.hashes, head.hashes)
        is_new = np.ones(len(head), np.bool_)
        is_new[partners[partners >= 0]] = False
        self.removed = rows_where(partners < 0)
        self.added = rows_where(is_new)
        self._base_rows = rows_where(partners >= 0)
        self._head_rows: Rows = partners[self._base_rows]
        changed: Mask = base.fingerprints[self._base_rows] != head.fingerprints[self._head_rows]
        for name in _SOMETIMES_KNOWN:
            changed |= _differs_where_known(base, self._base_rows, head, self._head_rows, name)
        self.changed = self._base_rows[changed], self._head_rows[changed]

    @property
    def num_bytes(self) -> int:
        """About how much memory the comparison keeps, its two frames included."""
        num_changes = len(self.added) + len(self.removed) + len(self.changed[0])
        frames = self.base.num_bytes + self.head.num_bytes
        return 19 * len(self._base_rows) + 400 * num_changes + frames

    @property
    def num_unchanged(self) -> int:
        """How many hashes both have, with the same facts."""
        return len(self._base_rows) - len(self.changed[0])

    @cached_property
    def _changed_fields(self) -> dict[str, Mask]:
        """For each fact, a mask over the changed hashes: those where it differs."""
        (before, after), (base, head) = self.changed, (self.base, self.head)
        fields = {"name": _differs(base.package, before, head.package, after)}
        for name in _ALWAYS_KNOWN:
            fields[name] = _differs(getattr(base, name), before, getattr(head, name), after)
        fields["stacks"] = (
            base.stacks_without_root[base.stacks.codes[before]]
            != head.stacks_without_root[head.stacks.codes[after]]
        )
        for name in _SOMETIMES_KNOWN:
            fields[name] = _differs_where_known(base, before, head, after, name)
        return fields

    # -- specs

    @cached_property
    def specs(self) -> list[SpecChange]:
        """Every hash that came, went or changed, by package and hash."""
        return sorted(self._spec_changes(), key=lambda change: (change.name, change.hash))

    def _spec_changes(self) -> Iterator[SpecChange]:
        for row in self.added.tolist():
            yield self._spec_change(SpecChangeKind.ADDED, None, row)
        for row in self.removed.tolist():
            yield self._spec_change(SpecChangeKind.REMOVED, row, None)
        for before, after in zip(*(rows.tolist() for rows in self.changed), strict=True):
            yield self._spec_change(SpecChangeKind.CHANGED, before, after)

    def _spec_change(
        self, kind: SpecChangeKind, before: int | None, after: int | None
    ) -> SpecChange:
        frame, row = (self.base, before) if after is None else (self.head, after)
        assert row is not None  # noqa: S101 - one of the two sides has the hash
        return SpecChange(kind, frame.hashes.at(row), frame.package.at(row), before, after)

    def select_specs(
        self,
        kinds: Sequence[SpecChangeKind] | None = None,
        wanted: SpecFilter | None = None,
    ) -> list[SpecChange]:
        """Return the changes of these kinds whose spec is wanted, as it was or as it is."""
        changes = self.specs
        if kinds is not None:
            changes = [change for change in changes if change.kind in kinds]
        if wanted is not None:
            before, after = self.base.select(wanted), self.head.select(wanted)
            changes = [
                change
                for change in changes
                if (change.before is not None and before[change.before])
                or (change.after is not None and after[change.after])
            ]
        return changes

    # -- packages

    @cached_property
    def packages(self) -> list[PackageChange]:
        """Every package that changed, in natural order."""
        names = {*self.base.packages, *self.head.packages}
        changes = (self._package_change(name) for name in sorted(names, key=natural_key))
        return [change for change in changes if change is not None]

    @cached_property
    def num_packages_unchanged(self) -> int:
        """How many packages both have with the same hashes and facts."""
        return len({*self.base.packages, *self.head.packages}) - len(self.packages)

    def select_packages(
        self, kinds: Sequence[PackageChangeKind] | None = None, search: str | None = None
    ) -> list[PackageChange]:
        """Return the changes of these kinds, of packages with the text in their name."""
        return [
            change
            for change in self.packages
            if (kinds is None or change.kind in kinds)
            and (search is None or search.lower() in change.name.lower())
        ]

    @cached_property
    def _counts(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        """How many specs of each package were added, removed, changed."""
        head, base = self.head.package, self.base.package
        return (
            dict(head.counts(self.added)),
            dict(base.counts(self.removed)),
            dict(head.counts(self.changed[1])),
        )

    def _package_change(self, name: str) -> PackageChange | None:
        added, removed, changed = (counts.get(name, 0) for counts in self._counts)
        in_both = name in self.base.package.index and name in self.head.package.index
        if in_both and not (added or removed or changed):
            return None
        before, after = self.base.versions_of(name), self.head.versions_of(name)
        return PackageChange(
            kind=_package_change_kind(before, after, rebuilt=bool(added or removed)),
            name=name,
            newest_before=before[0] if before else None,
            newest_after=after[0] if after else None,
            versions_before=before,
            versions_after=after,
            specs_added=added,
            specs_removed=removed,
            specs_changed=changed,
            size_before=_size_of(self.base, self.base.rows_of(name)),
            size_after=_size_of(self.head, self.head.rows_of(name)),
        )

    def changed_facts(self, package: str) -> dict[str, int]:
        """Return of how many persisting specs of a package each fact changed."""
        rows = self.head.rows_of(package)
        if rows is None:
            return {}
        _, changed = self.changed
        inside = (changed >= rows.start) & (changed < rows.stop)
        counts = {name: int((mask & inside).sum()) for name, mask in self._changed_fields.items()}
        return {name: count for name, count in counts.items() if count}

    # -- stacks

    @cached_property
    def stacks(self) -> list[StackChange]:
        """Every stack that came, went or has other specs, in natural order; root is left out."""
        names = {*self.base.stacks.items, *self.head.stacks.items} - {ROOT_STACK}
        changes = (self._stack_change(name) for name in sorted(names, key=natural_key))
        return [change for change in changes if change is not None]

    def _stack_change(self, name: str) -> StackChange | None:
        before, after = self.base.in_stack(name), self.head.in_stack(name)
        gone, come = before.copy(), after.copy()
        gone[self._base_rows] &= ~after[self._head_rows]
        come[self._head_rows] &= ~before[self._base_rows]
        num_before, num_after = int(before.sum()), int(after.sum())
        added, removed = int(come.sum()), int(gone.sum())
        if num_before and num_after and not (added or removed):
            return None
        kind = StackChangeKind.CHANGED
        if not num_before:
            kind = StackChangeKind.ADDED
        elif not num_after:
            kind = StackChangeKind.REMOVED
        rows_before, rows_after = rows_where(before), rows_where(after)
        packages_before = set(self.base.package.present(rows_before))
        packages_after = set(self.head.package.present(rows_after))
        return StackChange(
            kind=kind,
            name=name,
            num_specs_before=num_before,
            num_specs_after=num_after,
            size_before=_size_of(self.base, rows_before),
            size_after=_size_of(self.head, rows_after),
            specs_added=added,
            specs_removed=removed,
            packages_added=tuple(sorted(packages_after - packages_before, key=natural_key)),
            packages_removed=tuple(sorted(packages_before - packages_after, key=natural_key)),
        )


def _differs(before: Column[Any], before_rows: Rows, after: Column[Any], after_rows: Rows) -> Mask:
    """Return where two columns differ, row by row."""
    mask: Mask = (
        before.fingerprints[before.codes[before_rows]]
        != after.fingerprints[after.codes[after_rows]]
    )
    return mask


def _differs_where_known(
    base: Frame, base_rows: Rows, head: Frame, head_rows: Rows, name: str
) -> Mask:
    """Return where a fact differs that a source may not know: only where both sides know it."""
    before, after = getattr(base, name), getattr(head, name)
    if not (before.is_known and after.is_known):
        return np.zeros(len(base_rows), np.bool_)
    if isinstance(before, NumberColumn):
        old, new = before.numbers[base_rows], after.numbers[head_rows]
        of_numbers: Mask = (old != new) & (old >= 0) & (new >= 0)
        return of_numbers
    if len(before.values) == 1 and before.values == after.values:
        return np.zeros(len(base_rows), np.bool_)
    known: Mask = before.known()[before.codes[base_rows]] & after.known()[after.codes[head_rows]]
    return known & _differs(before, base_rows, after, head_rows)


def _size_of(frame: Frame, rows: Rows | slice | None) -> int | None:
    """Return the sum of the known sizes, 0 where there is nothing that could have one."""
    if rows is None or (not isinstance(rows, slice) and not len(rows)):
        return 0
    return frame.size.total(rows)


def _package_change_kind(
    before: Sequence[str], after: Sequence[str], *, rebuilt: bool
) -> PackageChangeKind:
    """Return the first kind that applies; versions are newest first, some if the package is."""
    if not before:
        return PackageChangeKind.ADDED
    if not after:
        return PackageChangeKind.REMOVED
    rise = version_key(after[0]), version_key(before[0])
    if rise[0] > rise[1]:
        return PackageChangeKind.UPGRADED
    if rise[0] < rise[1]:
        return PackageChangeKind.DOWNGRADED
    if set(before) != set(after):
        return PackageChangeKind.VERSIONS_CHANGED
    return PackageChangeKind.REBUILT if rebuilt else PackageChangeKind.CHANGED


class FieldChange(msgspec.Struct, frozen=True):
    """A fact about a hash that differs; the values are as JSON would have them."""

    path: str
    before: Any
    after: Any


def field_changes(before: Spec, after: Spec) -> list[FieldChange]:
    """Return the facts that differ between two records of one hash, by name.

    What a comparison leaves out (LEFT_OUT) is left out here too.
    """
    from deepdiff import DeepDiff  # 0.2 s to import, and few requests come this far

    old, new = _facts(before), _facts(after)
    known = [name for name in old if name in new]
    difference = DeepDiff(
        {name: old[name] for name in known},
        {name: new[name] for name in known},
        ignore_order=True,
    )
    changed = set(difference.affected_root_keys)
    return [FieldChange(name, old[name], new[name]) for name in sorted(known) if name in changed]


def _facts(spec: Spec) -> dict[str, Any]:
    facts = {fact.name: msgspec.to_builtins(getattr(spec, fact.name)) for fact in _COMPARED}
    facts["stacks"] = [stack for stack in spec.stacks if stack != ROOT_STACK]
    unknown = [name for name in _SOMETIMES_KNOWN if facts[name] is None]
    return {name: value for name, value in facts.items() if name not in unknown}
