"""Which specs release notes are about: all of them, or those of a stack, a package or a query."""

from typing import NamedTuple

import msgspec

from snapshots.frames.columns import Mask
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame


class Only(msgspec.Struct, frozen=True, kw_only=True):
    """What release notes were narrowed to; None sets no condition, all of them hold together.

    ``matching`` is a query in Spack's language.
    """

    package: str | None = None
    stack: str | None = None
    matching: str | None = None

    def __bool__(self) -> bool:
        return any((self.package, self.stack, self.matching))


class Scope(NamedTuple):
    """The rows of base and of head that release notes are about, and in which words they were."""

    only: Only
    in_base: Mask
    in_head: Mask


def scope_of(only: Only, sides: tuple[Frame, Frame], matching: tuple[Mask, Mask] | None) -> Scope:
    """Return the scope of two frames; ``matching`` marks the rows that the query matches."""
    conditions = SpecFilter(
        packages=None if only.package is None else (only.package,),
        stacks=None if only.stack is None else (only.stack,),
    )
    masks = [frame.select(conditions) for frame in sides]
    if matching is not None:
        masks = [mask & found for mask, found in zip(masks, matching, strict=True)]
    return Scope(only, *masks)
