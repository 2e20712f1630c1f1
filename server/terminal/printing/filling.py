"""What ``cachelog history fill`` did."""

from collections.abc import Iterator
from typing import Any

from snapshots.catalog.filling import Filled
from snapshots.wording import counted


def filled_lines(filled: Filled) -> Iterator[str]:
    """Yield one line or two."""
    if filled.num_made:
        yield f"compared {counted(filled.num_made, 'pair')} of neighbours"
    elif not filled.failures:
        yield "nothing is missing: the changes of all neighbours are kept"
    if filled.failures:
        yield f"{counted(len(filled.failures), 'pair')} could not be compared"


def filled_facts(filled: Filled) -> dict[str, Any]:
    """Return what was done, for programs."""
    return {
        "num_compared": filled.num_made,
        "failed": [
            {"base": pair.base, "head": pair.head, "reason": reason}
            for pair, reason in filled.failures.items()
        ],
    }
