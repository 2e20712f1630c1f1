"""Spans on their way: switched on by a setting, told where by OpenTelemetry's own variables."""

import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from opentelemetry.trace import StatusCode

from server.settings import Settings
from server.tracing.spans import Spans, reading, spans_from, telemetry_from
from server.watch import CatalogWatch
from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from snapshots.errors import InvalidArgument, NoCatalog
from tests.server.cache_pages import demo_pages
from tests.server.commands import cachelog
from tests.server.servers import environ, serving, until
from tests.server.tracing.collectors import collecting, in_memory


def test_nothing_is_imported_where_it_is_off() -> None:
    """Neither by the server nor by the command line."""
    program = (
        "import sys, server.cli\n"
        "from server.app import create_app\n"
        "from server.settings import Settings\n"
        "create_app(Settings())\n"
        "assert not [it for it in sys.modules if it.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", program], env=environ(), check=True)
    assert type(spans_from(Settings())) is Spans


@pytest.mark.parametrize("command", ["serve", "import"])
def test_a_missing_package_is_named_with_its_extra(
    command: str, demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is served or read."""
    monkeypatch.delitem(sys.modules, "server.tracing.telemetry", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    location = [tmp_path] if command == "import" else []
    done = cachelog(command, *location, catalog=demo_catalog, tracing="yes")
    assert done.code == 1
    assert done.err.splitlines() == [
        "cachelog: CACHELOG_TRACING: OpenTelemetry is not installed: pip install 'cachelog[otel]'"
    ]


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "'zipkin' is not otlp, console or none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "'grpc' is not http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "'http/json' is not http/protobuf"),
    ],
)
def test_an_unsupported_variable_is_an_error(
    variable: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names it."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidArgument, match=f"{variable}: {expected}"):
        telemetry_from(Settings(tracing=True))


def test_a_look_for_revisions_has_a_span(demo_catalog: Path, tmp_path: Path) -> None:
    """With the number of revisions, or the error."""
    with in_memory() as (telemetry, exporter):
        for catalog in (demo_catalog, tmp_path / "none"):
            CatalogWatch(Catalog(str(catalog)), 1.0, telemetry).look()
        good, bad = exporter.get_finished_spans()
    assert (good.name, good.status.status_code) == ("refresh", StatusCode.UNSET)
    assert dict(good.attributes or {}) == {"cachelog.is_new": True, "cachelog.revisions": 5}
    assert bad.status.status_code is StatusCode.ERROR
    assert NoCatalog.__name__ in str(bad.status.description)


def test_each_snapshot_that_is_read_has_a_span() -> None:
    """Within the span in which reading began."""
    snapshots = list(history(revisions=2, packages=4, specs=20))
    with in_memory() as (telemetry, exporter):
        with telemetry.span("import"):
            waiting = reading(snapshots, telemetry)
        assert list(waiting) == snapshots
        whole, *parts = exporter.get_finished_spans()
    assert whole.context is not None
    assert {it.parent and it.parent.span_id for it in parts} == {whole.context.span_id}
    assert [dict(it.attributes or {}).get("cachelog.specs") for it in parts] == [
        *(len(it.content) for it in snapshots),
        None,
    ]


def test_spans_of_a_server_reach_a_collector(
    demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From each of its processes, including those of the last moment."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        query = {"query": "query Tags { tags { name } }", "operationName": "Tags"}
        with serving(demo_catalog, tmp_path / "log", "--workers", "2", tracing="yes") as server:

            def processes() -> set[str]:
                httpx.post(server.graphql, json=query)  # over a new connection each time
                asked = collector.named("POST /graphql")
                return {it.resource["service.instance.id"] for it in asked}

            until(lambda: len(processes()) == 2, "both processes have sent spans")
            httpx.get(f"{server.url}/last", headers={"x-request-id": "mine"})
        assert [it.facts["url.path"] for it in collector.named("GET")] == ["/last"]
    assert collector.content_types == {"application/x-protobuf"}
    asked = collector.named("POST /graphql")
    assert {it.facts["graphql.operation.name"] for it in asked} == {"Tags"}
    assert {it.facts["http.response.status_code"] for it in asked} == {200}
    assert not any(it.parent for it in asked)
    assert len({it.id for it in asked}) == len({it.trace for it in asked}) == len(asked)
    refreshed = collector.named("refresh")
    assert {it.facts["cachelog.revisions"] for it in refreshed} == {5}
    assert {it.resource["service.name"] for it in collector.spans} == {"cachelog"}
    assert {it.resource["deployment.environment.name"] for it in collector.spans} == {"test"}


def test_spans_of_an_import_reach_a_collector(tmp_path: Path) -> None:
    """One of the whole, and within it those of reading and publishing, with their counts."""
    snapshots = demo_pages(tmp_path / "pages")
    with collecting() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "nightly"}
        folders = (tmp_path / "pages", tmp_path / "catalog")
        done = cachelog(
            "import", folders[0], catalog=folders[1], variables=variables, tracing="yes"
        )
    assert (done.code, done.err) == (0, "")
    (whole,), (publishing,) = collector.named("import"), collector.named("publish")
    number = len(snapshots)
    assert whole.facts == {"cachelog.revisions": number, "cachelog.skipped": 0}
    assert publishing.facts == {"cachelog.revisions": number, "cachelog.new_revisions": number}
    found = {it.facts["cachelog.tag"]: it for it in collector.named("read") if it.facts}
    specs = {it.tag: len(it.content) for it in snapshots}
    assert {tag: it.facts["cachelog.specs"] for tag, it in found.items()} == specs
    assert {it.parent for it in [publishing, *found.values()]} == {whole.id}
    assert {it.resource["service.name"] for it in collector.spans} == {"nightly"}


def test_a_failing_import_shows_its_own_error(tmp_path: Path) -> None:
    """Though there is no collector."""
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
    }
    began = time.monotonic()
    none = tmp_path / "none"
    catalog = tmp_path / "catalog"
    done = cachelog("import", none, catalog=catalog, variables=variables, tracing="yes")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith(f"cachelog: {none}")
    assert time.monotonic() - began < 30
