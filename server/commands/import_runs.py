"""Runs of ``cachelog import``: read, publish, notify receivers, and print a summary.

The command imports this module when it runs.
"""

import gc
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Any

import msgspec

from server.commands.runs import recorded
from server.settings import settings_from
from server.terminal import console
from server.terminal.printing.maintenance import imported_text
from server.terminal.printing.revisions import publication_lines
from server.terminal.printing.verdicts import gatekeeper
from server.webhooks import Notifier
from snapshots.catalog import catalog, parallel_import, recipes_import
from snapshots.catalog.publication import Publication
from snapshots.catalog.runs import Run, RunResult
from snapshots.contents import PackedSnapshot, Snapshot
from snapshots.errors import CachelogError, InvalidArgument
from snapshots.models import public_location
from snapshots.refs import series
from snapshots.sources.git import page_history
from snapshots.sources.reports import Report
from snapshots.spack.names import checked_line
from snapshots.texts import quoted
from snapshots.workers import check_cluster

_REVISIONS_AT_ONCE = 64
"""Number of revisions of a history published at once; an interrupted import loses no more."""

_PAGES_FOLDER = "_cache"


class ImportRun:
    """An import into a catalog; ``failures`` describes notifications that were not delivered."""

    def __init__(self, location: str, options: Mapping[str, Any]) -> None:
        if options["cluster"]:
            check_cluster(options["cluster"])
        self._options = options
        self._catalog = catalog.Catalog(location)
        self._settings = settings_from(os.environ)
        self._approve = None
        if options["gate"] is not None:
            self._approve = gatekeeper(options["gate"], self._catalog.package_names)
        _check_source_name(options["source_name"])
        self._report = Report(skip_bad=options["skip_bad"])
        self._publications: list[Publication] = []
        self.failures: list[str] = []

    def publish(self) -> None:
        """Publish the snapshots that the options select, and print a summary."""
        # Objects that exist by now are permanent: exclude them from garbage collections.
        gc.freeze()
        notifier = Notifier(self._catalog, self._options["receivers"], self._settings)
        locations = self._options["locations"] or (self._options["git"] or "",)
        subject = self._options["source_name"] or " ".join(map(public_location, locations))
        with console.progress() as bars, recorded(self._catalog, "import", subject) as run:
            self._report.progress = bars
            try:
                if self._options["git"]:
                    self._publish_history(self._options["git"], notifier)
                else:
                    self._publish_locations()
                    self._import_recipes(self._publications)
                    notifier.notify(self._publications)
            except CachelogError:
                if self._publications:
                    self._print(notifier)
                else:
                    self._print_remarks()
                raise
            finally:
                self._describe(run)
        self._print(notifier)
        self.failures = notifier.failures

    def _describe(self, run: Run) -> None:
        """Say in the record of the run what was read and published."""
        new = [it.revision.ref for it in self._publications if it.is_new]
        run.series = sorted({series(it.revision.tag) for it in self._publications})
        run.revisions, run.result = new, RunResult.PUBLISHED if new else RunResult.UNCHANGED

    def _publish_locations(self) -> None:
        options = self._options
        settings = msgspec.structs.replace(
            self._settings.reading(),
            proof=not options["no_proof"],
            allow_empty=options["allow_empty"],
        )
        self._publications += parallel_import.publish_locations(
            options["locations"],
            lambda read: self._publish(_undated(read, options["taken_at"])),
            catalog=self._catalog,
            tags=options["tags"],
            sizes=options["sizes"],
            settings=settings,
            report=self._report,
            jobs=options["jobs"],
            cluster=options["cluster"] or None,
        )

    def _import_recipes(self, publications: Sequence[Publication]) -> None:
        """Store the recipe commits of revisions; errors become warnings."""
        options = self._options
        if not options["recipes"]:
            return
        try:
            imported = recipes_import.import_recipes(
                self._catalog,
                list({publication.revision: None for publication in publications}),
                options["recipes"],
                settings=self._settings.reading(),
                commit=options["recipes_commit"],
            )
        except CachelogError as error:
            self._report.warn(f"the commits of the recipes are not stored: {error}")
            return
        for warning in imported.warnings:
            self._report.warn(warning)
        if imported.recipes and not console.prints_json():
            console.note(imported_text(imported))

    def _publish_history(self, repository: str, notifier: Notifier) -> None:
        """Publish the states in a repository's history that the catalog does not have yet."""
        options = self._options
        self._catalog.refresh(missing_ok=True)
        history = page_history.read(
            repository,
            path=options["path"] or _PAGES_FOLDER,
            since=options["since"],
            tags=options["tags"],
            history=self._catalog.history,
            settings=self._settings.reading(),
            report=self._report,
        )
        snapshots = iter(history)
        for first in snapshots:
            # Snapshots are read one at a time: a large one takes 100 MB as objects.
            batch = chain([first], islice(snapshots, _REVISIONS_AT_ONCE - 1))
            published = self._publish(batch)
            self._publications += published
            self._import_recipes(published)
            notifier.notify(published)

    def _publish(self, snapshots: Iterable[Snapshot | PackedSnapshot]) -> list[Publication]:
        options = self._options
        if options["source_name"] is not None:
            snapshots = map(partial(_named, options["source_name"]), snapshots)
        published = self._catalog.publish(
            snapshots,
            taken_at=options["taken_at"],
            approve=self._approve,
            jobs=options["jobs"],
            cluster=options["cluster"] or None,
        )
        later = "what changed could not be stored now; it will be compared later"
        for reason in dict.fromkeys(it.not_stored for it in published if it.not_stored):
            self._report.warn(f"{later}: {reason}")
        return published

    def _print(self, notifier: Notifier) -> None:
        self._print_remarks()
        for failure in notifier.failures:
            console.note(f"warning: {failure}")
        done = {
            "revisions": self._publications,
            "skipped": map(str, self._report.skipped),
            "warnings": self._report.warnings,
            "failures": notifier.failures,
        }
        console.print_result(done, publication_lines(self._publications))

    def _print_remarks(self) -> None:
        for warning in self._report.warnings:
            console.note(f"warning: {warning}")
        for error in self._report.skipped:
            console.note(f"skipped: {error}")


