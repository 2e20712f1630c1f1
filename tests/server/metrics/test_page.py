"""/metrics over HTTP: numbers that Prometheus reads, right with several processes, and bounded."""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from server import metrics
from server.asgi.exchanges import Exchange
from server.metrics import (
    BUCKETS,
    CACHE_BYTES,
    INSTRUMENTS,
    MAX_LABELS,
    REVISIONS,
    SECONDS,
    Recorder,
    SharedTallies,
    Tally,
    add,
)
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.program import cachelog_version
from tests.server.http.test_stopping import is_running, workers_of
from tests.server.servers import Server, application, serving, until
from tests.test_metrics_doc import sample_names

Numbers = dict[tuple[str, str], float]
OPENMETRICS = {"accept": "application/openmetrics-text; version=1.0.0"}


def numbers(text: str, parse: Any = plain) -> Numbers:
    """Return the numbers by name and label."""
    families: Iterable[Any] = parse(text)
    return {
        (it.name, ",".join(it.labels.values())): it.value
        for family in families
        for it in family.samples
    }


def counted(client: httpx.Client) -> Numbers:
    """Return the numbers that a server counts."""
    return numbers(client.get("/metrics").text)


def ask(client: httpx.Client, query: str, name: str | None = None) -> None:
    """Ask for something under a name."""
    client.post("/graphql", json={"query": query, "operationName": name})


def test_requests_are_counted(demo_catalog: Path) -> None:
    """By status and code, timed by operation; with what is kept, and how old it is."""
    with application(Settings(catalog=str(demo_catalog), access_log=False)) as client:
        for _ in range(3):
            ask(client, "query Tags { tags { name } }", "Tags")
        for first in (1, 2):
            ask(client, f"{{ revision {{ specs(first: {first}) {{ nodes {{ hash }} }} }} }}")
        ask(client, "query Bad { nope }", "Bad")
        client.post("/graphql", content=b"?", headers={"content-type": "application/json"})
        client.get("/nope")
        found = counted(client)
    assert found["cachelog_requests_total", "200"] >= 4
    assert found["cachelog_requests_total", "404"] == 1
    assert found["cachelog_refused_total", "BAD_REQUEST"] == 1
    assert found["cachelog_refused_total", "GRAPHQL_VALIDATION_FAILED"] == 1
    assert found["cachelog_request_seconds_count", "Tags"] == 3
    assert 0 < found["cachelog_request_seconds_sum", "Tags"] < 60
    assert ("cachelog_request_seconds_count", "Bad") not in found
    assert found["cachelog_response_cache_hits_total", ""] == 2
    assert found["cachelog_cache_bytes", "responses"] > 0
    assert found["cachelog_cache_bytes", "frames"] > 0
    assert found["cachelog_cache_bytes", "rows"] > 0
    assert (found["cachelog_frames", ""], found["cachelog_revisions", ""]) == (1, 5)
    assert 0 <= found["cachelog_refresh_age_seconds", ""] < 60
    history = Catalog(str(demo_catalog)).require_history()
    last = max(it.published_at for it in history.revisions)
    assert found["cachelog_last_import_timestamp_seconds", ""] == last.timestamp()
    for name in history.series_names:
        newest = max(it.taken_at for it in history.of_series(name)).timestamp()
        assert found["cachelog_newest_revision_timestamp_seconds", name] == newest
    assert found["cachelog_build_info", cachelog_version()] == 1
    assert found["cachelog_resident_memory_bytes", ""] > 10 << 20
    open_now, most = (found[f"cachelog_{it}_descriptors", ""] for it in ("open", "max"))
    assert 3 < open_now < most
    assert found["cachelog_processes", ""] == 1
    assert found["cachelog_answer_bytes_total", ""] > 100


def test_both_formats_have_all_instruments(demo_server: Server) -> None:
    """As the client asks for it; OpenMetrics is checked strictly by its parser."""
    httpx.post(demo_server.graphql, content=b"?", headers={"content-type": "application/json"})
    for headers, parse in (({}, plain), (OPENMETRICS, openmetrics)):
        answer = httpx.get(f"{demo_server.url}/metrics", headers=headers)
        expected = "application/openmetrics-text" if headers else "text/plain"
        assert answer.headers["content-type"].startswith(expected)
        assert answer.headers["cache-control"] == "no-store"
        names = {name for name, _ in numbers(answer.text, parse)}
        for instrument in INSTRUMENTS:
            assert names.issuperset(sample_names(instrument)), instrument.name


