"""/metrics over HTTP: it is valid for Prometheus, sums several processes, and is bounded."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from server.asgi.exchanges import Exchange
from server.metrics import MAX_LABELS, SECONDS, note, of_runs
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.runs import Regular, Run, RunKind, RunResult
from tests.server.servers import Server, application, serving, until
from tests.test_metrics_doc import METRICS

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
        before = numbers_of(client)
        for _ in range(3):
            send(client, "query Counted { tags { name } }", "Counted")
        for first in (1, 2):
            send(client, f"{{ revision {{ specs(first: {first}) {{ nodes {{ hash }} }} }} }}")
        send(client, "query Bad { nope }", "Bad")
        client.post("/graphql", content=b"?", headers={"content-type": "application/json"})
        client.get("/nope")
        send(client, "{ __schema { queryType { name } } }")
        values = numbers_of(client)
    counted = {key: value - before.get(key, 0) for key, value in values.items()}
    assert counted["cachelog_requests_total", "200"] >= 4
    assert counted["cachelog_requests_total", "404"] == 1
    assert counted["cachelog_refused_total", "BAD_REQUEST"] == 1
    assert counted["cachelog_refused_total", "GRAPHQL_VALIDATION_FAILED"] == 1
    assert counted["cachelog_request_seconds_count", "Counted"] == 3
    assert 0 < counted["cachelog_request_seconds_sum", "Counted"] < 60
    assert ("cachelog_request_seconds_count", "Bad") not in values
    assert counted["cachelog_response_cache_hits_total", ""] == 2
    assert counted["cachelog_fallbacks_total", "introspection"] == 1
    assert values["cachelog_cache_bytes", "responses"] > 0
    assert values["cachelog_cache_bytes", "frames"] > 0
    assert 0 <= values["cachelog_refresh_age_seconds", ""] < 60
    history = Catalog(str(demo_catalog)).require_history()
    for name in history.series_names:
        newest = max(revision.taken_at for revision in history.of_series(name)).timestamp()
        assert values["cachelog_newest_revision_timestamp_seconds", name] == newest
    open_now, most = (values[f"cachelog_{kind}_descriptors", ""] for kind in ("open", "max"))
    assert 3 < open_now < most


def test_both_formats_have_all_metrics(demo_server: Server) -> None:
    """As the client accepts; the parser of OpenMetrics is strict."""
    httpx.post(demo_server.graphql, content=b"?", headers={"content-type": "application/json"})
    for headers, parse in (({}, plain), (OPENMETRICS, openmetrics)):
        answer = httpx.get(f"{demo_server.url}/metrics", headers=headers)
        expected = "application/openmetrics-text" if headers else "text/plain"
        assert answer.headers["content-type"].startswith(expected)
        assert answer.headers["cache-control"] == "no-store"
        names = {name for name, _ in numbers(answer.text, parse)}
        assert names >= METRICS - {family.name for family in of_runs([])}  # no import is recorded


def test_runs_are_shown_by_series_and_source() -> None:
    """When each was last successful, and whether the last one was."""
    started = datetime(2026, 3, 30, tzinfo=UTC)
    good = Run(
        kind=RunKind.IMPORT, subject="index.json", series=["a", "b"], started_at=started, seconds=60
    )
    bad = msgspec.structs.replace(good, result=RunResult.FAILED)
    succeeded, result = of_runs([Regular(good, good), Regular(bad, good), Regular(bad, None)])
    assert [sample.labels["series"] for sample in result.samples] == ["a", "b"] * 3
    assert [sample.value for sample in result.samples] == [1, 1, 0, 0, 0, 0]
    assert {sample.value for sample in succeeded.samples} == {started.timestamp() + 60}
    assert len(succeeded.samples) == 4


def exchange(**facts: object) -> Exchange:
    """Return an exchange with these facts."""
    default = Exchange("id", "::1", "GET", "/", 200, 10, 0.001, None, None)
    return msgspec.structs.replace(default, **facts)


def test_number_of_labels_is_limited() -> None:
    """Clients choose names: the first ones are separate, others and long ones share a label."""
    for number in range(1_000):
        note(exchange(operation=f"Name{number}"))
    note(exchange(operation="x" * 1_000))
    (family,) = SECONDS.collect()
    samples = [sample for sample in family.samples if sample.name.endswith("_count")]
    labels = {label for sample in samples for label in sample.labels.values()}
    assert len(labels) <= MAX_LABELS + 1
    assert not any(len(label) > 100 for label in labels)
    assert sum(sample.value for sample in samples) >= 1_000


def test_processes_share_a_folder(
    demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reports the sum of all; counters of an ended process remain, its gauges do not."""
    folder = tmp_path / "numbers"
    folder.mkdir()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    (folder / "gauge_livesum_999999999.db").touch()  # of a process that was killed
    with serving(demo_catalog, tmp_path / "1") as one, httpx.Client(base_url=one.url) as client:
        send(client, "query Tags { tags { name } }", "Tags")
        with serving(demo_catalog, tmp_path / "2") as two:
            httpx.get(
                f"{two.url}/graphql",
                params={"query": "query Tags { tags { name } }", "operationName": "Tags"},
            )
            cached = "cachelog_cache_bytes", "responses"
            alone_cached = numbers_of(client)[cached]
            until(lambda: numbers_of(client)[cached] > alone_cached, "both are counted")
            both = numbers_of(client)
        alone = numbers_of(client)
    assert both["cachelog_request_seconds_count", "Tags"] == 2
    assert alone["cachelog_request_seconds_count", "Tags"] == 2
    assert alone[cached] < both[cached]
