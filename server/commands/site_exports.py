"""Exports of sites, for ``cachelog export-site``, which imports this module when it runs."""

import asyncio
import os
from datetime import datetime
from pathlib import Path

import msgspec

from server.environment import settings_from
from server.feeds.addresses import FeedAddresses
from server.feeds.files import series_document
from server.graphql.manifest import read_manifest
from server.pages.rendering import assets
from server.site.asking import server_of
from server.site.choosing import choose
from server.site.exporting import Site, export
from server.site.folder import SiteFolder
from server.site.questions import documents_of, own_documents
from server.terminal.catalogs import open_catalog, require_series
from server.terminal.console import note, progress
from snapshots.program import cachelog_version
from snapshots.wording import counted

_MOST_FAULTS = 5


class SiteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command, as it describes them; URLs end with a slash, or are empty."""

    documents: Path | None
    series: tuple[str, ...]
    since: datetime | None
    last: int | None
    pages: bool
    base_url: str
    server_url: str
    prune: bool


def export_site(location: str, folder: Path, options: SiteOptions) -> bool:
    """Write the site of a catalog, say what was done, and return whether nothing is missing."""
    site = _site(location, options)
    base_url, server_url = options.base_url or "-", options.server_url or "-"
    made_by = [f"cachelog {cachelog_version()}", base_url, server_url, *assets().values()]
    site_folder = SiteFolder(folder, " ".join(made_by))
    _write(site, site_folder, location)
    parts = [f"{counted(site_folder.num_written, 'file')} written"]
    parts.append(f"{site_folder.num_kept:,} as before")
    if options.prune:
        parts.append(f"{site_folder.num_removed:,} removed")
    note(f"{', '.join(parts)} in {folder}")
    for fault in site.faults[:_MOST_FAULTS]:
        note(f"left out: {fault}")
    if site.faults:
        note(f"{counted(len(site.faults), 'file')} could not be had")
    return not site.faults


def _site(location: str, options: SiteOptions) -> Site:
    documents = own_documents()
    if options.documents:
        documents = documents_of(read_manifest(options.documents, "--documents").documents)
    opened = open_catalog(location)
    for name in options.series:
        require_series(name, opened.history)
    opened = opened.complete()
    to_pages = "../" if options.pages else options.server_url or None
    base_url = options.base_url
    addresses = FeedAddresses(f"{base_url}feeds/" if base_url else "", to_pages, has_pages=False)
    return Site(
        chosen=choose(opened.history, options.series, since=options.since, last=options.last),
        documents=documents,
        feed_of=lambda name: series_document(opened, name, addresses),
        has_pages=options.pages,
        base_url=base_url,
        server_url=options.server_url,
        is_pruned=options.prune,
    )


def _write(site: Site, folder: SiteFolder, location: str) -> None:
    """Write the site; its index names what there is of it, also after Ctrl+C."""
    settings = msgspec.structs.replace(settings_from(os.environ), catalog=location)

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
            {document.id: document.name for document in site.documents},
            {
                name: [
                    {
                        "tag": revision.tag,
                        "digest": revision.digest,
                        "takenAt": revision.taken_at.isoformat(),
                    }
                    for revision in revisions
                ]
                for name, revisions in site.chosen.revisions.items()
            },
            prune=site.is_pruned and is_whole,
        )
