"""``cachelog serve`` and ``export-schema``: interfaces for other programs."""

import os
import resource
import socket
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import click

from server.terminal import console
from server.terminal.parameters import Flag, catalog_command, option
from snapshots.errors import InvalidArgument

if TYPE_CHECKING:
    from snapshots.catalog.catalog import Catalog

_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable of the folder in which processes share metrics, as prometheus-client reads it."""


KEEP_ALIVE_SECONDS = 75
"""Seconds that a connection waits for its next request; longer than proxies keep theirs."""

_BACKLOG = 8_192
"""Connections that wait to be accepted, as far as the system allows; others retry later."""

_SKIPPED = 18
"""The first weeks of the sample data, each under two tags, which a new server skips."""

GRACE_SECONDS = 10
"""Seconds that requests in progress may take after a server is asked to stop."""


@catalog_command("serve", has_json=False)
def serve_command(
    host: Annotated[str, option(default="127.0.0.1", metavar="ADDRESS")],
    port: Annotated[int, option(type=click.IntRange(0, 65535), default=8000, metavar="PORT")],
    workers: Annotated[int, option(type=click.IntRange(min=1), default=1, metavar="N")],
    *,
    demo: Flag,
    catalog: str,
) -> None:
    """Serve web pages, the GraphQL API and feeds.

    The API is at /graphql, where browsers receive GraphiQL. Other settings are CACHELOG_*
    variables, listed in docs/settings.md.

    - host: The address to listen on.
    - port: The port to listen on.
    - workers: Number of processes that serve requests.
    - demo: Fill the catalog with synthetic data if it is empty.
    """
    from tempfile import TemporaryDirectory

    import uvicorn
    from msgspec.structs import replace

    from server.logs import configure
    from server.settings import settings_from, variable_of
    from snapshots.catalog.catalog import Catalog
    from snapshots.recipes.commits import links_of

    settings = replace(settings_from(os.environ), catalog=catalog)
    # Report errors before serving anything, and only once.
    settings.public_address()
    links_of(settings.recipes_url, "")
    if folder := os.environ.get(_METRICS_FOLDER):
        _require_folder(_METRICS_FOLDER, folder)
    port = _free_port(host, port)
    opened = Catalog(catalog)
    opened.refresh(missing_ok=True)
    with ExitStack() as held:
        if not opened.history.revisions:
            _fill(opened, demo=demo)
        if workers > 1 and settings.metrics and not folder:
            folder = held.enter_context(TemporaryDirectory(prefix="cachelog-metrics-"))
            os.environ[_METRICS_FOLDER] = folder
        # Each worker process builds the application from its environment.
        os.environ[variable_of("catalog")] = catalog
        address = f"[{host}]" if ":" in host else host
        console.print_text(
            f"cachelog serves {catalog} at http://{address}:{port}/ (Ctrl+C stops it)"
        )
        if workers > 1:
            configure(settings.log_format)  # each worker configures its own log
        _allow_connections()
        uvicorn.run(
            "server.app:app_from_environ",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            ws="none",
            access_log=False,
            log_config=None,  # the application configures logging
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # the application evaluates these
            backlog=_BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )


def _require_folder(variable: str, folder: str) -> None:
    """Raise InvalidArgument for a path that is not a writable folder."""
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):  # noqa: PTH112
        raise InvalidArgument(variable, f"{folder!r} is not a folder that can be written to")


def _free_port(host: str, port: int) -> int:
    """Return the port, or a free one for port 0.

    Raises InvalidArgument if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as listening:
            free: int = listening.getsockname()[1]
            return free
    except OSError as error:
        # Python's message repeats the address. Errors of name resolution have negative numbers.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error.strerror)
        raise InvalidArgument(f"cannot listen on {host} port {port}", reason.lower()) from None


def _allow_connections() -> None:
    """Raise the limit of open files, of which each connection is one, as far as allowed."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _fill(catalog: "Catalog", *, demo: bool) -> None:
    """Fill an empty catalog with synthetic data, or print how to fill it."""
    if demo:
        from snapshots.demo import develop_history

        console.note("The catalog is empty: making a synthetic history, for some seconds.")
        catalog.publish(islice(develop_history(), 2 * _SKIPPED, None))
        console.note("It now holds a synthetic history.")
    else:
        console.note(
            f"The catalog at {catalog.location} is empty. "
            "Fill it with 'cachelog import PATH' while this runs, or start with --demo."
        )


@click.command("export-schema")
def export_schema_command() -> None:
    """Print the GraphQL schema of the API."""
    from schema.api import sdl

    click.echo(sdl(), nl=False)
