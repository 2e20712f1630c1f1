"""Sets of microarchitectures as Spack's ``target=`` writes them: names, ranges, lists of both.

Targets are ordered by ancestry, as the library archspec knows it: ``x86_64_v3:`` is x86_64_v3 and
all that descend from it, ``:icelake`` is icelake and its ancestors, ``a:b`` is what is both. A name
alone is that target and no other, a family (``x86_64``) too.
"""

from functools import lru_cache

import msgspec

ANY = "*"
"""Any target at all."""


class TargetRange(msgspec.Struct, frozen=True, order=True):
    """The targets between two others, both included; an empty text sets no bound."""

    low: str
    high: str

    def includes(self, target: str) -> bool:
        """Tell whether the target lies in the range."""
        return (not self.low or _is_or_descends(target, self.low)) and (
            not self.high or _is_or_descends(self.high, target)
        )

    def __str__(self) -> str:
        return f"{self.low}:{self.high}"


class TargetSet(msgspec.Struct, frozen=True):
    """Names and ranges, any of which will do."""

    names: tuple[str, ...] = ()
    ranges: tuple[TargetRange, ...] = ()

    def includes(self, target: str) -> bool:
        """Tell whether the target is one of the names or in one of the ranges."""
        if target in self.names or ANY in self.names:
            return True
        return any(it.includes(target) for it in self.ranges)

    def __str__(self) -> str:
        return ",".join([*self.names, *map(str, self.ranges)])


def is_target(name: str) -> bool:
    """Tell whether the library knows a target of this name, so that it has an ancestry."""
    from archspec.cpu import TARGETS  # most queries ask for no range

    return name in TARGETS


@lru_cache(maxsize=1 << 12)
def _is_or_descends(target: str, ancestor: str) -> bool:
    from archspec.cpu import TARGETS

    known = TARGETS.get(target)
    if target == ancestor:
        return True
    return known is not None and any(it.name == ancestor for it in known.ancestors)
