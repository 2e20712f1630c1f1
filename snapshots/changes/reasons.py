"""Why a spec was added or removed: the first reason that applies, in columns."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snapshots.changes.counterparts import Counterparts, find_counterparts
from snapshots.changes.diff import SpecChanges
from snapshots.changes.own_facts import Facts, differing_facts
from snapshots.changes.pairings import Pairing, tells_stacks
from snapshots.changes.sides import Fingerprints, Side, mixed
from snapshots.frames.columns import Column, Mask, Rows, begins_of_runs
from snapshots.frames.frame import Frame
from snapshots.spack.names import ROOT_STACK

Codes = npt.NDArray[np.int8]
"""Reasons by their places in SpecChangeReason; -1 for none."""

_NONE = -1


class SpecChangeReason(Enum):
    """Why a spec was added, removed or changed.

    Of an added one, the first that applies:

    - REBUILT: it has a counterpart with the same facts of its own, so that only hashes of
      dependencies differ, or nothing that the source tells;
    - REPLACES: it has a counterpart, and facts of its own differ;
    - RETURNED: the hash was in an earlier revision of the series;
    - NEW_PACKAGE: base has no spec of the package;
    - NEW_STACK: it has stacks beside root, and base has none of them;
    - NEW_VERSION: base has the package, but not the version;
    - NEW_TARGET: base has the version, but nothing of the package for this platform, operating
      system and target;
    - NEW_BUILD: it is one more build of a version that base has.

    Of a removed one REPLACED, where it has a counterpart, or what is left of it in head, likewise.
    A changed one has the reason FACTS.
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
_CODES = {reason: code for code, reason in enumerate(REASONS)}


def code_of(reason: SpecChangeReason) -> int:
    """Return the code of a reason."""
    return _CODES[reason]


class _Lacking(NamedTuple):
    """The reasons of what the other side lacks, by what it is that it lacks."""

    package: SpecChangeReason
    stack: SpecChangeReason
    version: SpecChangeReason
    target: SpecChangeReason
    build: SpecChangeReason


_NEW = _Lacking(
    SpecChangeReason.NEW_PACKAGE,
    SpecChangeReason.NEW_STACK,
    SpecChangeReason.NEW_VERSION,
    SpecChangeReason.NEW_TARGET,
    SpecChangeReason.NEW_BUILD,
)
NEW_REASONS: Sequence[SpecChangeReason] = _NEW
"""The reasons of added specs that took the place of no other."""

_GONE = _Lacking(
    SpecChangeReason.PACKAGE_GONE,
    SpecChangeReason.STACK_GONE,
    SpecChangeReason.VERSION_GONE,
    SpecChangeReason.TARGET_GONE,
    SpecChangeReason.BUILD_GONE,
)


class Reasons(NamedTuple):
    """The reason of each row: ``of_base`` of those that were removed, ``of_head`` of the added."""

    of_base: Codes
    of_head: Codes

    @property
    def num_bytes(self) -> int:
        """How much memory the codes take."""
        return self.of_base.nbytes + self.of_head.nbytes

    def with_returned(self, returned: Mask) -> Codes:
        """Return the reasons of the rows of head, ``returned`` being those that are back again."""
        is_new = np.isin(self.of_head, [code_of(reason) for reason in NEW_REASONS])
        code = np.int8(code_of(SpecChangeReason.RETURNED))
        return np.where(is_new & returned, code, self.of_head)


def find_reasons(
    base: Frame, removed: Rows, head: Frame, added: Rows, counterparts: Counterparts, differ: Mask
) -> Reasons:
    """Return the reasons of the removed rows of base and of the added rows of head.

    ``differ`` tells of each pair of counterparts, in their order, whether facts of its own differ.
    """
    of_base = np.full(len(base), _NONE, np.int8)
    of_head = np.full(len(head), _NONE, np.int8)
    of_base[counterparts.base_rows] = code_of(SpecChangeReason.REPLACED)
    of_head[counterparts.head_rows] = np.where(
        differ, code_of(SpecChangeReason.REPLACES), code_of(SpecChangeReason.REBUILT)
    )
    gone = removed[of_base[removed] == _NONE]
    new = added[of_head[added] == _NONE]
    of_base[gone] = _lacking(base, gone, head, _GONE)
    of_head[new] = _lacking(head, new, base, _NEW)
    return Reasons(of_base, of_head)


def _lacking(frame: Frame, rows: Rows, other: Frame, reasons: _Lacking) -> Codes:
    """Return the reasons of rows of which the other frame lacks something."""
    found = np.full(len(rows), code_of(reasons.build), np.int8)
    # What applies first is told last, over what was told before.
    architecture = ("name", "platform", "operating_system", "target")
    for reason, there in (
        (reasons.target, _has(frame, rows, other, architecture)),
        (reasons.version, _has(frame, rows, other, ("name", "version"))),
        (reasons.stack, ~_only_in_other_stacks(frame, other)[frame.stacks.codes[rows]]),
        (reasons.package, _has(frame, rows, other, ("name",))),
    ):
        found[~there] = code_of(reason)
    return found


def _has(frame: Frame, rows: Rows, other: Frame, names: tuple[str, ...]) -> Mask:
    """Return which of the rows agree in some facts with any row of the other frame."""
    theirs = _combined(other, slice(None), names)
    return np.isin(_combined(frame, rows, names), theirs[begins_of_runs(theirs)])


def _combined(frame: Frame, rows: Rows | slice, names: tuple[str, ...]) -> Fingerprints:
    """Return one hash of several facts of each row."""
    columns: list[Column[str]] = [getattr(frame, name) for name in names]
    return mixed(*(it.fingerprints[it.codes[rows]].astype(np.uint64) for it in columns))


def _only_in_other_stacks(frame: Frame, other: Frame) -> Mask:
    """Return which of the lists of stacks have some beside root, but none that the other has.

    There is none such where the other's source tells no stacks.
    """
    theirs, tells = frozenset(other.stacks.items), tells_stacks(other)

    def lacks_all(stacks: Sequence[str]) -> bool:
        named = {*stacks} - {ROOT_STACK}
        return bool(named) and tells and named.isdisjoint(theirs)

    return frame.stacks.where(lacks_all)


_NO_ROW = -1


class Reasoning(NamedTuple):
    """Counterparts, which of their own facts differ (in the order of the pairs), and reasons."""

    counterparts: Counterparts
    differing: Facts
    reasons: Reasons

    def reasons_of(self, changes: SpecChanges, of_head: Codes | None = None) -> Codes:
        """Return the reason of each change, as the code of a SpecChangeReason.

        ``of_head`` stands in the place of the own reasons of the rows of head.
        """
        codes = np.full(len(changes), code_of(SpecChangeReason.FACTS), np.int8)
        added, removed = changes.before == _NO_ROW, changes.after == _NO_ROW
        codes[added] = (self.reasons.of_head if of_head is None else of_head)[changes.after[added]]
        codes[removed] = self.reasons.of_base[changes.before[removed]]
        return codes


def reason(pairing: Pairing, base: Side, head: Side) -> Reasoning:
    """Find counterparts and reasons for a pairing that is not narrowed, of the two sides."""
    removed, added = pairing.removed, pairing.added
    pairs = find_counterparts(base, removed, head, added)
    nodes = (it.astype(np.int64) for it in (pairs.base_rows, pairs.head_rows))
    own = differing_facts(base, head, *nodes)
    reasons = find_reasons(base.frame, removed, head.frame, added, pairs, own != 0)
    return Reasoning(pairs, own, reasons)
