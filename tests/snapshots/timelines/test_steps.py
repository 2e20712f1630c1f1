"""The steps of series: made once for each history, and forgotten with it."""

import gc
from weakref import ref

from snapshots.history import History
from snapshots.timelines.steps import Steps
from tests.snapshots.factories import a_revision

LINES = [a_revision("develop", 1, "a"), a_revision("develop", 2, "b"), a_revision("v0.1", 3, "c")]


def test_steps_are_made_once_for_a_history() -> None:
    """Those of the same series; another history, and other series, have others."""
    history, longer = History(LINES[:2]), History(LINES)
    steps = Steps.of(history, ["develop", "v0.1"])
    assert Steps.of(history, ["develop"]) is steps  # what is not there has no steps
    assert steps.revisions == LINES[:2]
    assert Steps.of(longer, ["develop"]) is not steps
    assert Steps.of(longer, ["develop", "v0"]).revisions == LINES[:2]
    assert len(Steps.of(longer, longer.series_names)) == 3
    assert len(Steps.of(History(), ["develop"])) == 0


def test_steps_go_with_their_history() -> None:
    """A server sees many histories, and keeps none but the newest."""
    history = History(LINES)
    steps = ref(Steps.of(history, ["develop"]))
    del history
    gc.collect()
    assert steps() is None
