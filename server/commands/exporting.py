"""``cachelog export-site``: what a server says, as files for hosts that run no program."""

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.commands.feeding import with_slash
from server.terminal.completion import complete_series
from server.terminal.console import note
from server.terminal.parameters import Time, catalog_option

if TYPE_CHECKING:
    from server.site.exporting import Site
    from server.site.folder import SiteFolder

_MOST_FAULTS = 5


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
    base = with_slash(base_url, "--base-url") if base_url else ""
    server = with_slash(server_url, "--server-url") if server_url else ""
    from server.commands.names import require_series
    from server.commands.past import open_past
    from server.feeds.addresses import FeedAddresses
    from server.feeds.files import series_document
    from server.graphql.manifest import read_manifest
    from server.pages.rendering import assets
    from server.site.choosing import choose
    from server.site.exporting import Site
    from server.site.folder import SiteFolder
    from server.site.questions import documents_of, own_documents
    from snapshots.program import cachelog_version
    from snapshots.wording import counted

    wanted = (
        documents_of(read_manifest(documents, "--documents").documents)
        if documents
        else own_documents()
    )
    past = open_past(catalog)
    for name in series:
        require_series(name, past.history)
    past = past.complete()
    to_pages = "../" if pages else server or None
    addresses = FeedAddresses(f"{base}feeds/" if base else "", to_pages, has_pages=False)
    site = Site(
        chosen=choose(past.history, series, since=since, last=last),
        documents=wanted,
        feed_of=lambda name: series_document(past, name, addresses),
        has_pages=pages,
        base_url=base,
        server_url=server,
        is_pruned=prune,
    )
    made_by = " ".join(
        [f"cachelog {cachelog_version()}", base or "-", server or "-", *assets().values()]
    )
    written = SiteFolder(folder, made_by)
    _write(site, written, catalog)
    parts = [f"{counted(written.num_written, 'file')} written", f"{written.num_kept:,} as before"]
    if prune:
        parts.append(f"{written.num_removed:,} removed")
    note(f"{', '.join(parts)} in {folder}")
    for fault in site.faults[:_MOST_FAULTS]:
        note(f"left out: {fault}")
    if site.faults:
        note(f"{counted(len(site.faults), 'file')} could not be had")
        raise SystemExit(1)


def _write(site: "Site", folder: "SiteFolder", catalog: str) -> None:
    """Write the site; what there is of it is told in its index, also after Ctrl+C."""
    import asyncio

    from msgspec.structs import replace

    from server.environment import settings_from
    from server.site.asking import server_of
    from server.site.exporting import export
    from server.terminal.progress import progress

    settings = replace(settings_from(os.environ), catalog=catalog)

    async def run() -> None:
        with progress() as bars:
            async with server_of(settings, site.base_url) as server:
                await export(site, server, folder, bars)

    is_whole = False
    try:
        asyncio.run(run())
        is_whole = not site.faults
    finally:
        folder.finish(
            {it.id: it.name for it in site.documents},
            {
                name: [
                    {"tag": it.tag, "digest": it.digest, "takenAt": it.taken_at.isoformat()}
                    for it in revisions
                ]
                for name, revisions in site.chosen.revisions.items()
            },
            prune=site.is_pruned and is_whole,
        )