@pytest.mark.long
def test_the_numbers_of_all_processes_are_added(demo_catalog: Path, tmp_path: Path) -> None:
    """Whichever answers; those of one that has ended are counted on."""
    with serving(demo_catalog, tmp_path / "log", "--workers", "2") as server:

        def counts() -> Numbers:
            return numbers(httpx.get(f"{server.url}/metrics").text)

        def named() -> float:
            return counts().get(("cachelog_request_seconds_count", "Tags"), 0)

        until(lambda: counts()["cachelog_processes", ""] == 2, "both serve")
        for _ in range(8):
            with httpx.Client(base_url=server.url) as client:
                ask(client, "query Tags { tags { name } }", "Tags")
        until(lambda: all(named() == 8 for _ in range(6)), "both count all")
        first = min(workers_of(server))
        os.kill(first, signal.SIGTERM)
        until(lambda: not is_running(first), "one has ended")
        until(lambda: all(named() == 8 for _ in range(6)), "its numbers stay")
        until(lambda: counts()["cachelog_processes", ""] == 2, "another one serves")
    shared = re.findall(r"cachelog-metrics-\w+", server.log.read_text())
    assert shared == []


def test_metrics_can_be_switched_off(demo_catalog: Path) -> None:
    """The address is not there then, and nothing is counted."""
    with application(Settings(catalog=str(demo_catalog), metrics=False)) as client:
        assert client.get("/metrics").status_code == 404


def exchange(**facts: object) -> Exchange:
    """Return an exchange that differs in these facts."""
    usual = Exchange("id", "::1", "GET", "/", 200, 10, 0.001, None, None)
    return msgspec.structs.replace(usual, **facts)


def test_names_that_clients_choose_are_bounded() -> None:
    """The first ones count apart, all others, and long ones, together."""
    recorder = Recorder(lambda: ())
    for number in range(1_000):
        recorder.note(exchange(operation=f"Name{number}", code=f"CODE_{number}"))
    recorder.note(exchange(operation="x" * 1_000))
    tally = recorder.tally()
    times, refused = tally[SECONDS.name], tally["cachelog_refused"]
    for labels in (times, refused):
        assert len(labels) == MAX_LABELS + 1
        assert not any(len(label) > 100 for label in labels)
    assert sum(times["other"][:-1]) == 1_001 - MAX_LABELS
    assert refused["other"] == [1_000 - MAX_LABELS]


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0, 0), (0.001, 0), (0.0011, 1), (99.0, -1)])
def test_times_are_classed_up_to_their_bound(seconds: float, bucket: int) -> None:
    """A bound belongs to its class; the last class has no bound."""
    recorder = Recorder(lambda: ())
    recorder.note(exchange(seconds=seconds))
    *counts, total = recorder.tally()[SECONDS.name]["other"]
    assert total == seconds
    assert len(counts) == len(BUCKETS) + 1
    assert (counts[bucket], sum(counts)) == (1, 1)


def test_processes_share_a_folder(tmp_path: Path) -> None:
    """Each has the sum of all; what has ended counts on, though it holds nothing any more."""
    recorders = [
        Recorder(lambda n=n: [(CACHE_BYTES, "frames", 10), (REVISIONS, "", n)])  # type: ignore[misc]
        for n in (1, 2)
    ]
    first, second = (SharedTallies(it, tmp_path) for it in recorders)

    async def run() -> None:
        async with first.running():
            recorders[0].note(exchange())
            async with second.running():
                recorders[1].note(exchange())
                assert first.total()["cachelog_cache_bytes"] == {"frames": [20]}
                assert first.total()["cachelog_revisions"] == {"": [2]}
            total = first.total()
            assert total["cachelog_requests"] == {"200": [2]}
            assert total["cachelog_cache_bytes"] == {"frames": [10]}
            assert sum(total[SECONDS.name]["other"][:-1]) == 2

    asyncio.run(run())


def test_instruments_of_another_version_are_left_out() -> None:
    """Ended processes of an older version may have counted something else."""
    total: Tally = {}
    add(total, {"cachelog_former": {"": [1]}, "cachelog_requests": {"200": [2]}}, is_running=False)
    assert total == {"cachelog_requests": {"200": [2]}}


def test_a_folder_that_is_away_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so once; the process serves on, and shares its numbers when it can again."""
    monkeypatch.setattr(metrics, "WRITE_SECONDS", 0.01)
    folder = tmp_path / "numbers"
    tallies = SharedTallies(Recorder(lambda: ()), folder)

    async def run() -> None:
        async with tallies.running():
            await asyncio.sleep(0.1)
            folder.mkdir()
            while not [*folder.glob("*.tally")]:
                await asyncio.sleep(0.01)
            shutil.rmtree(folder)

    asyncio.run(asyncio.wait_for(run(), 30))
    texts = [it.getMessage() for it in caplog.records]
    assert len(texts) == 2  # before the folder was there, and after
    assert all("cannot be shared: [Errno 2] No such file" in it for it in texts)
    assert tallies.total()["cachelog_requests"] == {}
