"""Tracing: enabled by a setting, configured by the variables of OpenTelemetry."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from opentelemetry.trace import StatusCode

from server.settings import Settings
from server.tracing.spans import Spans, spans_from, telemetry_from
from server.watch import CatalogWatch
from snapshots.catalog.catalog import Catalog
from snapshots.errors import InvalidArgument, NoCatalog
from tests.server.cache_pages import demo_pages
from tests.server.commands import cachelog, succeed
from tests.server.servers import environ, serving, until
from tests.server.tracing.collectors import collecting, in_memory


def test_disabled_tracing_imports_no_library() -> None:
    """Neither in the server nor in commands."""
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
def test_missing_package_is_an_error(
    command: str, demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the extra, before anything is served or imported."""
    monkeypatch.delitem(sys.modules, "server.tracing.telemetry", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    location = [tmp_path] if command == "import" else []
    result = cachelog(command, *location, catalog=demo_catalog, tracing="yes")
    assert result.code == 1
    assert result.err.splitlines() == [
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
def test_unsupported_variable_is_an_error(
    variable: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the variable."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidArgument, match=f"{variable}: {expected}"):
        telemetry_from(Settings(tracing=True))


def test_refresh_has_a_span(demo_catalog: Path, tmp_path: Path) -> None:
    """It has the number of revisions, or the error."""
    with in_memory() as (telemetry, exporter):
        for catalog in (demo_catalog, tmp_path / "none"):
            CatalogWatch(Catalog(str(catalog)), 1.0, telemetry).look()
        good, bad = exporter.get_finished_spans()
    assert (good.name, good.status.status_code) == ("refresh", StatusCode.UNSET)
    assert dict(good.attributes or {}) == {"cachelog.is_new": True, "cachelog.revisions": 5}
    assert bad.status.status_code is StatusCode.ERROR
    assert NoCatalog.__name__ in str(bad.status.description)


def test_server_exports_spans(
    demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server sends all spans, including the last ones."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        query = {"query": "query Tags { tags { name } }", "operationName": "Tags"}
        with serving(demo_catalog, tmp_path / "log", tracing="yes") as server:
            for _ in range(2):
                httpx.post(server.graphql, json=query)
            until(lambda: len(collector.named("POST /graphql")) == 2, "the spans are sent")
            httpx.get(f"{server.url}/last", headers={"x-request-id": "mine"})
        assert [span.facts["url.path"] for span in collector.named("GET")] == ["/last"]
    received = collector.hook.received
    assert {request.headers["content-type"] for request in received} == {"application/x-protobuf"}
    requests = collector.named("POST /graphql")
    assert {request.facts["graphql.operation.name"] for request in requests} == {"Tags"}
    assert {request.facts["http.response.status_code"] for request in requests} == {200}
    assert not any(request.parent for request in requests)
    assert len({request.trace for request in requests}) == len(requests)
    refreshed = collector.named("refresh")
    assert {span.facts["cachelog.revisions"] for span in refreshed} == {5}
    assert {span.resource["service.name"] for span in collector.spans} == {"cachelog"}
    assert {span.resource["deployment.environment.name"] for span in collector.spans} == {"test"}


def test_import_exports_spans(tmp_path: Path) -> None:
    """One span contains those of reading and publishing, with their numbers."""
    snapshots = demo_pages(tmp_path / "pages")
    with collecting() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "nightly"}
        settings = {"catalog": tmp_path / "catalog", "tracing": "yes"}
        succeed("import", tmp_path / "pages", variables=variables, **settings)
    (parent,), (publishing,) = collector.named("import"), collector.named("publish")
    number = len(snapshots)
    assert parent.facts == {"cachelog.revisions": number, "cachelog.skipped": 0}
    assert publishing.facts == {"cachelog.revisions": number, "cachelog.new_revisions": number}
    reads = {span.facts["cachelog.tag"]: span for span in collector.named("read") if span.facts}
    specs = {snapshot.tag: len(snapshot.content) for snapshot in snapshots}
    assert {tag: span.facts["cachelog.specs"] for tag, span in reads.items()} == specs
    assert {span.parent for span in [publishing, *reads.values()]} == {parent.id}
    assert {span.resource["service.name"] for span in collector.spans} == {"nightly"}


def test_failed_import_prints_its_own_error(tmp_path: Path) -> None:
    """The import prints its own error."""
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
    }
    missing = tmp_path / "none"
    catalog = tmp_path / "catalog"
    result = cachelog("import", missing, catalog=catalog, variables=variables, tracing="yes")
    assert result.code == 1
    assert "Traceback" not in result.err
    assert result.err.splitlines()[-1].startswith(f"cachelog: {missing}")
