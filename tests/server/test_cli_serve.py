"""``cachelog serve`` as operators run it: it starts, follows the catalog, and stops."""

import os
import socket
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from deltalake import DeltaTable

from server.settings import Settings, settings_from
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.revisions_table import FORMAT
from snapshots.demo import develop_history
from snapshots.tables import REVISIONS
from tests.server.cache_pages import demo_pages
from tests.server.commands import cachelog
from tests.server.metrics.test_page import numbers_of
from tests.server.servers import free_port, serving, tags, until


def empty_catalog(folder: Path) -> Path:
    """Create a catalog without a revision; return its folder."""
    properties = {"cachelog.format": str(FORMAT)}
    table = str(folder / "revisions")
    DeltaTable.create(table, REVISIONS, configuration=properties, raise_if_key_not_exists=False)
    return folder


@pytest.mark.long
def test_workers_share_an_address(tmp_path: Path) -> None:
    """All have the settings, follow the catalog, report common metrics, and stop together."""
    names = [snapshot.tag for snapshot in demo_pages(tmp_path / "pages")]
    catalog, front = empty_catalog(tmp_path / "catalog"), "https://front.example"
    settings = {"cors_origins": front, "access_log": "no"}
    no_reuse = httpx.Limits(max_keepalive_connections=0)
    with (
        serving(catalog, tmp_path / "log", "--workers", "2", **settings) as server,
        httpx.Client(base_url=server.url, limits=no_reuse) as client,
    ):
        assert tags(client) == []
        cachelog("import", tmp_path / "pages", catalog=catalog)
        both = "both processes have the same"
        until(lambda: all({*tags(client)} == {*names} for _ in range(10)), both, 4)
        request = {"query": "query Tags { tags { name } }", "operationName": "Tags"}
        for _ in range(10):
            response = client.post("/graphql", json=request, headers={"origin": front})
            assert response.headers["access-control-allow-origin"] == front
        metrics = {("cachelog_request_seconds_count", "Tags"): 10}
        until(lambda: all(metrics.items() <= numbers_of(client).items() for _ in range(6)), both)
        assert server.stop() == 0
    log = server.log.read_text()
    assert f"The catalog at {catalog} is empty." in log
    assert "/graphql 200" not in log


Run = tuple[str, str, int, Settings]
"""A server as it would run: its application, URL, number of processes and settings."""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Record servers instead of running them."""
    started: list[Run] = []

    def run(target: str, *, host: str, port: int, workers: int, **_options: object) -> None:
        with socket.create_server((host, port)):  # the port is free
            url = f"http://{host}:{port}"
            started.append((target, url, workers, settings_from(os.environ)))

    monkeypatch.setattr("uvicorn.run", run)
    return started


def test_demo_fills_an_empty_catalog(
    tmp_path: Path, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog with revisions is unchanged."""
    small = partial(develop_history, revisions=22, packages=3, specs=9)
    monkeypatch.setattr("snapshots.demo.develop_history", small)
    first = cachelog("serve", "--demo", "--port", 0, catalog=tmp_path / "c")
    assert (first.code, len(runs)) == (0, 1)
    assert "It now holds a synthetic history" in first.err
    second = cachelog("serve", "--demo", "--port", 0, catalog=tmp_path / "c")
    assert (second.code, second.err, len(runs)) == (0, "", 2)
    catalog = Catalog(str(tmp_path / "c"))
    catalog.refresh()
    assert len(catalog.history.revisions) == 2 * 4
    assert all(revision.source.synthetic for revision in catalog.history.revisions)


def test_options_override_the_environment(tmp_path: Path, runs: list[Run]) -> None:
    """Worker processes read the options from variables."""
    catalog, port = empty_catalog(tmp_path / "mine"), free_port()
    options = ("--catalog", catalog, "--port", port, "--workers", "3")
    result = cachelog("serve", *options, catalog="/nope", max_body=77, cors_origins="https://a,b")
    assert result.code == 0
    ((*run, settings),) = runs
    assert run == ["server.app:app_from_environ", f"http://127.0.0.1:{port}", 3]
    assert settings == Settings(catalog=str(catalog), max_body=77, cors_origins=("https://a", "b"))


def test_address_has_the_actual_port(demo_catalog: Path, runs: list[Run]) -> None:
    """It is printed if the system chooses one."""
    result = cachelog("serve", "--port", 0, catalog=demo_catalog)
    ((_, url, *_),) = runs
    assert result.out == f"cachelog serves {demo_catalog} at {url}/ (Ctrl+C stops it)\n"
    assert (url.endswith(":0"), result.err) == (False, "")


ERRORS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("--catalog {0}/broken", {}, "catalog {0}/broken: "),
    ("--port {1}", {}, "cannot listen on 127.0.0.1 port {1}: address already in use"),
    ("--host no.such.invalid --port 0", {}, "cannot listen on no.such.invalid port 0: "),
    ("", {"max_body": "many"}, "CACHELOG_MAX_BODY: 'many' is not a whole number from 0\n"),
    ("", {"recipes_url": "nowhere"}, "CACHELOG_RECIPES_URL: 'nowhere' is neither none nor a URL"),
)


def test_missing_folder_of_metrics(demo_catalog: Path, runs: list[Run], tmp_path: Path) -> None:
    """Nothing is served if the processes cannot share their metrics there."""
    variables = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "no")}
    result = cachelog("serve", catalog=demo_catalog, variables=variables)
    assert (result.code, runs) == (1, [])
    assert "/no' is not a folder that can be written to" in result.err


@pytest.mark.parametrize(("options", "settings", "reason"), ERRORS)
def test_errors_precede_any_process(
    demo_catalog: Path,
    tmp_path: Path,
    runs: list[Run],
    options: str,
    settings: dict[str, str],
    reason: str,
) -> None:
    """They are one line, before any process starts; no catalog is created."""
    log = tmp_path / "broken" / "revisions" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{ no commit")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        values = (tmp_path, listener.getsockname()[1])
        variables: dict[str, Any] = {"catalog": demo_catalog}
        variables |= {name: text.format(*values) for name, text in settings.items()}
        result = cachelog("serve", *options.format(*values).split(), **variables)
    assert (result.code, result.out, runs) == (1, "", [])
    assert result.err.startswith(f"cachelog: {reason.format(*values)}")
    assert result.err.count("\n") == 1
    assert not (tmp_path / "missing").exists()
