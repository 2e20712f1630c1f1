"""Concrete specs that somebody wants, as columns."""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from snapshots.frames.columns import Column
from snapshots.frames.hashes import Hashes
from snapshots.models import ConcreteSpec

COMPARED = (
    "version",
    "namespace",
    "package_hash",
    "variants",
    "compiler",
    "platform",
    "operating_system",
    "target",
)
"""The facts of a wanted spec that are compared where it is missing, in the order of telling."""


class Wanted:
    """What somebody wants: each hash once, the roots first, then by name and hash.

    A hash that is given twice has the facts of the first, and is a root where it is one anywhere.
    """

    def __init__(self, specs: Iterable[ConcreteSpec]) -> None:
        by_hash: dict[str, ConcreteSpec] = {}
        for spec in specs:
            known = by_hash.setdefault(spec.hash, spec)
            if spec.is_root and not known.is_root:
                by_hash[spec.hash] = replace(known, is_root=True)
        self.specs: Sequence[ConcreteSpec] = sorted(
            by_hash.values(), key=lambda it: (not it.is_root, it.name, it.hash)
        )
        self.num_roots = sum(spec.is_root for spec in self.specs)
        self._columns: dict[str, Column[object]] = {}

    def __len__(self) -> int:
        return len(self.specs)

    @cached_property
    def hashes(self) -> Hashes:
        """The hashes, which are all of them whole."""
        return Hashes("".join(spec.hash for spec in self.specs).encode())

    def column(self, name: str) -> Column[object]:
        """Return a fact of all; None where it is not told, and so not compared."""
        if name not in self._columns:
            values = [getattr(spec, name) for spec in self.specs]
            codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
            of_specs = np.fromiter(map(codes.__getitem__, values), np.int32, len(values))
            self._columns[name] = Column(of_specs, [*codes])
        return self._columns[name]
