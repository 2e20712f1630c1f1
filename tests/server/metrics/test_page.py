"""/metrics over HTTP: it is valid for Prometheus, sums several processes, and is bounded."""

import asyncio
import shutil
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
from tests.server.servers import Server, application
from tests.test_metrics_doc import sample_names

Numbers = dict[tuple[str, str], float]
OPENMETRICS = {"accept": "application/openmetrics-text; version=1.0.0"}


def numbers(text: str, parse: Any = plain) -> Numbers:
    """Return the numbers by name and label."""
    families: Iterable[Any] = parse(text)
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def numbers_of(client: httpx.Client) -> Numbers:
    """Return the numbers that a server reports."""
    return numbers(client.get("/metrics").text)


def send(client: httpx.Client, query: str, name: str | None = None) -> None:
    """Send a query with an operation name."""
    client.post("/graphql", json={"query": query, "operationName": name})


def test_requests_are_counted(demo_catalog: Path) -> None:
    """By status, code and operation; caches, revisions and the process are measured."""
    with application(Settings(catalog=str(demo_catalog), access_log=False)) as client:
        for _ in range(3):
            send(client, "query Tags { tags { name } }", "Tags")
        for first in (1, 2):
            send(client, f"{{ revision {{ specs(first: {first}) {{ nodes {{ hash }} }} }} }}")
        send(client, "query Bad { nope }", "Bad")
        client.post("/graphql", content=b"?", headers={"content-type": "application/json"})
        client.get("/nope")
        values = numbers_of(client)
    assert values["cachelog_requests_total", "200"] >= 4
    assert values["cachelog_requests_total", "404"] == 1
    assert values["cachelog_refused_total", "BAD_REQUEST"] == 1
    assert values["cachelog_refused_total", "GRAPHQL_VALIDATION_FAILED"] == 1
    assert values["cachelog_request_seconds_count", "Tags"] == 3
    assert 0 < values["cachelog_request_seconds_sum", "Tags"] < 60
    assert ("cachelog_request_seconds_count", "Bad") not in values
    assert values["cachelog_response_cache_hits_total", ""] == 2
    assert values["cachelog_cache_bytes", "responses"] > 0
    assert values["cachelog_cache_bytes", "frames"] > 0
    assert values["cachelog_cache_bytes", "rows"] > 0
    assert (values["cachelog_frames", ""], values["cachelog_revisions", ""]) == (1, 5)
    assert 0 <= values["cachelog_refresh_age_seconds", ""] < 60
    history = Catalog(str(demo_catalog)).require_history()
    last = max(revision.published_at for revision in history.revisions)
    assert values["cachelog_last_import_timestamp_seconds", ""] == last.timestamp()
    for name in history.series_names:
        newest = max(revision.taken_at for revision in history.of_series(name)).timestamp()
        assert values["cachelog_newest_revision_timestamp_seconds", name] == newest
    assert values["cachelog_build_info", cachelog_version()] == 1
    assert values["cachelog_resident_memory_bytes", ""] > 10 << 20
    open_now, most = (values[f"cachelog_{kind}_descriptors", ""] for kind in ("open", "max"))
    assert 3 < open_now < most
    assert values["cachelog_processes", ""] == 1
    assert values["cachelog_answer_bytes_total", ""] > 100


def test_both_formats_have_all_instruments(demo_server: Server) -> None:
    """As the client accepts; the parser of OpenMetrics is strict."""
    httpx.post(demo_server.graphql, content=b"?", headers={"content-type": "application/json"})
    for headers, parse in (({}, plain), (OPENMETRICS, openmetrics)):
        answer = httpx.get(f"{demo_server.url}/metrics", headers=headers)
        expected = "application/openmetrics-text" if headers else "text/plain"
        assert answer.headers["content-type"].startswith(expected)
        assert answer.headers["cache-control"] == "no-store"
        names = {name for name, _ in numbers(answer.text, parse)}
        for instrument in INSTRUMENTS:
            assert names.issuperset(sample_names(instrument)), instrument.name


def exchange(**facts: object) -> Exchange:
    """Return an exchange with these facts."""
    default = Exchange("id", "::1", "GET", "/", 200, 10, 0.001, None, None)
    return msgspec.structs.replace(default, **facts)


def test_number_of_labels_is_limited() -> None:
    """Clients choose names: the first ones are separate, others and long ones share a label."""
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
def test_buckets_include_their_bound(seconds: float, bucket: int) -> None:
    """The last one has no bound."""
    recorder = Recorder(lambda: ())
    recorder.note(exchange(seconds=seconds))
    *counts, total = recorder.tally()[SECONDS.name]["other"]
    assert total == seconds
    assert len(counts) == len(BUCKETS) + 1
    assert (counts[bucket], sum(counts)) == (1, 1)


def test_processes_share_a_folder(tmp_path: Path) -> None:
    """Each has the sum of all; counters of an exited process remain, its gauges do not."""
    recorders = [
        Recorder(lambda n=n: [(CACHE_BYTES, "frames", 10), (REVISIONS, "", n)])  # type: ignore[misc]
        for n in (1, 2)
    ]
    first, second = (SharedTallies(recorder, tmp_path) for recorder in recorders)

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


def test_unknown_instruments_are_ignored() -> None:
    """Exited processes of another version may have recorded them."""
    total: Tally = {}
    add(total, {"cachelog_former": {"": [1]}, "cachelog_requests": {"200": [2]}}, is_running=False)
    assert total == {"cachelog_requests": {"200": [2]}}


def test_missing_folder_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log states it once; the process shares its numbers when the folder is back."""
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
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 2  # before the folder was there, and after
    assert all("cannot be shared: [Errno 2] No such file" in text for text in texts)
    assert tallies.total()["cachelog_requests"] == {}
