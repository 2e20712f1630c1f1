"""``cachelog serve`` and ``cachelog export-schema``: the API for others."""

import os
from typing import Annotated

import typer

from server.console import DEFAULT_CATALOG, CatalogOption, note, say
from snapshots.catalog.catalog import Catalog

_GRACE_SECONDS = 10


def serve_command(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="How many processes serve.", min=1)] = 1,
    demo: Annotated[
        bool, typer.Option("--demo", help="Fill the catalog with made-up data if it is empty.")
    ] = False,
    catalog: CatalogOption = DEFAULT_CATALOG,
) -> None:
    """Serve GraphQL and GraphiQL at /graphql; further settings are CACHELOG_* variables."""
    import uvicorn
    from msgspec.structs import replace

    from server.settings import environ_of, settings_from

    settings = replace(settings_from(os.environ), catalog=catalog)
    opened = Catalog(catalog)
    opened.refresh()
    if not opened.history.revisions:
        if demo:
            from snapshots.demo import history

            opened.publish(list(history()))
            note("The catalog was empty; it now holds a made-up history, marked as synthetic.")
        else:
            note(
                f"The catalog at {catalog} is empty. Fill it with 'cachelog import PATH' while "
                "this runs, or start with --demo."
            )
    # Worker processes build the application anew, from their environment.
    os.environ.update(environ_of(settings))
    say(f"cachelog serves {catalog} at http://{host}:{port}/graphql (Ctrl+C stops it)")
    try:
        uvicorn.run(
            "server.app:app_from_environ",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
    except SystemExit as end:
        # uvicorn has codes of its own, and has said why.
        raise typer.Exit(1 if end.code else 0) from None


def export_schema_command() -> None:
    """Print the schema of the API in GraphQL's own language."""
    from schema.api import sdl

    typer.echo(sdl(), nl=False)
