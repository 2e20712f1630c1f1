"""The attacks that are not long, in a row, against a small server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots import demo
from snapshots.catalog.catalog import Catalog
from tests.expensive import IS_QUICK
from tests.hostile import report
from tests.hostile.attack import Answer, Attack, Target
from tests.hostile.runner import (
    ANSWER_SECONDS_LOADED,
    VICTIM_P99_LOADED,
    Bounds,
    Result,
    run_all,
)
from tests.hostile.sizes import SMALL_CACHES, documented_bytes
from tests.hostile.table import ATTACKS, GROUPS
from tests.hostile.target import attacked

_IDLE_FACTOR = 5
_BOUNDS = Bounds(
    ANSWER_SECONDS_LOADED, VICTIM_P99_LOADED, documented_bytes(SMALL_CACHES), _IDLE_FACTOR
)
_TRIES = 5
"""How often an attack is run alone before it counts as one that hurts."""

_LONGEST = 0.04 if IS_QUICK else 0.3
"""More of the same shows little more; ``python -m tests.hostile`` goes on for longer."""

_TOGETHER = 8
"""How many attacks share one span in which the victim is watched: mostly less than 3 s."""


def test_there_are_many_attacks() -> None:
    """The collection has at least sixty attacks, each with a name of its own."""
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60


@pytest.mark.long
def test_no_attack_hurts(tmp_path: Path) -> None:
    """No attack delays a small question, goes unanswered, or takes memory that is not counted.

    If some attacks of a group seem to hurt, each of them is run again alone: the machine may have
    been busy.
    """
    Catalog(str(tmp_path)).publish(list(demo.history(revisions=3, packages=120, specs=2_000)))
    hurting = list[Result]()
    with attacked(tmp_path, **SMALL_CACHES) as server:
        shared = [*_shared_attacks()]
        results = [*run_all(server, (attack for attack, _ in shared), _BOUNDS, longest=_LONGEST)]
        calm = [result for result in results if not result.hurts]
        assert all(result.victim.asked and result.peak_bytes > 10 << 20 for result in calm)
        suspects = [
            attack
            for (_, attacks), result in zip(shared, results, strict=True)
            for attack in attacks
            if result.hurts
        ]
        for _ in range(_TRIES):
            if not suspects:
                break
            results = [*run_all(server, suspects, _BOUNDS, longest=_LONGEST)]
            hurting = [result for result in results if result.hurts]
            suspects = [result.attack for result in hurting]
        assert "Traceback" not in server.said(), server.said()
    assert not hurting, "\n".join(map(report.line, hurting))


def _shared_attacks() -> Iterator[tuple[Attack, list[Attack]]]:
    """Yield attacks that each run several short ones of a group, with those that they run."""
    for name, attacks in GROUPS.items():
        short = [attack for attack in attacks if not attack.long]
        for start in range(0, len(short), _TOGETHER):
            parts = short[start : start + _TOGETHER]
            yield _in_a_row(f"{name} from {start}", parts), parts


def _in_a_row(name: str, attacks: list[Attack]) -> Attack:
    def run(target: Target) -> list[Answer]:
        return [answer for attack in attacks for answer in attack.run(target)]

    return Attack(name, "several attacks in a row", run)
