"""Specs in a table: what all of them have is said once, and each row says what is its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from snapshots.spack.names import ROOT_STACK

FEW = 2
"""As many specs have hardly anything in common by chance only."""


def telling_apart(specs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the variants that all specs have, and for each its other variants and its stacks.

    Specs of several packages have no variants in common. The stack that is all others is left out.
    """
    lists = [spec["variants"] for spec in specs]
    names = {spec.get("name") for spec in specs}
    common = set(lists[0]).intersection(*lists) if len(lists) >= FEW and len(names) == 1 else set()
    return {
        "common_variants": [it for it in lists[0] if it in common] if common else [],
        "own_variants": [[it for it in variants if it not in common] for variants in lists],
        "own_stacks": [[it for it in spec["stacks"] if it != ROOT_STACK] for spec in specs],
    }
