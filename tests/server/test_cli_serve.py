"""``cachelog serve`` as operators run it: a process of its own that starts, follows and stops."""

import os
import re
import signal
import socket
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
from deltalake import DeltaTable
from msgspec.structs import replace

from server.http.limits import ConnectionLimits
from server.http.servers import url_of
from server.settings import Settings, settings_from
from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history, history, write_pages
from snapshots.tables import REVISIONS
from tests.server.commands import cachelog
from tests.server.servers import CACHELOG, PATIENCE, Server, environ, free_port, serving, until

TAGS = {"query": "{ tags { name } }"}


def tags(server: Server) -> list[str]:
    """Return the tags that the server knows."""
    found = httpx.post(server.graphql, json=TAGS).json()["data"]["tags"]
    return [tag["name"] for tag in found]


def pages_of(folder: Path) -> list[str]:
    """Write a small history as pages, and return its tags, oldest first."""
    snapshots = list(history(revisions=2, packages=3, specs=9))
    for snapshot in snapshots:
        write_pages(snapshot, folder)
    return [snapshot.tag for snapshot in snapshots]


def empty_catalog(folder: Path) -> Path:
    """Make a catalog without a revision, and return its folder."""
    DeltaTable.create(str(folder / "revisions"), REVISIONS)
    return folder


def test_an_import_is_offered_within_two_seconds(tmp_path: Path) -> None:
    """By another process, into a catalog that was empty when the server started; no restart."""
    names = pages_of(tmp_path / "pages")
    catalog = empty_catalog(tmp_path / "catalog")
    with serving(catalog, tmp_path / "log") as server:
        assert tags(server) == []
        for name in names:
            command: list[str | Path] = [
                CACHELOG,
                "import",
                tmp_path / "pages" / name,
                "--catalog",
                catalog,
            ]
            subprocess.run(command, env=environ(), check=True, stdout=subprocess.DEVNULL)
            until(lambda name=name: name in tags(server), f"{name} is offered", 2)  # type: ignore[misc]
        assert f"The catalog at {catalog} is empty." in server.log.read_text()


@pytest.mark.long
def test_several_processes_serve_one_address(tmp_path: Path) -> None:
    """All of them have the settings, all follow the catalog, and all stop together."""
    (name, *others) = pages_of(tmp_path / "pages")
    catalog, front = empty_catalog(tmp_path / "catalog"), "https://front.example"
    settings = {"cors_origins": front, "access_log": "no"}
    with serving(catalog, tmp_path / "log", "--workers", "2", **settings) as server:
        cachelog("import", tmp_path / "pages" / name, catalog=catalog)
        until(lambda: all(tags(server) == [name] for _ in range(10)), "both processes know it", 4)
        cachelog("import", tmp_path / "pages", catalog=catalog)
        expected = len(others) + 1
        until(lambda: all(len(tags(server)) == expected for _ in range(10)), "and the others", 4)
        for _ in range(10):
            response = httpx.post(server.graphql, json=TAGS, headers={"origin": front})
            assert response.headers["access-control-allow-origin"] == front
        assert server.stop() == 0
    assert "/graphql 200" not in server.log.read_text()


def test_requests_on_the_way_are_answered_before_the_end(
    demo_catalog: Path, tmp_path: Path
) -> None:
    """SIGTERM takes no answer from a client that has begun to ask; no line of the log is lost."""
    body = b'{"query": "{ tags { name } }"}'
    with serving(demo_catalog, tmp_path / "log") as server:
        place = urlsplit(server.url)
        with socket.create_connection((str(place.hostname), int(place.port or 0))) as connection:
            head = f"POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            head += "Content-Type: application/json\r\n\r\n"
            connection.sendall(head.encode() + body[:9])
            until(lambda: httpx.get(f"{server.url}/health/live").is_success, "it is being read")
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert server.process.poll() is None
            connection.sendall(body[9:])
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b'"name":"develop"' in answer
        assert server.process.wait(PATIENCE) in (0, -signal.SIGTERM)
    log = server.log.read_text()
    assert re.search(r"127\.0\.0\.1 POST /graphql 200 \d+B \d+\.\d\dms \S+\n", log)


class Run(NamedTuple):
    """What was to be served: by which function, where, by how many processes, with what settings.

    ``could_connect`` tells whether a client could connect by then.
    """

    factory: str
    url: str
    workers: int
    settings: Settings
    could_connect: bool


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Serve nothing; return what would be served."""
    made: list[Run] = []

    def serve(
        factory: str,
        listening: socket.socket,
        *,
        workers: int,
        limits: ConnectionLimits,
        hang_seconds: float,
    ) -> None:
        with socket.create_connection(listening.getsockname()[:2], timeout=PATIENCE):
            settings = settings_from(os.environ)
            assert limits == settings.connections()
            assert hang_seconds == settings.hang_timeout
            made.append(Run(factory, url_of(listening), workers, settings, could_connect=True))

    monkeypatch.setattr("server.http.servers.serve", serve)
    return made


def test_the_demo_fills_an_empty_catalog_once(
    tmp_path: Path, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --demo there is something to try at once; a catalog that has revisions is left alone."""
    small = partial(develop_history, revisions=4, packages=3, specs=9)
    monkeypatch.setattr("snapshots.demo.develop_history", small)
    first = cachelog("serve", "--demo", "--port", 0, catalog=tmp_path / "c")
    assert (first.code, len(runs)) == (0, 1)
    assert "it now holds a synthetic history" in first.err
    again = cachelog("serve", "--demo", "--port", 0, catalog=tmp_path / "c")
    assert (again.code, again.err, len(runs)) == (0, "", 2)
    catalog = Catalog(str(tmp_path / "c"))
    catalog.refresh()
    assert len(catalog.history.revisions) == 2 * 4
    assert all(it.source.synthetic for it in catalog.history.revisions)


