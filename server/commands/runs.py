"""``cachelog upkeep`` and ``status``, and the record of runs that they and imports write."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import click

from server.terminal import console, parameters
from server.terminal.parameters import Jobs, KeepIfGiven, Recipes, option
from snapshots.errors import CachelogError, CatalogError, RefusedByRules
from snapshots.texts import counted, size

if TYPE_CHECKING:
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.retention import RetentionRule
    from snapshots.catalog.runs import Run
    from snapshots.sources.reports import Progress


@contextmanager
def recorded(catalog: "Catalog", kind: str, subject: str = "") -> "Iterator[Run]":
    """Yield a run, and record it when the context ends, with the error if it raises one.

    A run on what is not a catalog yet, or that cannot be recorded, leaves no record.
    """
    from snapshots.catalog.runs import Run, RunKind, RunResult

    run = Run(kind=RunKind(kind), subject=subject, started_at=datetime.now(UTC))
    began = monotonic()
    try:
        yield run
    except BaseException as error:
        run.result = RunResult.REFUSED if isinstance(error, RefusedByRules) else RunResult.FAILED
        run.message = str(error) if isinstance(error, CachelogError) else type(error).__name__
        raise
    finally:
        run.seconds = round(monotonic() - began, 3)
        with suppress(CatalogError, OSError):
            catalog.refresh()
            catalog.runs.add(run)


# -- upkeep

_GRACE = timedelta(days=1)
"""The time after which files that are out of use are deleted."""


@parameters.catalog_command("upkeep", has_json=False)
def upkeep_command(
    *,
    keep: KeepIfGiven,
    recipes: Recipes,
    backup: Annotated[str | None, option("--backup", metavar="TARGET")],
    jobs: Jobs,
    catalog: str,
) -> None:
    """Do what a catalog needs every night.

    Verify a share of the contents so that all are read within 30 days, with --keep remove the
    revisions that the policy does not keep, delete files that are no longer needed, store what
    changed between neighbours where that is missing or damaged, with --recipes determine the recipe
    commits of the revisions that have none, and copy the catalog to the target of --backup. Imports
    and servers may run at the same time. What fails does not keep the rest from being done.

    The exit code is 1 if anything failed or is damaged; 'cachelog status' says what.

    - backup: A folder or a URL of object storage, as for 'cachelog backup'.
    - jobs: Compare and verify with up to N processes, by default 1.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.text import removed

    opened = open_catalog(catalog).catalog
    lines, problems = [], []
    with console.progress() as bars, recorded(opened, "upkeep") as run:
        steps = {
            "verify": partial(_verify, opened, jobs, bars),  # the others read the history
            **({"prune": partial(_prune, opened, keep, bars)} if keep else {}),
            "vacuum": partial(_vacuum, opened, bars),
            "history": partial(_fill, opened, jobs, bars),
            **({"recipes": partial(_find_recipes, opened, recipes)} if recipes else {}),
            **({"backup": partial(_back_up, opened, backup, bars)} if backup else {}),
            "runs": partial(_forget, opened),
        }
        for name, step in steps.items():
            try:
                lines.append(f"{name}: {step()}")
            except (CachelogError, OSError) as error:
                problems.append(f"{name}: {error}")
                lines.append(f"{name}: {removed('problem')}: {error}")
        if problems:
            fail(run, "; ".join(problems))
    console.print_paged(lines)
    if problems:
        raise click.exceptions.Exit(1)


def fail(run: "Run", message: str) -> None:
    """Let a run be recorded as failed, although it ends without an error."""
    from snapshots.catalog.runs import RunResult

    run.result, run.message = RunResult.FAILED, message


# Each step of upkeep returns what it did, in words.


def _verify(catalog: "Catalog", jobs: int | None, bars: "Progress") -> str:
    """Verify the contents of the days since the last success; drop a damaged history."""
    from snapshots.catalog.history_tables import HOW_TO_MEND
    from snapshots.catalog.verification import SHARES, verify

    now = datetime.now(UTC)
    runs = catalog.runs.all()
    before = next((it for it in runs if it.kind == "upkeep" and it.result.is_success), None)
    days = 1 if before is None else max(1, (now - before.started_at).days)
    shares = {(now.toordinal() - day) % SHARES for day in range(min(days, SHARES))}
    verified = verify(catalog.location, shares=shares, jobs=jobs, progress=bars)
    damage = [finding for finding in verified.findings if finding.is_damage]
    lost = [finding for finding in damage if finding.advice != HOW_TO_MEND]
    is_history_damaged = catalog.changes.is_damaged or len(lost) < len(damage)
    if is_history_damaged:
        catalog.changes.drop()
    catalog.refresh()
    if lost:
        raise CachelogError("; ".join(map(str, lost)))
    read = f"{counted(verified.num_contents, 'content')} read"
    return f"{read}; the history is damaged, and made again" if is_history_damaged else read


def _prune(catalog: "Catalog", policy: "tuple[RetentionRule, ...]", bars: "Progress") -> str:
    from snapshots.catalog.removal import plan, remove
    from snapshots.catalog.retention import choose

    choices = choose(catalog.history, policy)
    superfluous = [choice.revision for choice in choices if not choice.kept_by]
    remove(catalog, plan(catalog, superfluous), bars)
    num_kept = len(choices) - len(superfluous)
    return f"{counted(len(superfluous), 'revision')} removed, {num_kept:,} kept"


def _vacuum(catalog: "Catalog", bars: "Progress") -> str:
    from snapshots.catalog.vacuum import vacuum

    deleted = vacuum(catalog, older_than=_GRACE, progress=bars)
    files = counted(sum(map(len, deleted.files.values())), "file")
    return f"{files} deleted, {size(sum(deleted.num_bytes.values()))}"


def _fill(catalog: "Catalog", jobs: int | None, bars: "Progress") -> str:
    from snapshots.catalog.history_queries import missing_pairs

    catalog.refresh()
    pairs = missing_pairs(catalog, catalog.history, causes=True)
    report = partial(bars, "comparing neighbours")
    filled = catalog.fill(pairs, jobs=jobs, progress=report)
    if filled.failures:
        raise CachelogError(f"not compared: {'; '.join(dict.fromkeys(filled.failures.values()))}")
    return f"{counted(filled.num_made, 'pair')} of neighbours compared"


def _find_recipes(catalog: "Catalog", location: str) -> str:
    from server.commands.histories import import_recipes
    from server.terminal.printing.maintenance import imported_text

    return imported_text(import_recipes(catalog, catalog.history.revisions, location))


def _back_up(catalog: "Catalog", target: str, bars: "Progress") -> str:
    from snapshots.catalog.copies import backup

    copied = backup(catalog.location, target, progress=bars)
    return f"{counted(copied.num_files, 'file')} copied, {size(copied.num_bytes)}"


def _forget(catalog: "Catalog") -> str:
    from snapshots.catalog.runs import KEPT

    num_forgotten = catalog.runs.forget(datetime.now(UTC) - KEPT)
    return f"{counted(num_forgotten, 'record')} of old runs forgotten"


# -- status


@parameters.catalog_command("status")
def status_command(*, catalog: str) -> None:
    """Print whether a catalog is well.

    Its revisions, the newest of each series, what ran and what became of it, its size, and what
    needs a person. The exit code is 1 if something does.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.maintenance import status_lines
    from snapshots.catalog.status import status_of

    status = status_of(open_catalog(catalog).catalog, datetime.now(UTC))
    console.print_result(status, status_lines(status))
    if status.problems:
        raise click.exceptions.Exit(1)
