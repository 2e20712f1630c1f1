"""``cachelog costs``, ``remove``, ``prune``, ``keep-list``, ``vacuum``, ``verify``, ``backup``."""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.output_files import write
from server.terminal import console, parameters
from server.terminal.completion import complete_ref
from snapshots.errors import InvalidArgument
from snapshots.texts import counted

if TYPE_CHECKING:
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.copies import Copied
    from snapshots.catalog.removal import Removal
    from snapshots.catalog.retention import RetentionRule
    from snapshots.models import RevisionInfo


# -- costs


@click.group("costs", cls=parameters.CommandGroup)
def costs_group() -> None:
    """Import the measured costs of builds."""


@parameters.catalog_command("import", group=costs_group)
@click.argument("file")
def import_costs_command(file: str, *, catalog: str) -> None:
    """Replace the stored costs of builds by those of a file.

    From then on, time and cost stand wherever specs are counted that are built. What has no cost
    by its hash is estimated by the median of its package. A file without rows removes all costs.

    - file: A CSV file or Parquet. The header names hash or name or both, seconds, and perhaps a
      cost with its unit, as cost_usd.
    """
    from server.terminal.printing.maintenance import costs_facts, costs_lines
    from snapshots.sources.cost_files import read

    rows = read(file)
    parameters.open_catalog(catalog).catalog.costs.replace(rows)
    console.print_result(lambda: costs_facts(rows), costs_lines(rows))


# -- removing


_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Print what would be done, without changing anything."
)


@parameters.catalog_command("remove")
@click.argument(
    "refs",
    metavar="REF...",
    nargs=-1,
    required=True,
    shell_complete=complete_ref,
    help=f"The revisions to remove: {parameters.REF_FORMS}. TAG names the newest one of the tag.",
)
@_dry_run_option
def remove_command(refs: tuple[str, ...], *, dry_run: bool, catalog: str) -> None:
    """Remove single revisions.

    They are unavailable immediately. 'cachelog vacuum' deletes contents that no other revision has.
    """
    from server.terminal.printing.maintenance import removal_facts, removed_lines

    opened = parameters.open_catalog(catalog)
    removal = _remove(opened.catalog, map(opened.history.resolve, refs), dry_run=dry_run)
    lines = removed_lines(removal, opened.history, dry_run=dry_run)
    console.print_result(lambda: removal_facts(removal, dry_run=dry_run), lines)


@parameters.catalog_command("prune")
@parameters.keep_option
@parameters.series_option()
@parameters.whole_tags_option
@_dry_run_option
def prune_command(
    *,
    keep: "tuple[RetentionRule, ...]",
    series: str | None,
    whole_tags: bool,
    dry_run: bool,
    catalog: str,
) -> None:
    """Remove all revisions but those that a policy keeps.

    The newest revision of each series is always kept. 'cachelog vacuum' deletes contents that no
    revision has any longer.

    - series: Only this series: develop, vX.Y.Z ...
    """
    from server.terminal.printing.maintenance import pruned_facts, pruned_lines
    from snapshots.catalog.retention import choose

    opened = parameters.open_catalog(catalog)
    history = opened.history
    parameters.require_series(series, history)
    choices = choose(history, keep, only=series, whole_tags=whole_tags)
    superfluous = (choice.revision for choice in choices if not choice.kept_by)
    removal = _remove(opened.catalog, superfluous, dry_run=dry_run)
    lines = pruned_lines(removal, choices, history, dry_run=dry_run)
    console.print_result(lambda: pruned_facts(removal, choices, dry_run=dry_run), lines)


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


_LOCK_FILE = click.Path(path_type=str)


@parameters.catalog_command("keep-list")
@parameters.keep_option
@parameters.whole_tags_option
@click.option("--lock", "locks", multiple=True, type=_LOCK_FILE, metavar="FILE")
@click.option("--whole", is_flag=True)
@click.option("--impact", is_flag=True)
@click.option("--check", "checked", multiple=True, type=_LOCK_FILE, metavar="FILE")
@parameters.output_option()
def keep_list_command(
    *,
    keep: "tuple[RetentionRule, ...]",
    whole_tags: bool,
    locks: tuple[str, ...],
    whole: bool,
    impact: bool,
    checked: tuple[str, ...],
    output: Path | None,
    catalog: str,
) -> None:
    """Write the hashes that a build cache has to keep.

    These are the hashes of the revisions that a policy keeps, for 'spack buildcache prune
    --keeplist'. Nothing is removed from the catalog or the build cache.

    - locks: Also keep all concrete specs of this lock file: a spack.lock, the folder of an
      environment, or the output of 'spack spec --json' (repeatable).
    - whole: Also keep all dependencies of the specs, regardless of which revision has them.
    - impact: Instead of the list, print the remaining specs: those of revisions that are not kept.
    - checked: With --impact: also print how many specs of this lock file are not kept (repeatable).
    - output: Write the list to this file, atomically, instead of standard output.
    """
    from server.terminal.printing.maintenance import keep_list_report

    if checked and not impact:
        raise click.UsageError("--check is part of what the rest is; add --impact.")
    report = keep_list_report(
        parameters.open_catalog(catalog),
        keep,
        locks,
        whole_tags=whole_tags,
        whole=whole,
        checked=checked if impact else None,
    )
    if report.num_unknown:
        specs = counted(report.num_unknown, "spec")
        console.note(
            f"The dependencies of {specs} are unknown: what only these reach is not on the list."
        )
    lines = [f"{text}\n" for text in report.hashes]
    if output is not None:
        write(output, "".join(lines).encode())
    if impact or console.prints_json():
        console.print_result(report.document, report.lines())
    elif output is not None:
        console.print_text(report.summary)
    else:
        click.echo("".join(lines), nl=False)


