"""Plans: the specs of lock files that have yet to be built, and why.

The lock files of some stacks are the head of a comparison. Its base consists of the specs of a
revision in these stacks, and of those in any stack whose hash is in a lock file: these need not be
built.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.arrays import Rows, SmallCodes
from snapshots.changes.causes import CauseCount
from snapshots.changes.coverage import (
    CoverageChangeKind,
    CoverageChanges,
    CoverageDimension,
    coverage,
    usual_dimensions,
)
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.impact import size_label
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import code_of
from snapshots.changes.reasons import NEW_REASONS, SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.contents import Content, SuccessiveTables
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.spack.names import ROOT_STACK
from snapshots.tables import rows_of_stacks


class StackLock(msgspec.Struct, frozen=True):
    """The specs of a lock file for a stack, or for none; external specs are listed separately."""

    stack: str | None
    specs: Sequence[Spec]
    external: Sequence[Spec] = ()


class StackPlan(msgspec.Struct, frozen=True):
    """The plan for one stack; ``downgrades`` are packages whose newest version in head is lower.

    The ``num_to_build`` specs are rebuilt, replace others, or are new; ``num_gone`` specs of base
    in the stack, or of all of base if it does not list stacks, are removed without a replacement.
    Coverage is None if base does not list stacks.
    """

    stack: str
    num_specs: int
    num_reused: int
    num_to_build: int
    num_external: int
    num_rebuilt: int
    num_replaced: int
    num_new: int
    num_gone: int
    coverage_lost: int | None
    coverage_gained: int | None
    downgrades: Sequence[PackageChange]
    causes: Sequence[CauseCount]


class Plan:
    """The specs of lock files that a revision has, those that have to be built, and why.

    ``base`` identifies the content of the revision, ``rows`` are its rows, with all columns of
    ``SPEC_ROWS``; ``known_stacks`` are its stacks. A hash in several lock files is one spec, in all
    of their stacks. If a lock file has no stack, the entire revision is compared.
    """

    def __init__(self, base: str, rows: pa.Table, locks: Sequence[StackLock]) -> None:
        named = dict.fromkeys(lock.stack for lock in locks)
        self.stacks = [stack for stack in named if stack is not None]
        self._external: dict[str | None, set[str]] = {stack: set() for stack in named}
        for lock in locks:
            self._external[lock.stack].update(spec.hash for spec in lock.external)
        self.content = _content(locks)
        self.head = side_of(SuccessiveTables().rows(self.content).table, self.content.digest)
        hashes = pa.array(self.head.frame.hashes.texts, pa.string())
        self.known_stacks = _stacks(rows)
        stacks = self.stacks if self.known_stacks and None not in named else None
        # Results are cached by the digests of frames, so each plan needs a distinct digest.
        names = "\0".join((base, self.content.digest, *(stacks or ())))
        own = sha256(names.encode()).hexdigest()
        self.base = side_of(rows_of_stacks(rows, stacks, hashes), own)
        self.comparison = Comparison(self.base.frame, self.head.frame)

    @cached_property
    def explanation(self) -> Explanation:
        """Why specs have to be built."""
        return explain(self.comparison, self.base.graph, self.head.graph)

    @property
    def to_build(self) -> Rows:
        """The rows of head that the revision does not have, ascending."""
        return self.comparison.pairing.added

    @property
    def num_specs(self) -> int:
        """Number of specs in the lock files, without external ones."""
        return len(self.head.frame)

    @property
    def num_reused(self) -> int:
        """Number of these specs that the revision has, in any stack."""
        return self.num_specs - len(self.to_build)

    @property
    def num_external(self) -> int:
        """Number of external specs, which are not built."""
        return len(set[str]().union(*self._external.values()))

    @property
    def size_label(self) -> str:
        """The size class of the number of specs to build."""
        return size_label(len(self.to_build))

    @cached_property
    def cells(self) -> CoverageChanges:
        """The coverage that is lost and gained in these stacks."""
        return coverage(self.comparison, usual_dimensions(self.comparison))

    @cached_property
    def downgrades(self) -> list[PackageChange]:
        """The packages whose newest version in head is lower."""
        return _downgrades(self.comparison)

    def unknown_stacks(self) -> list[str]:
        """Return the stacks that the revision does not have; none if it states no stacks."""
        known = self.known_stacks
        return [name for name in self.stacks if known and name not in known]

    def of_stacks(self) -> list[StackPlan]:
        """Return the plan for each stack."""
        return [self._of_stack(stack) for stack in self.stacks]

    def _of_stack(self, stack: str) -> StackPlan:
        in_head = self.head.frame.in_stack(stack)
        # Without stacks, all of base is what the lock files replace.
        in_base = np.ones(len(self.base.frame), np.bool_)
        if self.known_stacks:
            in_base = self.base.frame.in_stack(stack)
        rows = self.to_build[in_head[self.to_build]]
        reasoning = self.explanation.reasoning
        removed = self.comparison.pairing.removed
        gone = removed[in_base[removed]]
        is_gone = reasoning.of_base[gone] != code_of(SpecChangeReason.REPLACED)
        reasons = reasoning.of_head[rows]
        num_specs = int(np.count_nonzero(in_head))
        lost, gained = self._coverage_of(stack)
        narrowed = self.comparison.pairing.within(in_base, in_head)
        own = Comparison(self.base.frame, self.head.frame, narrowed)
        return StackPlan(
            stack=stack,
            num_specs=num_specs,
            num_reused=num_specs - len(rows),
            num_to_build=len(rows),
            num_external=len(self._external[stack]),
            num_rebuilt=_count(reasons, [SpecChangeReason.REBUILT]),
            num_replaced=_count(reasons, [SpecChangeReason.REPLACES]),
            num_new=_count(reasons, NEW_REASONS),
            num_gone=int(np.count_nonzero(is_gone)),
            coverage_lost=lost,
            coverage_gained=gained,
            downgrades=_downgrades(own),
            causes=self.explanation.causes.counted(rows),
        )

    def _coverage_of(self, stack: str) -> tuple[int | None, int | None]:
        if CoverageDimension.STACK not in self.cells.dimensions:
            return None, None
        own = self.cells.of_stack(stack)
        return own.count(CoverageChangeKind.LOST), own.count(CoverageChangeKind.GAINED)


def side_of(rows: pa.Table, digest: str) -> Side:
    """Return a side of rows that have all columns of ``SPEC_ROWS``."""
    frame = Frame(rows, digest)
    return Side(frame, DependencyGraph(rows, frame.hashes))


def _content(locks: Iterable[StackLock]) -> Content:
    specs: dict[str, Spec] = {}
    stacks: dict[str, dict[str, None]] = {}
    external: dict[str, Spec] = {}
    for lock in locks:
        for spec in lock.specs:
            specs.setdefault(spec.hash, spec)
            of_spec = stacks.setdefault(spec.hash, {})
            if lock.stack is not None:
                of_spec[lock.stack] = None
        external.update((spec.hash, spec) for spec in lock.external)
    planned = (
        msgspec.structs.replace(spec, stacks=tuple(sorted(stacks[digest])))
        for digest, spec in specs.items()
    )
    return Content.of(planned, (spec for spec in external.values() if spec.hash not in specs))


def _stacks(rows: pa.Table) -> frozenset[str]:
    """Return the stacks of rows, without root."""
    stacks = pc.unique(rows["stacks"].combine_chunks().flatten()).to_pylist()
    return frozenset(stacks) - {ROOT_STACK}


def _count(codes: SmallCodes, reasons: Iterable[SpecChangeReason]) -> int:
    return int(np.count_nonzero(np.isin(codes, [code_of(reason) for reason in reasons])))


def _downgrades(comparison: Comparison) -> list[PackageChange]:
    return list(comparison.packages.select([PackageChangeKind.DOWNGRADED]))
