"""Reasons of specs that are counted, in words."""

from collections.abc import Mapping
from typing import NamedTuple

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.reasons import REASONS, SpecChangeReason


class _Counted(NamedTuple):
    """What follows the number of specs that have a reason: of one, and of several."""

    one: str
    several: str


_COUNTED = {
    SpecChangeReason.REBUILT: _Counted("rebuilt", "rebuilt"),
    SpecChangeReason.REPLACES: _Counted("replacing another", "replacing others"),
    SpecChangeReason.RETURNED: _Counted("returned", "returned"),
    SpecChangeReason.NEW_PACKAGE: _Counted("of a new package", "of new packages"),
    SpecChangeReason.NEW_STACK: _Counted("of a new stack", "of new stacks"),
    SpecChangeReason.NEW_VERSION: _Counted("of a new version", "of new versions"),
    SpecChangeReason.NEW_TARGET: _Counted("for a new target", "for new targets"),
    SpecChangeReason.NEW_BUILD: _Counted("more build", "more builds"),
    SpecChangeReason.REPLACED: _Counted("replaced", "replaced"),
    SpecChangeReason.PACKAGE_GONE: _Counted("of a package now gone", "of packages now gone"),
    SpecChangeReason.STACK_GONE: _Counted("of a stack now gone", "of stacks now gone"),
    SpecChangeReason.VERSION_GONE: _Counted("of a version now gone", "of versions now gone"),
    SpecChangeReason.TARGET_GONE: _Counted("for a target now gone", "for targets now gone"),
    SpecChangeReason.BUILD_GONE: _Counted("build less", "builds less"),
    SpecChangeReason.FACTS: _Counted("with other facts", "with other facts"),
}


def counted_reason(count: int, reason: SpecChangeReason) -> str:
    """Return how many specs have a reason: 605 of new packages, 1 of a new package."""
    words = _COUNTED[reason]
    return f"{count:,} {words.one if count == 1 else words.several}"


def counted_reasons(kind: SpecChangeKind, reasons: Mapping[SpecChangeReason, int]) -> str:
    """Return the reasons of one kind of change, and how many specs have each."""
    return ", ".join(
        counted_reason(reasons[reason], reason)
        for reason in REASONS
        if reasons.get(reason) and kind_of(reason) is kind
    )


def kind_of(reason: SpecChangeReason) -> SpecChangeKind:
    """Return the kind of change that a reason is one of."""
    if reason is SpecChangeReason.FACTS:
        return SpecChangeKind.CHANGED
    gone = reason is SpecChangeReason.REPLACED or reason.value.endswith("_gone")
    return SpecChangeKind.REMOVED if gone else SpecChangeKind.ADDED
