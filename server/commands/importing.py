"""``cachelog import``: reads what a build cache holds, and publishes it."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from server.commands.gating import gatekeeper
from server.terminal.console import note, say, say_json
from server.terminal.parameters import Time, catalog_option, jobs_option, json_option

if TYPE_CHECKING:
    from server.tracing.spans import Spans
    from server.webhooks.notifying import Notifier
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.publishing import Publication
    from snapshots.contents import PackedSnapshot, Snapshot
    from snapshots.sources.git import Every
    from snapshots.sources.reports import Report

_REVISIONS_AT_ONCE = 64
"""How many revisions of a history are published at once: an import that is cut loses no more."""

_PAGES_FOLDER = "_cache"

_UNTOLD = 3
"""The exit code where all was published, but somebody was not told; 1 means a fault."""


@click.command("import")
@click.argument(
    "locations",
    metavar="[LOCATION...]",
    nargs=-1,
    help="Cache pages (files, or folders of them), an index.json, a build cache, the list of "
    "tags and stacks of a public one, or the install tree of a Spack: a path, or an http(s)://, "
    "s3:// or oci:// URL. Several as STACK=LOCATION are the stacks of one revision.",
)
@click.option(
    "--tag",
    "tags",
    metavar="TAG",
    multiple=True,
    help="Only these tags (names or globs, repeatable); or the tag to publish under, for what "
    "names no tag of its own or one other.",
)
@click.option(
    "--taken-at",
    type=Time(),
    metavar="TIME",
    help="When the cache had this state (RFC 3339). By default the date in the tag, or in the name "
    "of a folder of pages (TAG-DATE), or now.",
)
@click.option(
    "--sizes", is_flag=True, help="Ask a build cache for the size of each binary package."
)
@click.option(
    "--no-proof",
    is_flag=True,
    help="Believe the hashes of an index; by default each that can be is computed anew, and a "
    "spec that has another one is refused.",
)
@click.option(
    "--view",
    metavar="NAME",
    help="Read the index of this view of a build cache instead of the whole one.",
)
@click.option(
    "--git",
    metavar="REPO",
    help="Read the history of cache pages in a git repository (a path or clone URL): a revision "
    "for each commit that changed a tag.",
)
@click.option(
    "--path",
    metavar="FOLDER",
    help=f"With --git: where the pages are in it. By default {_PAGES_FOLDER}.",
)
@click.option("--since", type=Time(), metavar="TIME", help="With --git: only commits from then on.")
@click.option(
    "--every",
    type=click.Choice(["commit", "day", "week"]),
    help="With --git: each commit (the default), or the last of each day or week.",
)
@click.option(
    "--gate",
    type=click.Path(),
    metavar="FILE",
    help="Publish nothing that breaks the rules of this file, as 'cachelog gate' judges: each "
    "revision against the one before it in its series.",
)
@click.option("--skip-bad", is_flag=True, help="Leave out what cannot be read, and list it.")
@click.option(
    "--notify",
    "receivers",
    metavar="URL",
    multiple=True,
    help="Tell the program at this URL of each revision that is published (repeatable); by default "
    "those in CACHELOG_NOTIFY.",
)
@jobs_option(
    "Read so many tags at once, each in a process that takes up to 500 MB for 60,000 specs, and "
    "compare neighbours likewise."
)
@json_option
@catalog_option
def import_command(
    locations: tuple[str, ...],
    *,
    tags: tuple[str, ...],
    taken_at: datetime | None,
    sizes: bool,
    no_proof: bool,
    view: str | None,
    git: str | None,
    path: str | None,
    since: datetime | None,
    every: "Every | None",
    gate: str | None,
    skip_bad: bool,
    receivers: tuple[str, ...],
    jobs: int | None,
    cluster: str | None,
    as_json: bool,
    catalog: str,
) -> None:
    """Publish what a build cache holds.

    All that was asked for is published, or nothing. A history from git is published piece by
    piece: run the same again to go on after an interruption, or to add what is new.

    The exit code is 3 where all was published, but a program of --notify could not be told.
    """
    _require_fitting(
        locations,
        git,
        of_git={"--since": since, "--path": path, "--every": every},
        of_locations={
            "--taken-at": taken_at,
            "--sizes": sizes or None,
            "--view": view,
            "--no-proof": no_proof or None,
        },
    )
    from msgspec.structs import replace

    from server.environment import settings_from
    from server.terminal.progress import progress
    from server.tracing.spans import closing, reading, spans_from
    from server.webhooks.notifying import notifying
    from snapshots.catalog.bulk.mapping import check_cluster
    from snapshots.catalog.bulk.pairs import making
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.importing import publish_locations
    from snapshots.errors import CachelogError, NothingToPublish
    from snapshots.sources.reports import Report

    if cluster:
        check_cluster(cluster)
    opened, settings = Catalog(catalog), settings_from(os.environ)
    cluster = cluster or None
    approve = None if gate is None else gatekeeper(gate, opened.package_names)
    publications: list[Publication] = []
    with (
        notifying(opened, receivers, settings) as notifier,
        closing(spans_from(settings)) as spans,
        spans.span("import") as note_import,
        progress() as bars,
    ):
        report = Report(skip_bad=skip_bad, progress=bars)
        publish = partial(
            _publish,
            opened,
            spans,
            report,
            taken_at=taken_at,
            approve=approve,
            make_pairs=partial(making, jobs=jobs, cluster=cluster),
        )
        try:
            if git:
                history = _history(
                    opened, git, path or _PAGES_FOLDER, since, tags, every or "commit", report
                )
                snapshots = reading(history, spans)
                for first in snapshots:
                    # One by one, as they are read: as objects a large state takes 100 MB.
                    published = publish(chain([first], islice(snapshots, _REVISIONS_AT_ONCE - 1)))
                    publications += published
                    notifier.tell(published)
            else:
                publications += publish_locations(
                    locations,
                    lambda found: publish(reading(_undated(found, taken_at), spans)),
                    catalog=opened,
                    tags=tags,
                    sizes=sizes,
                    settings=replace(settings.reading(), proof=not no_proof, view=view),
                    report=report,
                    jobs=jobs,
                    cluster=cluster,
                )
                notifier.tell(publications)
        except NothingToPublish:
            _tell_remarks(report)
            raise
        except CachelogError:
            if publications:
                _tell(publications, report, notifier, as_json=as_json)
            raise
        finally:
            note_import("cachelog.revisions", len(publications))
            note_import("cachelog.skipped", len(report.skipped))
    _tell(publications, report, notifier, as_json=as_json)
    if notifier.failures:
        click.get_current_context().exit(_UNTOLD)


def _undated(
    snapshots: "Iterable[PackedSnapshot]", taken_at: datetime | None
) -> "Iterator[PackedSnapshot]":
    """Yield snapshots without dates of their own where a moment is given for all of them.

    Raises InvalidArgument for several states of one tag: they cannot all be of that moment.
    """
    from msgspec.structs import replace

    from snapshots.errors import InvalidArgument

    has_date: dict[str, bool] = {}
    for snapshot in snapshots:
        if taken_at is None:
            yield snapshot
            continue
        is_dated = snapshot.taken_at is not None
        if snapshot.tag in has_date and (is_dated or has_date[snapshot.tag]):
            reason = f"is one moment, and the folders of {snapshot.tag} are of several"
            raise InvalidArgument("--taken-at", f"{reason}: leave it out, or import them apart")
        has_date[snapshot.tag] = is_dated
        yield replace(snapshot, taken_at=None)


def _publish(
    catalog: "Catalog",
    spans: "Spans",
    report: "Report",
    snapshots: "Iterable[Snapshot | PackedSnapshot]",
    **how: Any,
) -> "list[Publication]":
    """Publish in a span; that of what is read on the way stand beside it, not within."""
    with spans.span("publish") as note_publishing:
        published = catalog.publish(snapshots, **how)
        note_publishing("cachelog.revisions", len(published))
        note_publishing("cachelog.new_revisions", sum(it.is_new for it in published))
    for reason in dict.fromkeys(it.unkept for it in published if it.unkept):
        report.warn(f"what changed could not be kept, which is made up for later: {reason}")
    return published


def _require_fitting(
    locations: Sequence[str],
    git: str | None,
    *,
    of_git: Mapping[str, object],
    of_locations: Mapping[str, object],
) -> None:
    """Raise UsageError for options that the import would ignore."""
    if not locations and not git:
        raise click.UsageError("Name one LOCATION or more, or a repository with --git.")
    if "" in locations:
        raise click.UsageError("A LOCATION is empty.")
    if locations and git:
        raise click.UsageError("LOCATION and --git are two imports: make them one by one.")
    ignored = of_locations if git else of_git
    for option, value in ignored.items():
        if value is not None:
            raise click.UsageError(f"{option} does not go {'with' if git else 'without'} --git.")


def _history(
    catalog: "Catalog",
    repository: str,
    path: str,
    since: datetime | None,
    tags: Sequence[str],
    every: "Every",
    report: "Report",
) -> "Iterator[Snapshot]":
    """Return the states of a repository that the catalog does not have yet."""
    from server.environment import settings_from
    from snapshots.sources import git

    catalog.refresh(missing_ok=True)
    return git.read(
        repository,
        path=path,
        since=since,
        tags=tags,
        every=every,
        history=catalog.history,
        settings=settings_from(os.environ).reading(),
        report=report,
    )


def _tell(
    publications: "Sequence[Publication]", report: "Report", notifier: "Notifier", *, as_json: bool
) -> None:
    from server.terminal.printing.revisions import publication_facts, publication_lines
    from server.webhooks.notifying import notification_facts

    _tell_remarks(report)
    for failure in notifier.failures:
        note(f"warning: {failure}")
    if as_json:
        notified = {"notifications": notification_facts(notifier.notifications)}
        say_json(publication_facts(publications, report) | notified)
    else:
        for line in publication_lines(publications):
            say(line)


def _tell_remarks(report: "Report") -> None:
    for warning in report.warnings:
        note(f"warning: {warning}")
    for error in report.skipped:
        note(f"skipped: {error}")
