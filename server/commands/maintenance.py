"""``cachelog remove``, ``prune``, ``keep-list``, ``vacuum``, ``verify``, ``backup``."""

import os
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated

import click

from server.commands.runs import fail, recorded
from server.terminal import console, parameters
from server.terminal.completion import complete_ref
from server.terminal.parameters import Cluster, Flag, Jobs, Keep, argument, option
from snapshots.texts import counted

if TYPE_CHECKING:
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.removal import Removal
    from snapshots.models import RevisionInfo


# -- removing


_DryRun = Annotated[
    bool, option(is_flag=True, help="Print what would be done, without changing anything.")
]


@parameters.catalog_command("remove")
def remove_command(
    refs: Annotated[tuple[str, ...], argument("REF...", shell_complete=complete_ref)],
    *,
    dry_run: _DryRun,
    catalog: str,
) -> None:
    """Remove single revisions.

    They are unavailable immediately. 'cachelog vacuum' deletes contents that no other revision has.

    - refs: The revisions to remove: {REF}. TAG names the newest one of the tag.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.maintenance import removed_lines

    opened = open_catalog(catalog)
    removal = _remove(opened.catalog, map(opened.history.resolve, refs), dry_run=dry_run)
    console.print_result(removal, removed_lines(removal, opened.history, dry_run=dry_run))


@parameters.catalog_command("prune")
def prune_command(*, keep: Keep, series: parameters.Series, dry_run: _DryRun, catalog: str) -> None:
    """Remove all revisions but those that a policy keeps.

    The newest revision of each series is always kept, that of each tag is not: old dated tags go
    unless the policy keeps them. 'cachelog vacuum' deletes contents that no revision has any
    longer.

    - series: Only this series: develop, vX.Y.Z ...
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.maintenance import pruned_lines
    from snapshots.catalog.retention import choose

    opened = open_catalog(catalog)
    history = opened.history
    history.require_series(series)
    choices = choose(history, keep, only=series)
    superfluous = (choice.revision for choice in choices if not choice.kept_by)
    removal = _remove(opened.catalog, superfluous, dry_run=dry_run)
    console.print_result(removal, pruned_lines(removal, choices, history, dry_run=dry_run))


def _remove(catalog: "Catalog", revisions: "Iterable[RevisionInfo]", *, dry_run: bool) -> "Removal":
    from snapshots.catalog.removal import plan, remove

    removal = plan(catalog, revisions)
    if dry_run:
        return removal
    with console.progress() as bars:
        done = remove(catalog, removal, bars)
    for reason in done.not_stored:
        console.note(f"warning: new neighbours were not compared yet: {reason}")
    return done


_lock_files = partial(option, type=click.Path(), multiple=True, metavar="FILE")


