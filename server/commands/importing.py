"""``cachelog import`` and ``cachelog demo``: what fills a catalog."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from itertools import islice
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
from server.settings import settings_from
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.publishing import Publication
from snapshots.contents import Snapshot
from snapshots.errors import CachelogError, InvalidArgument, SourceError
from snapshots.models import revision_facts
from snapshots.refs import parse_moment
from snapshots.sources.reports import Report
from snapshots.wording import counted

_BATCH = 64
"""How many revisions of a history are published at once: an import that is cut loses no more."""


_PAGES = "_cache"


class Every(Enum):
    """How much of a history is kept."""

    COMMIT = "commit"
    DAY = "day"
    WEEK = "week"


def _moment(text: str) -> datetime:
    try:
        return parse_moment(text)
    except InvalidArgument as error:
        raise typer.BadParameter(error.reason) from None


def import_command(
    locations: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LOCATION]...",
            help="Cache pages (files, or folders of them), an index.json, a build cache, or the "
            "list of tags and stacks of a public one: a path, or an http(s):// or s3:// URL.",
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            metavar="TAG",
            help="Only these tags (names or globs, repeatable); or the tag to publish under, for "
            "what names no tag of its own or one other.",
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
    sizes: Annotated[
        bool,
        typer.Option(
            "--sizes", help="Ask a build cache for the size of each binary package, once for each."
        ),
    ] = False,
    git: Annotated[
        str | None,
        typer.Option(
            "--git",
            metavar="REPO",
            help="Read the history of cache pages in a git repository (a path or clone URL): a "
            "revision for each commit that changed a tag.",
        ),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help=f"With --git: where the pages are in it; {_PAGES} by default."
        ),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(metavar="DATE", parser=_moment, help="With --git: only commits from then on."),
    ] = None,
    every: Annotated[
        Every | None,
        typer.Option(
            help="With --git: each commit (the default), or the last of each day or week."
        ),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out what cannot be read, and list it.")
    ] = False,
    as_json: JsonOption = False,
    catalog: CatalogOption = DEFAULT_CATALOG,
) -> None:
    """Read what a build cache holds and publish it as revisions: all that was asked, or nothing.

    A history from git is published piece by piece; run the same again to go on after an
    interruption, or to add what is new.
    """
    _require_fitting(
        locations,
        git,
        of_git={"--since": since, "--path": path, "--every": every},
        of_locations={"--taken-at": taken_at, "--sizes": sizes or None},
    )
    opened = Catalog(catalog)
    publications: list[Publication] = []
    with progress() as bars:
        report = Report(skip_bad=skip_bad, progress=bars)
        try:
            if git:
                snapshots = _history(
                    opened, git, path or _PAGES, since, tag or (), every or Every.COMMIT, report
                )
                while batch := list(islice(snapshots, _BATCH)):
                    publications += opened.publish(batch)
            else:
                found = _found(locations or (), tag or (), sizes=sizes, report=report)
                publications += opened.publish(found, taken_at=taken_at)
        except CachelogError:
            if publications:
                _tell_all(publications, report, as_json=as_json)
            raise
    _tell_all(publications, report, as_json=as_json)


def _require_fitting(
    locations: Sequence[str] | None,
    git: str | None,
    *,
    of_git: Mapping[str, object],
    of_locations: Mapping[str, object],
) -> None:
    """Raise BadParameter for options that the import would not heed."""
    if not locations and not git:
        raise typer.BadParameter("name one LOCATION or more, or a repository with --git")
    if locations and git:
        raise typer.BadParameter("LOCATION and --git are two imports: make them one by one")
    unheeded = of_locations if git else of_git
    for option, value in unheeded.items():
        if value is not None:
            raise typer.BadParameter(f"{option} does not go {'with' if git else 'without'} --git")


def _found(
    locations: Sequence[str], tags: Sequence[str], *, sizes: bool, report: Report
) -> list[Snapshot]:
    from snapshots.sources import reading

    settings = settings_from(os.environ).reading()
    found = list(reading.read(locations, tags=tags, sizes=sizes, settings=settings, report=report))
    if not found:
        _tell_beside(report)
        raise CachelogError("nothing could be read, so nothing was published")
    return found


def _history(
    catalog: Catalog,
    repository: str,
    path: str,
    since: datetime | None,
    tags: Sequence[str],
    every: Every,
    report: Report,
) -> Iterator[Snapshot]:
    from snapshots.sources import git

    catalog.refresh(missing_ok=True)
    cache = settings_from(os.environ).reading().cache_dir
    return git.read(
        repository,
        path=path,
        since=since,
        tags=tags,
        every=every.value,
        history=catalog.history,
        clones=None if cache is None else cache / "clones",
        report=report,
    )


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
    if pages is None:
        _tell(Catalog(catalog).publish(list(history)))
        return
    for snapshot in history:
        written = demo.write_pages(snapshot, pages)
        say(f"{snapshot.tag}: wrote {written} pages below {pages / snapshot.tag}")


def _tell_all(publications: Sequence[Publication], report: Report, *, as_json: bool) -> None:
    _tell_beside(report)
    if not as_json:
        _tell(publications)
        return
    say_json(
        {
            "revisions": [
                revision_facts(made.revision) | {"published": made.is_new} for made in publications
            ],
            "skipped": [_error_facts(error) for error in report.skipped],
            "warnings": report.warnings,
        }
    )


def _tell_beside(report: Report) -> None:
    for warning in report.warnings:
        note(f"warning: {warning}")
    for error in report.skipped:
        note(f"skipped: {error}")


def _tell(publications: Sequence[Publication]) -> None:
    if not publications:
        say("nothing new, nothing published")
    for made in publications:
        revision = made.revision
        facts = (
            f"{revision.digest[:12]} of {revision.taken_at:%Y-%m-%d}, "
            f"{counted(revision.num_packages, 'package')}, {counted(revision.num_specs, 'spec')}, "
            f"{counted(revision.num_stacks, 'stack')}"
        )
        synthetic = " (synthetic)" if revision.source.synthetic else ""
        if made.is_new:
            say(f"{revision.tag}: published {facts}{synthetic}")
        else:
            say(f"{revision.tag}: unchanged, nothing published; it stands as {facts}")


def _error_facts(error: SourceError) -> dict[str, Any]:
    return {
        "location": error.location,
        "line": error.line,
        "key": error.key,
        "reason": error.reason,
    }
