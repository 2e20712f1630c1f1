"""The grace period of a vacuum."""

from datetime import timedelta

import pytest

from snapshots.catalog.vacuum import check_grace
from snapshots.errors import InvalidArgument


@pytest.mark.parametrize(("hours", "whole"), [(1, 1), (24, 24), (1.5, 1), (168, 168)])
def test_times_of_grace(hours: float, whole: int) -> None:
    """They are whole hours."""
    assert check_grace(timedelta(hours=hours), nothing_runs=False) == timedelta(hours=whole)


@pytest.mark.parametrize(
    ("hours", "nothing_runs", "reason"),
    [
        (0, False, "still needs what was just removed.*--nothing-runs"),
        (0.9, False, "--nothing-runs"),
        (0.9, True, "from 1h to 7d"),
        (169, False, "from 1h to 7d$"),
    ],
)
def test_times_that_are_none(hours: float, *, nothing_runs: bool, reason: str) -> None:
    """What runs could lose what it needs, or the log forget when something went out of use."""
    with pytest.raises(InvalidArgument, match=reason):
        check_grace(timedelta(hours=hours), nothing_runs=nothing_runs)


def test_no_time_of_grace_where_nothing_runs() -> None:
    """Who says so may have all space at once."""
    assert check_grace(timedelta(0), nothing_runs=True) == timedelta(0)
