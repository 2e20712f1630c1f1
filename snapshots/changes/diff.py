"""The difference of two frames: pure, hash by hash, then folded to packages and stacks."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from snapshots.changes.common_names import CommonNames
from snapshots.changes.facts import (
    FACTS,
    FieldChange,
    RowPairs,
    count_changed_facts,
    field_changes,
)
from snapshots.changes.package_changes import (
    PackageChangeKind,
    PackageChanges,
    list_package_changes,
)
from snapshots.changes.pairing import Pairing, pair
from snapshots.changes.spec_changes import (
    SpecChange,
    SpecChangeKind,
    SpecChanges,
    list_spec_changes,
)
from snapshots.changes.stack_changes import StackChanges, common_stacks
from snapshots.frames.columns import Mask
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK

LEFT_OUT = (
    f"the stack {ROOT_STACK}, which is the union of all others",
    "facts that only one of the two revisions knows, such as sizes that were read for one of them",
    "tarball URLs, which name the tag and stack that a binary was fetched for",
    "dependencies and patches, which are the same as long as the hash is",
    "the order of lists, and the two spellings of compilers and variants",
)
"""What a comparison does not count as a change."""


class Comparison:
    """The difference from base to head, in columns that are made at once.

    ``specs``, ``packages`` and ``stacks`` are the tables of what changed.
    """

    def __init__(self, base: Frame, head: Frame, pairing: Pairing | None = None) -> None:
        self.base = base
        self.head = head
        self.pairing = pair(base, head) if pairing is None else pairing
        names = CommonNames(base.packages, head.packages)
        self.specs: SpecChanges = list_spec_changes(self.pairing, names)
        self.packages: PackageChanges = list_package_changes(self.pairing, names)
        self.stacks = StackChanges(self.pairing, common_stacks(self.pairing), names)

    def narrowed(self, conditions: SpecFilter) -> "Comparison":
        """Return the comparison of the specs that meet the conditions, before or after.

        A hash that both frames have counts, with both of its sides, where one side meets them.
        Everything follows from these specs alone: the summary, packages, stacks, what is unchanged.
        """
        return Comparison(self.base, self.head, self.pairing.narrowed(conditions))

    def narrowed_to(self, base_mask: Mask, head_mask: Mask) -> "Comparison":
        """Return the comparison of the specs that the masks mark, as ``narrowed`` does."""
        return Comparison(self.base, self.head, self.pairing.narrowed_to(base_mask, head_mask))

    @property
    def num_bytes(self) -> int:
        """About how much memory the comparison keeps, its two frames included."""
        return self.own_bytes + self.base.num_bytes + self.head.num_bytes

    @property
    def own_bytes(self) -> int:
        """About how much memory the comparison takes beside its frames."""
        tables = (self.pairing, self.specs, self.packages, self.stacks, self.packages.names)
        facts = 4 * len(FACTS) * len(self.head.packages)
        return sum(table.num_bytes for table in tables) + facts

    @property
    def num_unchanged(self) -> int:
        """How many hashes both have, with the same facts."""
        return self.pairing.persisting.size - self.pairing.changed.size

    @property
    def num_packages_unchanged(self) -> int:
        """How many packages both have with the same hashes and facts."""
        return self.packages.num_compared - len(self.packages)

    def select_specs(
        self,
        kinds: Sequence[SpecChangeKind] | None = None,
        conditions: SpecFilter | None = None,
    ) -> SpecChanges:
        """Return the changes of these kinds whose spec meets the conditions before or after."""
        return self.specs.select(kinds, conditions)

    def select_packages(
        self, kinds: Sequence[PackageChangeKind] | None = None, search: str | None = None
    ) -> PackageChanges:
        """Return the changes of these kinds, of packages with the text in their name."""
        return self.packages.select(kinds, search)

    def field_changes(self, change: SpecChange) -> list[FieldChange]:
        """Return the facts that differ, by name; none unless the change is of kind CHANGED."""
        if change.before is None or change.after is None:
            return []
        before, after = np.array([change.before]), np.array([change.after])
        (fields,) = field_changes(RowPairs(self.base, before, self.head, after))
        return fields

    @cached_property
    def _changed_facts(self) -> npt.NDArray[np.int32]:
        return count_changed_facts(self.pairing.changed)

    def changed_facts_by_package(self) -> dict[str, dict[str, int]]:
        """Return what ``changed_facts`` returns for each package where it is not empty."""
        packages, facts = np.nonzero(self._changed_facts.T)
        counts = self._changed_facts[facts, packages].tolist()
        found: dict[str, dict[str, int]] = {}
        for code, fact, count in zip(packages.tolist(), facts.tolist(), counts, strict=True):
            found.setdefault(self.head.package.values[code], {})[FACTS[fact]] = count
        return found

    def changed_facts(self, package: str) -> dict[str, int]:
        """Return of how many persisting specs of a package each fact changed."""
        code = self.head.package.index.get(package)
        if code is None:
            return {}
        counts = zip(FACTS, self._changed_facts[:, code].tolist(), strict=True)
        return {name: count for name, count in counts if count}
