"""Why a spec was added or removed: the first reason that applies, in columns."""

from collections.abc import Sequence
from enum import Enum

import msgspec
import numpy as np

from snapshots.arrays import NO_ROW, FactBits, Mask, Rows, SmallCodes
from snapshots.changes.counterparts import Counterparts, find_counterparts
from snapshots.changes.diff import SpecChanges
from snapshots.changes.pairings import Pairing, code_of, states_stacks
from snapshots.changes.sides import Apart, Side, differing_facts, find_unmatched, row_hashes
from snapshots.frames.columns import Arrays, are_among
from snapshots.frames.frame import Frame
from snapshots.models import ARCHITECTURE
from snapshots.spack.names import ROOT_STACK


class SpecChangeReason(Enum):
    """Why a hash was added, removed or changed: the first reason that applies, in this order.

    - REBUILT: Added: it replaced a spec with the same facts of its own; only dependencies
      differ, or nothing that the source reports.
    - REPLACES: Added: it replaced a spec whose own facts differ.
    - RETURNED: Added: an earlier revision of the series had the hash.
    - NEW_PACKAGE: Added: base has no spec of the package.
    - NEW_STACK: Added: all its stacks but root are new.
    - NEW_VERSION: Added: base has the package, not the version.
    - NEW_TARGET: Added: base has the version, but nothing of the package for this platform,
      operating system and target.
    - NEW_BUILD: Added: another build of a version that base has.
    - REPLACED: Removed: another spec replaced it.
    - PACKAGE_GONE: Removed: head has no spec of the package.
    - STACK_GONE: Removed: head has none of its stacks but root.
    - VERSION_GONE: Removed: head has the package, not the version.
    - TARGET_GONE: Removed: head has the version, but nothing of the package for this platform,
      operating system and target.
    - BUILD_GONE: Removed: a build of a version that head still has.
    - FACTS: Changed: the hash is the same, other facts differ.
    """

    REBUILT = "rebuilt"
    REPLACES = "replaces"
    RETURNED = "returned"
    NEW_PACKAGE = "new_package"
    NEW_STACK = "new_stack"
    NEW_VERSION = "new_version"
    NEW_TARGET = "new_target"
    NEW_BUILD = "new_build"
    REPLACED = "replaced"
    PACKAGE_GONE = "package_gone"
    STACK_GONE = "stack_gone"
    VERSION_GONE = "version_gone"
    TARGET_GONE = "target_gone"
    BUILD_GONE = "build_gone"
    FACTS = "facts"


REASONS = tuple(SpecChangeReason)


NEW_REASONS = (
    SpecChangeReason.NEW_PACKAGE,
    SpecChangeReason.NEW_STACK,
    SpecChangeReason.NEW_VERSION,
    SpecChangeReason.NEW_TARGET,
    SpecChangeReason.NEW_BUILD,
)
"""The reasons of added specs that replaced no other spec, by what base lacks."""

_GONE_REASONS = (
    SpecChangeReason.PACKAGE_GONE,
    SpecChangeReason.STACK_GONE,
    SpecChangeReason.VERSION_GONE,
    SpecChangeReason.TARGET_GONE,
    SpecChangeReason.BUILD_GONE,
)
"""The corresponding reasons of removed specs, by what head lacks."""


class Reasoning(Arrays, msgspec.Struct, frozen=True):
    """The counterparts between two contents, and the reasons of added and removed specs.

    ``differing`` are the differing own facts of each pair of counterparts. ``of_base`` are the
    reasons of the removed rows of base, ``of_head`` those of the added rows of head. ``apart``
    marks the nodes of both sides whose architecture is not an own fact, as returned by
    ``find_unmatched``.
    """

    counterparts: Counterparts
    differing: FactBits
    of_base: SmallCodes
    of_head: SmallCodes
    apart: Apart | None = None

    def reasons_of(self, changes: SpecChanges, returned: Mask | None = None) -> SmallCodes:
        """Return the reason of each change, as the code of a SpecChangeReason.

        ``returned`` is a mask over the rows of head whose hash was in an earlier revision.
        """
        of_head = self.of_head
        if returned is not None:
            is_new = np.isin(of_head, list(map(code_of, NEW_REASONS)))
            of_head = np.where(
                is_new & returned, np.int8(code_of(SpecChangeReason.RETURNED)), of_head
            )
        codes = np.full(len(changes), code_of(SpecChangeReason.FACTS), np.int8)
        added, removed = changes.before == NO_ROW, changes.after == NO_ROW
        codes[added] = of_head[changes.after[added]]
        codes[removed] = self.of_base[changes.before[removed]]
        return codes


def find_reasons(pairing: Pairing, base: Side, head: Side) -> Reasoning:
    """Find counterparts and reasons for a pairing of the two sides that is not narrowed."""
    removed, added = pairing.removed, pairing.added
    apart = find_unmatched(base, head)
    pairs = find_counterparts(base, removed, head, added, apart=apart)
    own = differing_facts(base, head, pairs.base_rows, pairs.head_rows, apart=apart)
    of_base = np.full(len(base.frame), NO_ROW, np.int8)
    of_head = np.full(len(head.frame), NO_ROW, np.int8)
    of_base[pairs.base_rows] = code_of(SpecChangeReason.REPLACED)
    codes = code_of(SpecChangeReason.REPLACES), code_of(SpecChangeReason.REBUILT)
    of_head[pairs.head_rows] = np.where(own != 0, *codes)
    gone = removed[of_base[removed] == NO_ROW]
    new = added[of_head[added] == NO_ROW]
    of_base[gone] = _lacking(base.frame, gone, head.frame, _GONE_REASONS)
    of_head[new] = _lacking(head.frame, new, base.frame, NEW_REASONS)
    return Reasoning(pairs, own, of_base, of_head, apart)


def _lacking(
    frame: Frame, rows: Rows, other: Frame, reasons: Sequence[SpecChangeReason]
) -> SmallCodes:
    """Return the reasons of rows by the first fact that the other frame lacks."""
    package, stack, version, target, build = map(code_of, reasons)
    codes = np.full(len(rows), build, np.int8)
    # Reasons with precedence are assigned last and overwrite the others.
    codes[~_has(frame, rows, other, ("name", *ARCHITECTURE))] = target
    codes[~_has(frame, rows, other, ("name", "version"))] = version
    codes[_only_in_other_stacks(frame, other)[frame.stacks.codes[rows]]] = stack
    codes[~_has(frame, rows, other, ("name",))] = package
    return codes


def _has(frame: Frame, rows: Rows, other: Frame, names: tuple[str, ...]) -> Mask:
    """Return which of the rows equal any row of the other frame in some facts."""
    return are_among(row_hashes(frame, rows, names), row_hashes(other, slice(None), names))


def _only_in_other_stacks(frame: Frame, other: Frame) -> Mask:
    """Return which lists of stacks have stacks other than root, but none that the other frame has.

    None are returned if the source of the other frame does not state stacks.
    """
    theirs, states_any = frozenset(other.stacks.items), states_stacks(other)

    def lacks_all(stacks: Sequence[str]) -> bool:
        named = {*stacks} - {ROOT_STACK}
        return bool(named) and states_any and named.isdisjoint(theirs)

    return frame.stacks.where(lacks_all)
