"""Servers that are processes of their own, over one catalog in a bucket."""

import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.server.servers import serving, until
from tests.server.tracing.collectors import Collector, collecting
from tests.snapshots.catalog.emulators import Emulator

MADE_UP = list(history(revisions=3, packages=12, specs=60))


def looks_until_known(collector: Collector, num_revisions: int, since: int) -> list[int]:
    """Return at which look that began later than a moment each server knew so many revisions."""
    looks: dict[str, list[int]] = {}
    for it in sorted(collector.named("refresh"), key=lambda it: it.began):
        if it.began > since:
            own = looks.setdefault(it.resource["service.instance.id"], [])
            own.append(it.facts["cachelog.revisions"])
    return [own.index(num_revisions) + 1 for own in looks.values() if num_revisions in own]


@pytest.mark.long
def test_new_revisions_are_known_after_two_looks(
    emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each of the servers, whichever of the two ways to look came last."""
    location = "s3://bucket/processes"
    with ExitStack() as stack:
        collector = stack.enter_context(collecting())
        for name, value in emulator.variables().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        importer = Catalog(location)
        importer.publish(MADE_UP[:1])
        urls = [
            stack.enter_context(
                serving(location, tmp_path / str(n), refresh=0.1 * n, tracing="yes")
            ).url
            for n in (1, 2)
        ]
        for number, snapshot in enumerate(MADE_UP[1:], 2):
            importer.publish([snapshot])
            since = time.time_ns()
            until(
                lambda: len(looks_until_known(collector, number, since)) == 2,  # noqa: B023
                "both servers have reported a look that found the revision",
            )
            assert max(looks_until_known(collector, number, since)) <= 2
            answers = [httpx.get(f"{it}/health/ready").json() for it in urls]
            assert answers == [{"status": "ready", "revisions": number}] * 2