def _check_source_name(name: str | None) -> None:
    """Raise InvalidArgument for a name that would not be shown unchanged."""
    if name is None:
        return
    try:
        checked_line(name)
    except ValueError as error:
        raise InvalidArgument("--source-name", str(error)) from None
    if (shown := public_location(name)) != name:
        reason = f"{quoted(name)} would be shown as {quoted(shown)}, as a local path is"
        raise InvalidArgument("--source-name", f"{reason}: write it without /, or as a URL")


def _named(name: str, snapshot: Snapshot | PackedSnapshot) -> Snapshot | PackedSnapshot:
    """Return a snapshot with this name as the location of its source."""
    source = msgspec.structs.replace(snapshot.source, location=name)
    return msgspec.structs.replace(snapshot, source=source)


def _undated(
    snapshots: Iterable[PackedSnapshot], taken_at: datetime | None
) -> Iterator[PackedSnapshot]:
    """Yield snapshots, without their own dates if ``taken_at`` applies to all of them.

    Raises InvalidArgument for several states of one tag, which cannot all have the same date.
    """
    has_date: dict[str, bool] = {}
    for snapshot in snapshots:
        if taken_at is None:
            yield snapshot
            continue
        is_dated = snapshot.taken_at is not None
        if snapshot.tag in has_date and (is_dated or has_date[snapshot.tag]):
            reason = f"is one moment, and the folders of {snapshot.tag} are of several"
            raise InvalidArgument("--taken-at", f"{reason}: omit it, or split the import")
        has_date[snapshot.tag] = is_dated
        yield msgspec.structs.replace(snapshot, taken_at=None)
