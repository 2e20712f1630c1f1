"""Specs as lines of text and as plain values."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from server.terminal.printing import styles
from server.terminal.printing.layout import wrapped
from snapshots.frames.columns import Mask
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.spack.names import ROOT_STACK, natural_key


def in_natural_order(frame: Frame, mask: Mask) -> list[int]:
    """Return the rows of a mask: packages as people sort them, else in the frame's order."""
    names = sorted(range(len(frame.packages)), key=lambda code: natural_key(frame.packages[code]))
    rank = np.empty(len(names), np.int32)
    rank[names] = np.arange(len(names), dtype=np.int32)
    rows = np.flatnonzero(mask)
    in_order: list[int] = rows[np.argsort(rank[frame.package.codes[rows]], kind="stable")].tolist()
    return in_order


def spec_lines(spec: Spec, width: int | None) -> Iterator[str]:
    """Yield a spec with its hash in front and its stacks behind: one line if ``width`` is None."""
    stacks = sorted({*spec.stacks} - {ROOT_STACK}, key=natural_key)
    behind = f"  (stacks: {' '.join(stacks)})" if stacks else ""
    first, *others = wrapped(f"{spec.hash} {spec.short}{behind}", width)
    yield styles.digest(first[: len(spec.hash)]) + first[len(spec.hash) :]
    yield from others


def spec_facts(spec: Spec) -> dict[str, Any]:
    """Return a spec as a program reads it, without its dependencies: they are not read here.

    A spec without any stack, not even root, is of a source that tells none.
    """
    facts: dict[str, Any] = msgspec.to_builtins(spec) | {"stacks": list(spec.stacks) or None}
    del facts["dependencies"]  # a null would say that they are not known
    return {"hash": facts.pop("hash"), "short": spec.short} | facts
