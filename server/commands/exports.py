"""``cachelog export-site``: the responses of a server, written to files."""

import os
import sys
from pathlib import Path
from typing import Annotated

import click

from server.terminal import console, parameters
from server.terminal.completion import complete_series
from server.terminal.parameters import Since, argument, option
from snapshots.errors import InvalidArgument
from snapshots.texts import counted, http_url, quoted


def _with_slash(_ctx: click.Context, param: click.Parameter, url: str | None) -> str | None:
    """Return a URL to which paths can be appended, or None for an empty one.

    Raises InvalidArgument for a URL that is not http(s), or has a query or a fragment.
    """
    if not url:
        return None
    parts = http_url(url)
    if parts is None or parts.query or parts.fragment or " " in url:
        reason = f"{quoted(url)} is not one of http:// or https://HOST/..."
        raise InvalidArgument(param.opts[0], reason)
    return url if url.endswith("/") else f"{url}/"


_Url = Annotated[str | None, option(metavar="URL", callback=_with_slash)]

PAGES_OF_A_LINE = 100
"""Number of pages after which progress is reported where standard error is no terminal."""

_MAX_FAULTS = 5
"""Maximum number of failed pages that are listed."""


@parameters.catalog_command("export-site", has_json=False)
def export_site_command(
    folder: Annotated[Path, argument("FOLDER", type=parameters.FOLDER)],
    *,
    series: Annotated[
        tuple[str, ...], option(metavar="NAME", multiple=True, shell_complete=complete_series)
    ],
    since: Since,
    last: Annotated[int | None, option(metavar="N", type=click.IntRange(min=1))],
    limit: Annotated[int, option(metavar="N", type=click.IntRange(min=0), default=200)],
    base_url: _Url,
    server_url: _Url,
    catalog: str,
) -> None:
    """Write the pages and feeds of a server as a site of files.

    Files of earlier runs are overwritten if they differ, and never removed. Adjacent revisions that
    are not compared yet are compared first. If pages cannot be generated, they are listed, and the
    exit code is 1.

    - folder: The target: a new or empty folder, or that of an earlier run.
    - series: Only revisions of this series (repeatable). By default those of all series.
    - last: Only the N newest revisions of each series.
    - limit: Write at most N pages of each kind, such as packages and specs, beginning with those
      most looked for.
    - base_url: The URL where the site will be published, for link previews.
    - server_url: The URL of a server of this catalog, to which pages link for content that the site
      does not include.
    """
    import asyncio

    from msgspec.structs import replace

    from server.settings import settings_from
    from server.site import Site, choose, export
    from server.terminal.catalogs import open_catalog

    opened = open_catalog(catalog)
    for name in series:
        opened.history.require_series(name)
    opened = opened.complete(causes=True)
    history = opened.history
    site = Site(
        history,
        choose(history, series, since=since, last=last),
        limit=limit,
        base_url=base_url or "",
        server_url=server_url or "",
    )
    settings = replace(settings_from(os.environ), catalog=catalog)
    with console.progress() as bars:

        def report(task: str, done: int, total: int | None) -> None:
            bars(task, done, total)
            if not sys.stderr.isatty() and done % PAGES_OF_A_LINE == 0:
                console.note(f"{done:,} of {total:,} {task} written")

        written = asyncio.run(export(site, opened.library, settings, folder, report))
    console.note(f"{counted(written.num_files, 'file')} written in {folder}")
    for fault in written.faults[:_MAX_FAULTS]:
        console.note(f"left out: {fault}")
    if written.faults:
        console.note(f"{counted(len(written.faults), 'page')} could not be made")
        raise SystemExit(1)