def test_options_count_more_than_the_environment(tmp_path: Path, runs: list[Run]) -> None:
    """Worker processes build the application from variables: the options are among them."""
    mine, port = empty_catalog(tmp_path / "mine"), free_port()
    options = ("--catalog", mine, "--port", port, "--workers", "3")
    done = cachelog("serve", *options, catalog="/nope", max_body=77, cors_origins="https://a,b")
    assert done.code == 0
    (run,) = runs
    assert run[:3] == ("server.app:app_from_environ", f"http://127.0.0.1:{port}", 3)
    assert run.settings.metrics_dir  # where the processes tell each other what they count
    settings = replace(run.settings, metrics_dir="")
    assert settings == Settings(catalog=str(mine), max_body=77, cors_origins=("https://a", "b"))


def test_serving_is_told_when_clients_can_connect(demo_catalog: Path, runs: list[Run]) -> None:
    """Not before; where any free port will do, the address has the one that was taken."""
    done = cachelog("serve", "--port", 0, catalog=demo_catalog)
    (run,) = runs
    assert run.could_connect
    assert done.out == f"cachelog serves {demo_catalog} at {run.url}/ (Ctrl+C stops it)\n"
    assert not run.url.endswith(":0")


@pytest.mark.parametrize(
    ("host", "reason"), [("127.0.0.1", "address already in use"), ("no.such.invalid", "")]
)
def test_an_address_that_cannot_be_had_is_told(
    demo_catalog: Path, runs: list[Run], host: str, reason: str
) -> None:
    """In one line; it is not said before that it is served."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = cachelog("serve", "--host", host, "--port", port, catalog=demo_catalog)
    assert (done.code, done.out, runs) == (1, "", [])
    assert done.err.startswith(f"cachelog: cannot listen on {host} port {port}: {reason}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("--workers", 2)])
def test_a_catalog_that_is_not_there_is_not_served(
    tmp_path: Path, runs: list[Run], options: tuple[object, ...]
) -> None:
    """A mistyped one is told; nothing is made in its place."""
    missing = tmp_path / "mistyped"
    done = cachelog("serve", "--port", 0, *options, catalog=missing)
    assert (done.code, done.out, runs) == (1, "", [])
    assert done.err.startswith(f"cachelog: there is no catalog at {missing}; ")
    assert not missing.exists()


def test_a_build_without_graphiql_is_told(
    demo_catalog: Path, tmp_path: Path, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, as the page needs a CDN then; the API is served all the same."""
    assert cachelog("serve", "--port", 0, catalog=demo_catalog).err == ""
    monkeypatch.setattr("server.asgi.static_folder.STATIC", tmp_path)
    done = cachelog("serve", "--port", 0, catalog=demo_catalog)
    assert done.err.startswith("GraphiQL is not part of this build: ")
    assert (done.err.count("\n"), len(runs)) == (1, 2)


def test_a_setting_that_is_misspelt_is_told(demo_catalog: Path, runs: list[Run]) -> None:
    """With the nearest one that there is."""
    done = cachelog("serve", catalog=demo_catalog, max_bodies=1)
    assert (done.code, runs) == (1, [])
    assert done.err == (
        "cachelog: CACHELOG_MAX_BODIES: is no setting; the nearest is CACHELOG_MAX_BODY\n"
    )


def test_links_that_lead_nowhere_are_refused(demo_catalog: Path, runs: list[Run]) -> None:
    """Before anything is served, however many processes are to do so."""
    done = cachelog("serve", "--workers", 2, catalog=demo_catalog, recipes_url="nowhere")
    assert (done.code, done.out, runs) == (1, "", [])
    assert done.err.startswith("cachelog: CACHELOG_RECIPES_URL: 'nowhere' is neither none, a URL")


@pytest.mark.parametrize("is_file", [False, True])
def test_a_folder_for_numbers_that_cannot_be_written_is_told(
    tmp_path: Path, demo_catalog: Path, runs: list[Run], *, is_file: bool
) -> None:
    """Before anything is served; where no numbers are shown it does not matter."""
    folder = tmp_path / "numbers"
    if is_file:
        folder.touch()
    done = cachelog("serve", catalog=demo_catalog, metrics_dir=folder)
    reason = f"{str(folder)!r} is no folder that can be written to"
    assert (done.code, done.out) == (1, "")
    assert done.err == f"cachelog: CACHELOG_METRICS_DIR: {reason}\n"
    assert runs == []
    assert cachelog("serve", catalog=demo_catalog, metrics_dir=folder, metrics="no").code == 0


def test_what_is_served_and_where_is_told(demo_server: Server, demo_catalog: Path) -> None:
    """So that nobody has to guess the address."""
    told = f"cachelog serves {demo_catalog} at {demo_server.url}/ (Ctrl+C stops it)\n"
    assert told in demo_server.log.read_text()


def test_a_catalog_that_cannot_be_read_is_not_served(tmp_path: Path) -> None:
    """The reason is told in one line."""
    log = tmp_path / "revisions" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{ no commit")
    done = cachelog("serve", "--catalog", tmp_path, "--port", free_port())
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"cachelog: catalog {tmp_path}: ")
    assert done.err.count("\n") == 1