@parameters.catalog_command("keep-list", has_json=False)
def keep_list_command(
    *,
    keep: Keep,
    locks: Annotated[tuple[str, ...], _lock_files("--lock")],
    whole: Flag,
    impact: Flag,
    checked: Annotated[tuple[str, ...], _lock_files("--check")],
    catalog: str,
) -> None:
    """Print the hashes that a build cache has to keep.

    These are the hashes of the revisions that a policy keeps, for 'spack buildcache prune
    --keeplist'. Nothing is removed from the catalog or the build cache.

    - locks: Also keep all concrete specs of this lock file: a spack.lock, the folder of an
      environment, or the output of 'spack spec --json' (repeatable).
    - whole: Also keep all dependencies of the specs, regardless of which revision has them.
    - impact: Instead of the list, print what is not on it: specs of other revisions, their size,
      and the combinations of package, stack and target that would be lost.
    - checked: With --impact: also print how many specs of this lock file are not on the list
      (repeatable).
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.maintenance import unlisted_lines
    from snapshots.catalog.keep_lists import keep_list, rest_of
    from snapshots.catalog.retention import choose
    from snapshots.sources import lock_files

    if checked and not impact:
        raise click.UsageError("--check requires --impact.")
    opened = open_catalog(catalog)
    to_check = {file: {spec.hash for spec in lock_files.read(file).specs} for file in checked}
    locked = [spec.hash for file in locks for spec in lock_files.read(file).specs]
    choices = choose(opened.history, keep)
    digests = dict.fromkeys(choice.revision.digest for choice in choices if choice.kept_by)
    kept = keep_list(opened.library, digests, locked, whole=whole)
    if kept.num_unknown:
        specs = counted(kept.num_unknown, "spec")
        console.note(
            f"The dependencies of {specs} are unknown: what only these reach is not on the list."
        )
    lines: Iterable[str] = sorted(kept.hashes)
    if impact:
        every = (choice.revision.digest for choice in choices)
        lines = unlisted_lines(rest_of(opened.library, every, kept.hashes), kept, to_check)
    for line in lines:
        click.echo(line)


@parameters.catalog_command("vacuum")
def vacuum_command(
    *,
    older_than: Annotated[int, option(type=click.IntRange(1, 168), default=24, metavar="HOURS")],
    dry_run: _DryRun,
    catalog: str,
) -> None:
    """Delete files that are no longer needed.

    These are contents of removed revisions, leftovers of interrupted imports, and files that were
    merged into others, if they have not been in use for some time. Files are deleted before
    anything is written, so this works on a full disk.

    - older_than: Delete files that have not been in use for so many hours, at most 168.
    """
    from server.terminal.printing.maintenance import vacuumed_lines
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.vacuum import vacuum

    with console.progress() as bars:
        grace = timedelta(hours=older_than)
        done = vacuum(Catalog(catalog), older_than=grace, dry_run=dry_run, progress=bars)
    console.print_result(done, vacuumed_lines(done, older_than, dry_run=dry_run))


# -- verify


@parameters.catalog_command("verify")
def verify_command(
    *,
    source: Annotated[str | None, option(metavar="SOURCE")],
    jobs: Jobs,
    cluster: Cluster,
    catalog: str,
) -> None:
    """Read the entire catalog, and report damage; or compare a source's index with its files.

    Each finding is printed with a remedy. The exit code is 1 if anything is damaged. Nothing is
    changed. Imports and servers may run at the same time.

    - source: Instead of the catalog, verify the index of this build cache (a folder, bucket or
      registry): count the specs of the cache that the index lacks, and those that it lists although
      the cache no longer has them.
    - jobs: Read with up to N processes; each uses up to 400 MB for contents of 60,000 specs. By
      default 1; on a cluster, the number of cores.
    """
    from server.terminal.printing.maintenance import verified_lines
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.verification import verify

    if source is not None:
        return _verify_source(source)
    with console.progress() as bars, recorded(Catalog(catalog), "verify") as run:
        verified = verify(catalog, jobs=jobs, cluster=cluster or None, progress=bars)
        if not verified.is_sound:
            fail(run, "; ".join(str(it) for it in verified.findings if it.is_damage))
    console.print_result(verified, verified_lines(verified))
    if not verified.is_sound:
        raise click.exceptions.Exit(1)
    return None


def _verify_source(source: str) -> None:
    from server.settings import settings_from
    from server.terminal.printing.maintenance import difference_lines
    from snapshots.sources.buildcache.reader import compare_with_cache
    from snapshots.sources.reports import Report

    with console.progress() as bars:
        report = Report(progress=bars)
        difference = compare_with_cache(source, settings_from(os.environ).reading(), report)
    for warning in report.warnings:
        console.note(f"warning: {warning}")
    console.print_result(difference, difference_lines(difference))
    if not difference.is_sound:
        raise click.exceptions.Exit(1)


# -- backup


@parameters.catalog_command("backup")
def backup_command(target: Annotated[str, argument("TARGET")], *, catalog: str) -> None:
    """Copy the catalog in its current state.

    If the target is an earlier copy, only new files are copied. Each is checked against the
    checksum in its name; a damaged file is named, and the exit code is 1, after everything else was
    copied. Imports and servers may run at the same time. A copy is a catalog: to restore it, copy
    it to a new place.

    - target: The target: a folder, or a URL of object storage, that is empty or has an earlier copy
      of this catalog.
    """
    from server.terminal.printing.maintenance import copied_lines
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.copies import backup
    from snapshots.models import public_location

    subject = public_location(target)
    with console.progress() as bars, recorded(Catalog(catalog), "backup", subject):
        copied = backup(catalog, target, progress=bars)
    console.print_result(copied, copied_lines(copied, target))
