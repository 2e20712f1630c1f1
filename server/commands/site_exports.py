"""Exports of static sites, for ``cachelog export-site``.

The command imports this module when it runs.
"""

import asyncio
import os
from pathlib import Path

import msgspec

from server.commands.exports import SiteOptions
from server.feeds import FeedAddresses
from server.graphql.persisted_documents import read_manifest
from server.pages.renderer import assets
from server.settings import settings_from
from server.site.export import Site, export, server_of
from server.site.folder import SiteFolder
from server.site.links import SiteLinks
from server.site.queries import built_in_documents, choose, documents_of
from server.terminal import console
from server.terminal.parameters import open_catalog, require_series
from snapshots.program import cachelog_version
from snapshots.texts import counted

_MAX_FAULTS = 5


def export_site(location: str, folder: Path, options: SiteOptions) -> bool:
    """Write the site of a catalog, print a summary, and return whether the site is complete."""
    site = _site(location, options)
    base_url, server_url = options["base_url"] or "-", options["server_url"] or "-"
    made_by = [f"cachelog {cachelog_version()}", base_url, server_url, *assets().values()]
    site_folder = SiteFolder(folder, " ".join(made_by))
    _write(site, site_folder, location)
    parts = [f"{counted(site_folder.num_written, 'file')} written"]
    parts.append(f"{site_folder.num_kept:,} as before")
    if options["prune"]:
        parts.append(f"{site_folder.num_removed:,} removed")
    console.note(f"{', '.join(parts)} in {folder}")
    for fault in site.faults[:_MAX_FAULTS]:
        console.note(f"left out: {fault}")
    if site.faults:
        console.note(f"{counted(len(site.faults), 'file')} could not be made")
    return not site.faults


def _site(location: str, options: SiteOptions) -> Site:
    documents = built_in_documents()
    if options["documents"]:
        documents = documents_of(read_manifest(options["documents"], "--documents").documents)
    opened = open_catalog(location)
    for name in options["series"]:
        require_series(name, opened.history)
    opened = opened.complete(causes=True)
    to_pages = "../" if options["pages"] else options["server_url"]
    base_url, server_url = options["base_url"] or "", options["server_url"] or ""
    return Site(
        library=opened.library,
        chosen=choose(
            opened.history, options["series"], since=options["since"], last=options["last"]
        ),
        documents=documents,
        limit=options["limit"],
        feed_addresses=FeedAddresses(
            f"{base_url}feeds/" if base_url else "", to_pages, has_pages=False
        ),
        links=SiteLinks(opened.history, base_url=base_url, server_url=server_url),
        has_pages=options["pages"],
        is_pruned=options["prune"],
    )


def _write(site: Site, folder: SiteFolder, location: str) -> None:
    """Write the site. Its index is also written after Ctrl+C, and lists the files made so far."""
    settings = msgspec.structs.replace(settings_from(os.environ), catalog=location)

    async def run() -> None:
        with console.progress() as bars:
            async with server_of(settings, site.links) as server:
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
                        "ref": revision.ref,
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
