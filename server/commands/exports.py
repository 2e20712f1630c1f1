"""``cachelog feed`` and ``export-site``: what a server says, as files."""

from datetime import datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import click

from server.output_files import write
from server.terminal.completion import complete_package, complete_series
from server.terminal.console import note, progress
from server.terminal.parameters import Time, catalog_option
from snapshots.errors import InvalidArgument
from snapshots.wording import quoted

# -- feed


@click.command("feed")
@click.argument(
    "series",
    metavar="[SERIES]",
    required=False,
    shell_complete=complete_series,
    help="The series to tell of: develop, develop-DATE, vX.Y.Z ...",
)
@click.argument(
    "package",
    metavar="[PACKAGE]",
    required=False,
    shell_complete=complete_package,
    help="Only what touched this package.",
)
@click.option(
    "--all",
    "is_all",
    is_flag=True,
    help="Write the feed of the series, or of every series, and of each of its packages.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write to this file, not to the terminal; with --all to files in this folder.",
)
@click.option(
    "--base-url",
    metavar="URL",
    help="Where the files are going to be, for links between them. By default links are relative.",
)
@click.option(
    "--server-url",
    metavar="URL",
    help="A server of this catalog, to which entries link; by default they do not.",
)
@catalog_option
def feed_command(
    *,
    series: str | None,
    package: str | None,
    is_all: bool,
    output: Path | None,
    base_url: str | None,
    server_url: str | None,
    catalog: str,
) -> None:
    """Write what changed as an Atom feed.

    With --all a folder of them, as a server has at /feeds/. Files that are there already are
    replaced where they changed, those of packages that are gone too. What is missing of the
    history is made first.
    """
    _require_fitting(series, package, is_all=is_all, output=output)
    base = None if base_url is None else _with_slash(base_url, "--base-url")
    server = None if server_url is None else _with_slash(server_url, "--server-url")
    from server.feeds.addresses import FeedAddresses
    from server.feeds.files import package_document, series_document, write_all
    from server.terminal.catalogs import open_catalog, require_series
    from snapshots.wording import counted

    addresses = partial(FeedAddresses.of_files, base, server)
    opened = open_catalog(catalog)
    if series is not None:
        require_series(series, opened.history, "SERIES")
    opened = opened.complete(series)
    if is_all and output is not None:
        names = opened.history.series_names if series is None else [series]
        with progress() as bars:
            num_written = write_all(opened, names, output, addresses, bars)
        note(f"{counted(num_written, 'file')} written in {output}")
        return
    if package is None:
        document = series_document(opened, series or "", addresses(None))
    else:
        document = package_document(opened, series or "", package, addresses(package))
    if output is None:
        click.echo(document.decode(), nl=False)
    else:
        write(output, document)


def _with_slash(url: str, option: str) -> str:
    """Return a URL that addresses can be appended to; raises InvalidArgument for any other."""
    parts = urlsplit(url)
    is_plain = not (parts.query or parts.fragment) and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise InvalidArgument(option, f"{quoted(url)} is none of http:// or https://HOST/...")
    return url if url.endswith("/") else f"{url}/"


def _require_fitting(
    series: str | None, package: str | None, *, is_all: bool, output: Path | None
) -> None:
    """Raise UsageError for options that leave something open, or say it twice."""
    if is_all and package is not None:
        raise click.UsageError("--all writes the feeds of all packages: leave PACKAGE out.")
    if is_all and output is None:
        raise click.UsageError("--all writes many files: name a folder with --output.")
    if not is_all and series is None:
        raise click.UsageError("Name a SERIES, or write all feeds with --all.")


# -- export-site


@click.command("export-site")
@click.argument(
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write: a new folder, an empty one, or that of an earlier run.",
)
@click.option(
    "--documents",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="MANIFEST",
    help="Answer the documents of this manifest, Apollo's or Relay's, and not cachelog's own.",
)
@click.option(
    "--series",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_series,
    help="Only revisions of this series (repeatable). By default of all.",
)
@click.option(
    "--since", metavar="TIME", type=Time(), help="Only revisions taken at this time or later."
)
@click.option(
    "--last",
    metavar="N",
    type=click.IntRange(min=1),
    help="Only the N newest revisions of each series.",
)
@click.option("--pages/--no-pages", default=True, help="Write pages for people, too.")
@click.option(
    "--base-url", metavar="URL", help="Where the site is going to be, for previews of links."
)
@click.option(
    "--server-url",
    metavar="URL",
    help="A server of this catalog, to which pages link for what the site has not.",
)
@click.option("--prune", is_flag=True, help="Remove files of earlier runs that no longer belong.")
@catalog_option
def export_site_command(
    *,
    folder: Path,
    documents: Path | None,
    series: tuple[str, ...],
    since: datetime | None,
    last: int | None,
    pages: bool,
    base_url: str | None,
    server_url: str | None,
    prune: bool,
    catalog: str,
) -> None:
    """Write a site of files: what a server says.

    It has the answers to documents, feeds, and pages: of series and revisions, and of what changed
    between each revision and the one before it. A further run writes what is new; what stays true
    for ever is not made again. What is missing of the history is made first. Files that cannot be
    had are told of, and the exit code is 1.
    """
    base = _with_slash(base_url, "--base-url") if base_url else ""
    server = _with_slash(server_url, "--server-url") if server_url else ""
    from server.commands.site_exports import SiteOptions, export_site

    options = SiteOptions(
        documents=documents,
        series=series,
        since=since,
        last=last,
        pages=pages,
        base_url=base,
        server_url=server,
        prune=prune,
    )
    if not export_site(catalog, folder, options):
        raise SystemExit(1)