@parameters.catalog_command("vacuum")
@click.option(
    "--older-than", type=parameters.DURATION, default="1d", show_default=True, metavar="DURATION"
)
@click.option("--nothing-runs", is_flag=True)
@_dry_run_option
def vacuum_command(
    *, older_than: timedelta, nothing_runs: bool, dry_run: bool, catalog: str
) -> None:
    """Delete files that are no longer needed.

    These are contents of removed revisions, leftovers of interrupted imports, and files that were
    merged into others, if they have not been in use for some time (leftovers of imports: for an
    hour, while no import runs). Files are deleted before anything is written, so this works on a
    full disk.

    - older_than: Delete files that have not been in use for this time: 12h, 1d, 1w. From 1h to 7d.
    - nothing_runs: Allow --older-than 0. Confirms that no import is running, and no server that has
      not noticed the last removal: they could lose files that they need.
    """
    from server.terminal.printing.maintenance import vacuumed_facts, vacuumed_lines
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.vacuum import check_grace, vacuum

    try:
        grace = check_grace(older_than, nothing_runs=nothing_runs)
    except InvalidArgument as error:
        raise click.BadParameter(error.reason, param_hint="'--older-than'") from None
    with console.progress() as bars:
        done = vacuum(Catalog(catalog), older_than=grace, dry_run=dry_run, progress=bars)
    lines = vacuumed_lines(done, grace, dry_run=dry_run)
    console.print_result(lambda: vacuumed_facts(done, dry_run=dry_run), lines)


# -- verify


@parameters.catalog_command("verify")
@click.option("--deep", is_flag=True)
@click.option("--repair", is_flag=True)
@parameters.jobs_option(
    "Read with up to N processes; each uses up to 400 MB for contents of 60,000 specs."
)
def verify_command(
    *, deep: bool, repair: bool, jobs: int | None, cluster: str | None, catalog: str
) -> None:
    """Read the entire catalog, and report damage.

    Each finding is printed with a remedy. The exit code is 1 if anything is damaged. Without
    --repair, nothing is changed. Imports and servers may run at the same time.

    - deep: Also compare all adjacent revisions again.
    - repair: First remove the last commit or checkpoint of a table's log if it is unreadable, for
      example after a power failure.
    """
    from server.terminal.printing.maintenance import verified_facts, verified_lines
    from snapshots.catalog.verification import verify

    with console.progress() as bars:
        verified = verify(
            catalog, deep=deep, repair=repair, jobs=jobs, cluster=cluster or None, progress=bars
        )
    console.print_result(lambda: verified_facts(verified), verified_lines(verified))
    if not verified.is_sound:
        raise click.exceptions.Exit(1)


# -- backup and restore


_PLACE = "a folder, or a URL of object storage"


@parameters.catalog_command("backup")
@click.argument(
    "target",
    metavar="TARGET",
    help=f"The target: {_PLACE}, that is empty or has an earlier copy of this catalog.",
)
def backup_command(target: str, *, catalog: str) -> None:
    """Copy the catalog in its current state.

    If the target is an earlier copy, only new files are copied. Imports and servers may run at the
    same time. 'cachelog verify --catalog TARGET' checks the copy.
    """
    from snapshots.catalog.copies import backup

    with console.progress() as bars:
        copied = backup(catalog, target, progress=bars)
    _print_copied(copied, target)


@parameters.catalog_command("restore")
@click.argument("copy", metavar="COPY", help=f"A copy made by 'cachelog backup': {_PLACE}.")
def restore_command(copy: str, *, catalog: str) -> None:
    """Copy a backup to a new catalog.

    --catalog names the new catalog. After an interruption, run the command again.
    """
    from snapshots.catalog.copies import restore

    with console.progress() as bars:
        copied = restore(copy, catalog, progress=bars)
    _print_copied(copied, catalog)


def _print_copied(copied: "Copied", place: str) -> None:
    from server.terminal.printing.maintenance import copied_facts, copied_lines

    console.print_result(lambda: copied_facts(copied, place), copied_lines(copied, place))
