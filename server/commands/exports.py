"""``cachelog feed`` and ``export-site``: the responses of a server, written to files."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, TypedDict

import click

from server.output_files import write
from server.terminal import console, parameters
from server.terminal.completion import complete_package, complete_series
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

# -- feed


@parameters.catalog_command("feed", has_json=False)
def feed_command(
    *,
    series: Annotated[str | None, argument("[SERIES]", shell_complete=complete_series)],
    package: Annotated[str | None, argument("[PACKAGE]", shell_complete=complete_package)],
    is_all: Annotated[bool, option("--all", is_flag=True)],
    output: Annotated[
        Path | None, option("--output", "-o", type=click.Path(path_type=Path), metavar="PATH")
    ],
    base_url: _Url,
    server_url: _Url,
    catalog: str,
) -> None:
    """Write what changed as an Atom feed.

    With --all, write a folder of feeds, like those of a server at /feeds/. Changed files are
    replaced, including those of removed packages. Adjacent revisions that are not compared yet are
    compared first.

    - series: The series of the feed: develop, develop-DATE, vX.Y.Z ...
    - package: Only revisions that changed this package.
    - is_all: Write the feeds of the series, or of every series, and of each package.
    - output: Write to this file instead of standard output; with --all, to files in this folder.
    - base_url: The URL where the files will be published, for links between them. By default links
      are relative.
    - server_url: The URL of a server of this catalog, to which entries link. By default they have
      no links.
    """
    _require_fitting(series, package, is_all=is_all, output=output)
    from server.feeds import FeedAddresses, package_documents, series_document, write_all

    addresses = partial(FeedAddresses.of_files, base_url, server_url)
    opened = parameters.open_catalog(catalog)
    opened.history.require_series(series, "SERIES")
    opened = opened.complete(series, causes=True)
    library, history = opened.library, opened.history
    if is_all and output is not None:
        names = history.series_names if series is None else [series]
        with console.progress() as bars:
            num_written = write_all(library, history, names, output, addresses, bars)
        console.note(f"{counted(num_written, 'file')} written in {output}")
        return
    name = series or ""
    if package is None:
        changes = library.history_queries.main_changes(history, name)
        feed = series_document(library, history, name, addresses(None), changes)
    else:
        timelines = {package: opened.package_timeline(package, name)}
        feed = package_documents(library, history, timelines, addresses)[package]
    if output is None:
        click.echo(feed.xml.decode(), nl=False)
    else:
        write(output, feed.xml)


def _require_fitting(
    series: str | None, package: str | None, *, is_all: bool, output: Path | None
) -> None:
    """Raise UsageError for options that are incomplete or contradict each other."""
    if is_all and package is not None:
        raise click.UsageError("--all and PACKAGE exclude each other.")
    if is_all and output is None:
        raise click.UsageError("--all writes many files: name a folder with --output.")
    if not is_all and series is None:
        raise click.UsageError("Name a SERIES, or write all feeds with --all.")


# -- export-site

PAGES_OF_A_LINE = 100
"""Number of pages after which progress is reported where standard error is no terminal."""

_MAX_FAULTS = 5
"""Maximum number of failed pages that are listed."""


class SiteOptions(TypedDict):
    """The options of the command, which its help describes; URLs end with a slash."""

    series: Annotated[
        tuple[str, ...], option(metavar="NAME", multiple=True, shell_complete=complete_series)
    ]
    since: Since
    last: Annotated[int | None, option(metavar="N", type=click.IntRange(min=1))]
    limit: Annotated[int, option(metavar="N", type=click.IntRange(min=0), default=200)]
    base_url: _Url
    server_url: _Url


@parameters.catalog_command("export-site", has_json=False)
def export_site_command(
    folder: Annotated[Path, argument("FOLDER", type=parameters.FOLDER)],
    *,
    options: SiteOptions,
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

    opened = parameters.open_catalog(catalog)
    for name in options["series"]:
        opened.history.require_series(name)
    opened = opened.complete(causes=True)
    history = opened.history
    site = Site(
        history,
        choose(history, options["series"], since=options["since"], last=options["last"]),
        limit=options["limit"],
        base_url=options["base_url"] or "",
        server_url=options["server_url"] or "",
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
