"""``cachelog feed``: writes feeds as files, for sites without a server."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from server.terminal.completion import complete_package, complete_series
from server.terminal.console import note
from server.terminal.parameters import catalog_option
from snapshots.errors import InvalidArgument
from snapshots.wording import quoted

if TYPE_CHECKING:
    from server.feeds.addresses import FeedAddresses


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
    addresses = _Urls(base_url, server_url)
    from server.commands.names import require_series
    from server.commands.past import open_past
    from server.feeds.files import package_document, series_document, write_all
    from server.output_files import write
    from server.terminal.progress import progress
    from snapshots.wording import counted

    past = open_past(catalog)
    if series is not None:
        require_series(series, past.history, "SERIES")
    past = past.complete(series)
    if is_all and output is not None:
        wanted = past.history.series_names if series is None else [series]
        with progress() as bars:
            num_written = write_all(past, wanted, output, addresses.at, bars)
        note(f"{counted(num_written, 'file')} written in {output}")
        return
    if package is None:
        document = series_document(past, series or "", addresses.at(None))
    else:
        document = package_document(past, series or "", package, addresses.at(package))
    if output is None:
        click.echo(document.decode(), nl=False)
    else:
        write(output, document)


class _Urls:
    """The options that say where files are going to be; raises InvalidArgument for what is none."""

    def __init__(self, base_url: str | None, server_url: str | None) -> None:
        self._base = None if base_url is None else with_slash(base_url, "--base-url")
        self._server = None if server_url is None else with_slash(server_url, "--server-url")

    def at(self, package: str | None) -> "FeedAddresses":
        """Return the addresses in the feed of a series, or of a package."""
        from server.feeds.addresses import FeedAddresses

        return FeedAddresses.of_files(self._base, self._server, package)


def with_slash(url: str, option: str) -> str:
    """Return a URL that addresses can be put behind."""
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
