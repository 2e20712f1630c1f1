"""``cachelog upkeep`` and ``status``, and the record of runs that they and imports write."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import click

from server.terminal import console, parameters
from server.terminal.parameters import Jobs, Keep, option
from snapshots.errors import CachelogError, CatalogError, RefusedByRules
from snapshots.texts import counted

if TYPE_CHECKING:
    from snapshots.catalog.catalog import Catalog
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


@parameters.catalog_command("upkeep")
def upkeep_command(
    *,
    keep: Keep,
    backup: Annotated[str | None, option("--backup", metavar="TARGET")],
    within: Annotated[timedelta, option(type=parameters.DURATION, default="2h", metavar="TIME")],
    jobs: Jobs,
    catalog: str,
) -> None:
    """Do what a catalog needs every night.

    Verify a share of the contents so that all are read within 30 days, remove the revisions that
    the policy does not keep (of each series, with the newest of their tags), delete files that are
    no longer needed, store what changed between neighbours where that is missing or damaged, and
    copy the catalog to the target of --backup. Imports and servers may run at the same time. What
    fails does not keep the rest from being done.

    The exit code is 1 if anything failed or is damaged; 'cachelog status' says what.

    - backup: A folder or a URL of object storage, as for 'cachelog backup'.
    - within: Begin no further step after this time.
    - jobs: Compare and verify with up to N processes, by default 1.
    """
    from server.terminal.printing.maintenance import upkeep_lines

    opened = parameters.open_catalog(catalog).catalog
    with console.progress() as bars, recorded(opened, "upkeep") as run:
        done = _Upkeep(opened, datetime.now(UTC), jobs, bars)
        ends = monotonic() + within.total_seconds()
        steps: dict[str, Callable[[], Any]] = {
            "verify": done.verify,  # the others read the history
            "prune": partial(done.prune, keep),
            "vacuum": done.vacuum,
            "history": done.fill,
            **({} if backup is None else {"backup": partial(done.back_up, backup)}),
            "runs": done.forget,
        }
        for name, step in steps.items():
            if monotonic() > ends:
                done.problems[name] = f"was not begun within {_hours(within)}"
                continue
            try:
                done.results[name] = step()
            except (CachelogError, OSError) as error:
                done.problems[name] = str(error)
        if done.problems:
            fail(run, "; ".join(f"{name}: {text}" for name, text in done.problems.items()))
    console.print_result(
        lambda: {"steps": done.results, "problems": done.problems},
        upkeep_lines(done.results, done.problems),
    )
    if done.problems:
        raise click.exceptions.Exit(1)


def fail(run: "Run", message: str) -> None:
    """Let a run be recorded as failed, although it ends without an error."""
    from snapshots.catalog.runs import RunResult

    run.result, run.message = RunResult.FAILED, message


def _hours(duration: timedelta) -> str:
    return counted(round(duration.total_seconds() / 3600), "hour")


class _Upkeep:
    """The steps of upkeep: what each returns is its result as plain values."""

    def __init__(
        self, catalog: "Catalog", now: datetime, jobs: int | None, bars: "Progress"
    ) -> None:
        self._catalog, self._now, self._jobs, self._bars = catalog, now, jobs, bars
        self._is_history_damaged = catalog.changes.is_damaged
        self.results: dict[str, Any] = {}
        self.problems: dict[str, str] = {}

    def _drop_damaged(self) -> None:
        if self._is_history_damaged:
            self._catalog.changes.drop()
        self._catalog.refresh()

    def vacuum(self) -> dict[str, Any]:
        from snapshots.catalog.vacuum import vacuum

        deleted = vacuum(self._catalog, older_than=_GRACE, progress=self._bars)
        return {
            "numFiles": sum(map(len, deleted.files.values())),
            "numBytes": sum(deleted.num_bytes.values()),
        }

    def prune(self, policy: Any) -> dict[str, Any]:
        from snapshots.catalog.removal import plan, remove
        from snapshots.catalog.retention import choose

        self._drop_damaged()  # it reads the logs of the history
        choices = choose(self._catalog.history, policy, whole_tags=True)
        superfluous = (choice.revision for choice in choices if not choice.kept_by)
        remove(self._catalog, plan(self._catalog, superfluous), self._bars)
        kept = sum(bool(choice.kept_by) for choice in choices)
        return {"numRemoved": len(choices) - kept, "numKept": kept}

    def fill(self) -> dict[str, Any]:
        from snapshots.catalog.history_queries import fill, missing_pairs

        self._drop_damaged()
        pairs = missing_pairs(self._catalog, self._catalog.history, causes=True)
        report = partial(self._bars, "comparing neighbours")
        filled = fill(self._catalog, pairs, jobs=self._jobs, progress=report)
        for reason in dict.fromkeys(filled.failures.values()):
            self.problems["history"] = f"not compared: {reason}"
        return {"numCompared": filled.num_made, "wasDamaged": self._is_history_damaged}

    def verify(self) -> dict[str, Any]:
        from snapshots.catalog.history_tables import HOW_TO_MEND
        from snapshots.catalog.verification import SHARES, verify

        before = next(
            (it for it in self._catalog.runs.all() if it.kind == "upkeep" and it.result.is_success),
            None,
        )
        days = 1 if before is None else max(1, (self._now - before.started_at).days)
        today = self._now.toordinal()
        shares = {(today - day) % SHARES for day in range(min(days, SHARES))}
        verified = verify(
            self._catalog.location, shares=shares, jobs=self._jobs, progress=self._bars
        )
        found = [finding for finding in verified.findings if finding.is_damage]
        damage = [str(finding) for finding in found if finding.advice != HOW_TO_MEND]
        self._is_history_damaged |= len(damage) < len(found)
        if damage:
            self.problems["verify"] = "; ".join(damage)
        return {"numContents": verified.num_contents, "damage": damage}

    def back_up(self, target: str) -> dict[str, Any]:
        from snapshots.catalog.copies import backup

        copied = backup(self._catalog.location, target, progress=self._bars)
        return {"numFiles": copied.num_files, "numBytes": copied.num_bytes}

    def forget(self) -> dict[str, Any]:
        from snapshots.catalog.runs import KEPT

        return {"numForgotten": self._catalog.runs.forget(self._now - KEPT)}


# -- status


@parameters.catalog_command("status")
def status_command(*, catalog: str) -> None:
    """Print whether a catalog is well.

    Its revisions, the newest of each series, what ran and what became of it, its size, and what
    needs a person. The exit code is 1 if something does.
    """
    from server.terminal.printing.maintenance import status_lines
    from snapshots.catalog.status import status_of

    status = status_of(parameters.open_catalog(catalog).catalog, datetime.now(UTC))
    console.print_result(lambda: status, status_lines(status))
    if status.problems:
        raise click.exceptions.Exit(1)
