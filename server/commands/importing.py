"""``cachelog import`` and ``cachelog demo``: what fills a catalog."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from server.console import (
    DEFAULT_CATALOG,
    CatalogOption,
    JsonOption,
    note,
    progress,
    say,
    say_json,
)
from snapshots.catalog import Catalog, Publication
from snapshots.contents import Snapshot
from snapshots.errors import CachelogError, InvalidArgument, SourceError
from snapshots.refs import parse_moment
from snapshots.rendering import revision_facts
from snapshots.sources.reports import Report


def _moment(text: str) -> datetime:
    try:
        return parse_moment(text)
    except InvalidArgument as error:
        raise typer.BadParameter(error.reason) from None


def import_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Cache pages: files, or folders with pages below them."
        ),
    ],
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            metavar="TAG",
            help="Only these tags (names or globs, repeatable); or, for pages that name no tag or "
            "one other, the tag to publish under.",
        ),
    ] = None,
    taken_at: Annotated[
        datetime | None,
        typer.Option(
            "--taken-at",
            metavar="TIME",
            parser=_moment,
            help="When the cache stood so (RFC 3339); by default the date in the tag, or now.",
        ),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out what cannot be read, and list it.")
    ] = False,
    as_json: JsonOption = False,
    catalog: CatalogOption = DEFAULT_CATALOG,
) -> None:
    """Read cache pages and publish what they say as revisions: all of it, or nothing."""
    from snapshots.sources import pages

    with progress() as bars:
        report = Report(skip_bad=skip_bad, progress=bars)
        snapshots = list(pages.read(paths, tags=tag or (), report=report))
        _require_some(snapshots, report)
        publications = Catalog(catalog).publish(snapshots, taken_at=taken_at)
    for warning in report.warnings:
        note(f"warning: {warning}")
    for error in report.skipped:
        note(f"skipped: {error}")
    if as_json:
        say_json(
            {
                "revisions": [_publication_facts(made) for made in publications],
                "skipped": [_error_facts(error) for error in report.skipped],
                "warnings": report.warnings,
            }
        )
    else:
        _tell(publications)


def demo_command(
    revisions: Annotated[int, typer.Option(help="How many revisions, each with its tag.")] = 8,
    packages: Annotated[int, typer.Option(help="About how many packages each has.")] = 300,
    specs: Annotated[int, typer.Option(help="About how many specs each has.")] = 6_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same history.")] = 0,
    pages: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write cache pages there, not into the catalog."),
    ] = None,
    catalog: CatalogOption = DEFAULT_CATALOG,
) -> None:
    """Make up a history of a build cache, marked as synthetic, to try things on."""
    from snapshots import demo

    history = demo.history(revisions=revisions, packages=packages, specs=specs, seed=seed)
    if pages is not None:
        for snapshot in history:
            written = demo.write_pages(snapshot, pages)
            say(f"{snapshot.tag}: wrote {written} pages below {pages / snapshot.tag}")
        return
    _tell(Catalog(catalog).publish(list(history)))


def _require_some(snapshots: Sequence[Snapshot], report: Report) -> None:
    if snapshots:
        return
    for error in report.skipped:
        note(f"skipped: {error}")
    raise CachelogError("nothing could be read, so nothing was published")


def _tell(publications: Sequence[Publication]) -> None:
    for made in publications:
        revision = made.revision
        facts = (
            f"{revision.digest[:12]}, {revision.num_packages:,} packages, "
            f"{revision.num_specs:,} specs, {revision.num_stacks:,} stacks"
        )
        synthetic = " (synthetic)" if revision.source.synthetic else ""
        if made.is_new:
            say(f"{revision.tag}: published {facts}{synthetic}")
        else:
            say(f"{revision.tag}: unchanged, nothing published; it stands as {facts}")


def _publication_facts(made: Publication) -> dict[str, Any]:
    return revision_facts(made.revision) | {"published": made.is_new}


def _error_facts(error: SourceError) -> dict[str, Any]:
    return {
        "location": error.location,
        "line": error.line,
        "key": error.key,
        "reason": error.reason,
    }
