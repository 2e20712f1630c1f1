"""The attacks that are not long, in a row, against a small server."""

from pathlib import Path

import pytest

from snapshots import demo
from snapshots.catalog.catalog import Catalog
from tests.hostile import report
from tests.hostile.runner import (
    ANSWER_SECONDS_LOADED,
    VICTIM_P99_LOADED,
    Bounds,
    Result,
    run_all,
)
from tests.hostile.sizes import SMALL_CACHES, documented_bytes
from tests.hostile.table import ATTACKS
from tests.hostile.target import attacked

_IDLE_FACTOR = 5
_BOUNDS = Bounds(
    ANSWER_SECONDS_LOADED, VICTIM_P99_LOADED, documented_bytes(SMALL_CACHES), _IDLE_FACTOR
)
_TRIES = 5
_LONGEST = 0.3
"""More of the same shows little more; ``python -m tests.hostile`` goes on for longer."""


def test_there_are_many_attacks() -> None:
    """The collection has at least sixty attacks, each with a name of its own."""
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60


@pytest.mark.long
def test_no_attack_hurts(tmp_path: Path) -> None:
    """No attack delays a small question, goes unanswered, or takes memory that is not counted.

    What seems to hurt is tried again on a fresh server: the machine may have been busy.
    """
    Catalog(str(tmp_path)).publish(list(demo.history(revisions=3, packages=120, specs=2_000)))
    suspects, hurting = [it for it in ATTACKS if not it.long], list[Result]()
    with attacked(tmp_path, **SMALL_CACHES) as server:
        for _ in range(_TRIES):
            ran = run_all(server, suspects, _BOUNDS, longest=_LONGEST)
            hurting = [it for it in ran if it.hurts]
            suspects = [it.attack for it in hurting]
            if not suspects:
                break
        assert "Traceback" not in server.said(), server.said()
    assert not hurting, "\n".join(map(report.line, hurting))
