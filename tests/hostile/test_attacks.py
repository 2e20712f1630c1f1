"""All short attacks, against a server of a small catalog."""

from dataclasses import replace
from pathlib import Path

import pytest

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.demo_histories import history
from tests.expensive import IS_QUICK
from tests.hostile.table import ATTACKS
from tests.hostile.target import SMALL_CACHES, attacked
from tests.memory import max_memory

_LONGEST = 0.04 if IS_QUICK else 0.3
"""Seconds of an attack; ``python -m tests.hostile`` runs them for longer, and measures others."""


@pytest.mark.long
def test_attacks_are_answered(tmp_path: Path) -> None:
    """Each request has a response that is no internal error, and memory stays within its bound."""
    Catalog(str(tmp_path)).publish(list(history(revisions=3, packages=120, specs=2_000)))
    with attacked(tmp_path, **SMALL_CACHES) as server:
        target = replace(server.start(), longest=_LONGEST)
        server.reset_peak()
        for attack in ATTACKS:
            if not attack.long:
                answers = attack.run(target)
                assert all(answer.in_time for answer in answers), attack.name
                assert not any(answer.is_internal_error for answer in answers), attack.name
        assert server.is_running()
        assert server.peak_bytes() < max_memory(Settings(**SMALL_CACHES))
        assert "Traceback" not in server.log_text(), server.log_text()
