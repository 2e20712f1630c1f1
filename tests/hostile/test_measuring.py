"""The runner: bounds of attacks."""

from itertools import count
from typing import Any
from unittest import mock

import pytest

from tests.hostile import runner
from tests.hostile.attack import Answer, Attack, Target
from tests.hostile.runner import Bounds, run_one
from tests.hostile.victim import Latencies

_BOUNDS = Bounds(answer_seconds=2.0, victim_p99=0.1, memory=1_000)
_TARGET = Target(0, (), (), (), (), ())
_LATENCIES = Latencies(9, 0.0, 0.1, 0.1, 0)
_SERVER: dict[str, Any] = {
    "was_killed": False,
    "is_running.return_value": True,
    "peak_bytes.return_value": 1_000,
    "cpu_seconds.return_value": 1.0,
}


@pytest.mark.parametrize(
    ("answer", "victim", "server", "hurts"),
    [
        ({}, {}, {}, ()),
        ({"status": 500}, {}, {}, ()),
        ({"seconds": 2.1}, {}, {}, ("slow answer",)),
        ({"seconds": 10.0, "in_time": False}, {}, {}, ("no answer",)),
        ({"is_internal_error": True}, {}, {}, ("internal error",)),
        ({"is_kept_out": True}, {}, {}, ("others are kept out",)),
        ({}, {"failed": 3}, {}, ("victim: 3 failed",)),
        ({}, {"p99": 0.2}, {}, ("victim waits",)),
        ({}, {}, {"peak_bytes.return_value": 1_001}, ("memory",)),
        ({}, {}, {"is_running.return_value": False}, ("the server died",)),
        ({}, {}, {"was_killed": True}, ("killed for its memory",)),
        ({}, {}, {"cpu_seconds.side_effect": count()}, ("busy after its end",)),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, tuple) else "",
)
def test_exceeded_bounds_are_reported(
    answer: dict[str, Any],
    victim: dict[str, Any],
    server: dict[str, Any],
    hurts: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of them, in words."""
    monkeypatch.setattr(runner, "_SETTLE_SECONDS", 0.2)
    answers = [Answer(**{"status": 200, "seconds": 0.1} | answer)]
    watched = mock.Mock()
    watched.since_mark.return_value = _LATENCIES._replace(**victim)
    attack = Attack("synthetic", "nothing", lambda _target: answers)
    result = run_one(mock.Mock(**_SERVER | server), _TARGET, watched, attack, _BOUNDS)
    assert result.hurts == hurts
