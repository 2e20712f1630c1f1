"""Workers that hang: named where they are silent for too long; all others are left alone."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.http.servers import HangMonitor, Worker

BEGAN = 1_000.0


def worker(last_beat: float) -> Worker:
    """Return a worker that gave its last sign of life at a moment; 0 for none yet."""
    return Worker(cast("Any", None), BEGAN, SimpleNamespace(value=last_beat))


@pytest.mark.parametrize(
    ("looks", "last_beat", "is_hung"),
    [
        (range(11), BEGAN, False),
        (range(12), BEGAN, True),
        (range(12), BEGAN + 2, False),
        (range(100), 0.0, False),
        ([1, 3_600], BEGAN, False),
        ([1, *range(3_600, 3_611)], BEGAN, False),
        ([1, *range(3_600, 3_612)], BEGAN, True),
    ],
    ids=[
        "in time",
        "silent",
        "not since its last sign",
        "starting",
        "held up with this process",
        "after that in time",
        "after that silent",
    ],
)
def test_who_is_silent_for_long_hangs(looks: list[int], last_beat: float, is_hung: bool) -> None:
    """Counted from the last sign of life, or from when this process was held up itself."""
    monitor, watched = HangMonitor(10.0, BEGAN), worker(last_beat)
    hung: list[Worker] = []
    for seconds in looks:
        hung = monitor.hung([watched], BEGAN + seconds)
    assert hung == ([watched] if is_hung else [])
