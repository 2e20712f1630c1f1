"""All short attacks, against a server of a small catalog."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.settings import Settings
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
from tests.hostile.table import ATTACKS, GROUPS
from tests.hostile.target import SMALL_CACHES, attacked
from tests.memory import max_memory

_IDLE_FACTOR = 5
_LOOPS, _LOOP_SECONDS = 2_000_000, 0.03
"""A loop, and the time that it takes on the machines for which the bounds of seconds are made."""

_TRIES = 5
"""The number of times that an attack is run alone before it counts as one that hurts."""

_PAUSE = 40.0
"""Seconds before an attack is run again: tests beside it may use all of the machine until then."""

_LONGEST = 0.04 if IS_QUICK else 0.3
"""Seconds of an attack; ``python -m tests.hostile`` runs them for longer."""

_TOGETHER = 8
"""The number of attacks that share one measurement of the victim, of usually less than 3 s."""


def _bounds() -> Bounds:
    """Return the bounds, with more seconds on a machine that is slow or has much other work now."""
    started = time.perf_counter()
    for _ in range(_LOOPS):
        pass
    factor = max(1.0, (time.perf_counter() - started) / _LOOP_SECONDS)
    seconds = ANSWER_SECONDS_LOADED * factor, VICTIM_P99_LOADED * factor
    return Bounds(*seconds, max_memory(Settings(**SMALL_CACHES)), _IDLE_FACTOR)


def test_names_of_attacks_are_unique() -> None:
    """There are at least sixty attacks."""
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60


@pytest.mark.long
def test_no_attack_hurts(tmp_path: Path) -> None:
    """No attack delays small queries, has no response, or uses uncounted memory."""
    Catalog(str(tmp_path)).publish(list(demo.history(revisions=3, packages=120, specs=2_000)))
    hurting = list[Result]()
    with attacked(tmp_path, **SMALL_CACHES) as server:
        shared = [*_shared_attacks()]
        results = [*run_all(server, (attack for attack, _ in shared), _bounds(), longest=_LONGEST)]
        calm = [result for result in results if not result.hurts]
        assert all(result.victim.num_requests and result.peak_bytes > 10 << 20 for result in calm)
        suspects = [
            attack
            for (_, attacks), result in zip(shared, results, strict=True)
            for attack in attacks
            if result.hurts
        ]
        for number in range(_TRIES):
            if not suspects:
                break
            if number:
                time.sleep(_PAUSE)
            results = [*run_all(server, suspects, _bounds(), longest=_LONGEST)]
            hurting = [result for result in results if result.hurts]
            suspects = [result.attack for result in hurting]
        assert "Traceback" not in server.log_text(), server.log_text()
    assert not hurting, "\n".join(map(report.line, hurting))


def _shared_attacks() -> Iterator[tuple[Attack, list[Attack]]]:
    """Yield attacks that each run several short ones of a group, with these."""
    for name, attacks in GROUPS.items():
        short = [attack for attack in attacks if not attack.long]
        for start in range(0, len(short), _TOGETHER):
            parts = short[start : start + _TOGETHER]
            yield _in_a_row(f"{name} from {start}", parts), parts


def _in_a_row(name: str, attacks: list[Attack]) -> Attack:
    def run(target: Target) -> list[Answer]:
        return [answer for attack in attacks for answer in attack.run(target)]

    return Attack(name, "several attacks in a row", run)
