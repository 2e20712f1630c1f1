"""Results of commands that fill and maintain a catalog, as lines of text and as plain values."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import plain
from server.terminal.printing.revisions import revision_lines
from server.terminal.printing.text import (
    REVISION,
    TableColumn,
    name,
    number,
    quiet,
    removed,
    table,
    wrapped,
)
from snapshots.catalog.copies import Copied
from snapshots.catalog.history_queries import FillResult
from snapshots.catalog.keep_lists import UnlistedHashes, keep_list, rest_of
from snapshots.catalog.publication import Publication
from snapshots.catalog.recipes_import import ImportedRecipes
from snapshots.catalog.removal import Removal
from snapshots.catalog.retention import NEWEST_OF_TAG, RetentionChoice, RetentionRule, choose
from snapshots.catalog.runs import Run
from snapshots.catalog.status import Status
from snapshots.catalog.vacuum import Vacuumed
from snapshots.catalog.verification import Verified
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import RecipesOrigin
from snapshots.refs import series
from snapshots.sources import lock_files
from snapshots.sources.buildcache.reader import CacheDifference
from snapshots.sources.reports import Report
from snapshots.texts import counted, minute, size

_MAX_CELLS = 10

# -- imports


def imported_text(imported: ImportedRecipes) -> str:
    """Return the number of revisions whose recipes were found, in words."""
    revisions = counted(len(imported.recipes), "revision")
    by_date = sum(recipes.found_by is RecipesOrigin.DATE for recipes in imported.recipes.values())
    dated = f", {by_date:,} of them by date" if by_date else ""
    return f"recipes of {revisions} found{dated}; {counted(imported.num_commits, 'commit')} read"


def publication_facts(publications: Sequence[Publication], report: Report) -> dict[str, Any]:
    """Return the results of an import in their JSON form."""
    names = ("location", "line", "key", "reason")
    return {
        "revisions": [
            {"revision": it.revision, "isNew": it.is_new, "isRepaired": it.is_repaired}
            for it in publications
        ],
        "skipped": [{name: getattr(it, name) for name in names} for it in report.skipped],
        "warnings": report.warnings,
    }


# -- removing, deleting, copying


def removed_lines(removal: Removal, history: History, *, dry_run: bool) -> Iterator[str]:
    """Yield the removed revisions, and a summary."""
    yield from revision_lines(removal.revisions, history)
    yield from wrapped(_summary(removal, dry_run=dry_run))


def pruned_lines(
    removal: Removal, choices: Sequence[RetentionChoice], history: History, *, dry_run: bool
) -> Iterator[str]:
    """Yield how many revisions of each series are kept; for a dry run, first every revision."""
    if dry_run:
        reasons = TableColumn("kept by", 1, lambda it: ", ".join(it.kept_by) or "none: removed")
        yield from table(choices, [REVISION, reasons])
    total, kept = Counter[str](), Counter[str]()
    for choice in choices:
        total[series(choice.revision.tag)] += 1
        kept[series(choice.revision.tag)] += bool(choice.kept_by)
    for one in history.series_names:
        yield f"{one}: {kept[one]:,} of {counted(total[one], 'revision')} kept"
    yield from wrapped(_summary(removal, dry_run=dry_run))


def kept_by_tag_alone(choices: Sequence[RetentionChoice]) -> str:
    """Return a warning about the revisions that no rule of the policy keeps; empty without any."""
    num_kept = sum(choice.kept_by == (NEWEST_OF_TAG,) for choice in choices)
    what = f"warning: {counted(num_kept, 'revision')} kept only as the newest of a tag, not by the "
    return f"{what}policy; --whole-tags removes these" if num_kept else ""


def _summary(removal: Removal, *, dry_run: bool) -> str:
    if not removal.revisions:
        return "nothing to remove"
    done = f"{counted(len(removal.revisions), 'revision')} {'would be ' * dry_run}removed"
    if not removal.contents:
        return f"{done}; others have the same contents"
    contents = f"{counted(len(removal.contents), 'content')} after some time"
    return f"{done}; 'cachelog vacuum' deletes {contents}, {size(removal.num_bytes)}"


def removal_facts(removal: Removal, *, dry_run: bool) -> dict[str, Any]:
    """Return the removed revisions in their JSON form."""
    facts = plain(removal)
    del facts["rows"]
    return {"dryRun": dry_run, **facts}


def vacuumed_lines(done: Vacuumed, grace: timedelta, *, dry_run: bool) -> list[str]:
    """Return one line per kind of change."""
    would = "would be " * dry_run
    lines = [
        f"{name}: {counted(len(files), 'file')} {would}deleted, {size(done.num_bytes[name])}"
        for name, files in done.files.items()
        if files
    ]
    if done.struck_off:
        hours = grace // timedelta(hours=1)
        after = counted(hours, "hour") if hours % 24 else counted(hours // 24, "day")
        unlisted = f"{counted(len(done.struck_off), 'unused content')} {would}unlisted"
        lines.append(f"{unlisted}; a vacuum after {after} deletes the files")
    if done.relisted:
        lines.append(f"{counted(len(done.relisted), 'content')} {would}listed again")
    if done.num_pairs or done.num_rows:
        pairs = f"{counted(done.num_pairs, 'pair')} of former neighbours"
        lines.append(f"{pairs} and {counted(done.num_rows, 'row')} of such {would}forgotten")
    return lines or ["nothing to delete"]


def copied_lines(copied: Copied, place: str) -> Iterator[str]:
    """Yield the number of copied files, and the number of revisions in the copy."""
    yield f"{counted(copied.num_files, 'file')} copied, {size(copied.num_bytes)}"
    if copied.num_removed:
        yield f"{counted(copied.num_removed, 'file')} removed, out of use"
    yield f"{place} holds {counted(copied.num_revisions, 'row')} of revisions"


# -- upkeep and status


def upkeep_lines(results: Mapping[str, Any], problems: Mapping[str, str]) -> Iterator[str]:
    """Yield one line per step of upkeep."""
    sentences: Mapping[str, Callable[[Any], str]] = {
        "prune": lambda it: (
            f"{counted(it['numRemoved'], 'revision')} removed, {it['numKept']:,} kept"
        ),
        "vacuum": lambda it: f"{counted(it['numFiles'], 'file')} deleted, {size(it['numBytes'])}",
        "verify": lambda it: f"{counted(it['numContents'], 'content')} read",
        "history": lambda it: (
            f"{counted(it['numCompared'], 'pair')} of neighbours compared"
            + (", all again because the tables were damaged" if it["wasDamaged"] else "")
        ),
        "backup": lambda it: f"{counted(it['numFiles'], 'file')} copied, {size(it['numBytes'])}",
        "runs": lambda it: f"{counted(it['numForgotten'], 'record')} of old runs forgotten",
    }
    for step, sentence in sentences.items():
        if step in results:
            yield f"{step}: {sentence(results[step])}"
        if step in problems:
            yield from wrapped(f"{step}: {removed('problem')}: {problems[step]}")


def status_lines(status: Status) -> Iterator[str]:
    """Yield the numbers of a catalog, its series, its runs, and what needs a person."""
    revisions = f"{counted(status.num_revisions, 'revision')} of {len(status.series)} series"
    yield f"{status.location}: {revisions}, {size(status.num_bytes)}"
    if status.num_free_bytes is not None:
        yield f"{size(status.num_free_bytes)} are free on its disk"
    if status.num_missing_pairs:
        yield f"{counted(status.num_missing_pairs, 'pair')} of neighbours for upkeep to compare"
    series_columns = [
        TableColumn("series", 0, lambda it: it.name),
        number("revisions", 2, lambda it: it.num_revisions),
        TableColumn("newest", 0, lambda it: it.newest, name),
        TableColumn("last import", 1, lambda it: _run_words(it.last_import)),
    ]
    run_columns = [
        TableColumn("run", 0, lambda it: it.kind.value),
        TableColumn("last", 0, _run_words),
        number("seconds", 2, lambda it: round(it.seconds)),
        TableColumn("of", 1, lambda it: it.subject),
    ]
    yield from ("", *table(status.series, series_columns))
    if status.runs:
        yield from ("", *table(status.runs, run_columns))
    yield ""
    for problem in status.problems:
        yield from wrapped(f"{removed('problem')}: {problem}")
    if not status.problems:
        yield "nothing needs a person"


def _run_words(run: Run | None) -> str:
    return "" if run is None else f"{run.result} {minute(run.ended_at)}"


# -- keep lists


class CheckedLock(msgspec.Struct, frozen=True):
    """A lock file, the number of its specs, and how many of them are not kept.

    ``num_lost`` are in revisions that are not kept, ``num_absent`` in no revision.
    """

    file: str
    num_specs: int
    num_lost: int
    num_absent: int


class KeepListReport(msgspec.Struct, frozen=True):
    """The hashes to keep of revisions and lock files, sorted, and, if requested, the other specs.

    ``num_unknown`` is that of ``KeepList``. ``rest`` has the specs that are not kept.
    """

    revisions: Sequence[RevisionInfo]
    locks: Sequence[str]
    hashes: Sequence[str]
    num_unknown: int
    rest: UnlistedHashes | None
    checked: Sequence[CheckedLock]

    @property
    def summary(self) -> str:
        """The number of hashes, and of the revisions and lock files that they come from."""
        kept = f"{counted(len(self.hashes), 'hash')} of {counted(len(self.revisions), 'revision')}"
        return f"{kept} and {counted(len(self.locks), 'lock file')}" if self.locks else kept

    def lines(self) -> Iterator[str]:
        """Yield the summary, and the remaining specs."""
        yield f"kept: {self.summary}"
        if (rest := self.rest) is None:
            return
        others = f"rest: {counted(len(rest.hashes), 'spec')} of other revisions"
        if rest.size is not None:
            others += f", {size(rest.size)}"
        if rest.num_unknown and rest.hashes:
            others += f", {counted(rest.num_unknown, 'spec')} of unknown size"
        yield from wrapped(others)
        yield f"no spec is left in {counted(len(rest.cells), 'cell')} of package, stack and target"
        for package, stack, target in rest.cells[:_MAX_CELLS]:
            yield from wrapped(f"  {removed('-')} {package} {stack or '(no stack)'} {target}")
        if (more := len(rest.cells) - _MAX_CELLS) > 0:
            yield quiet(f"  and {counted(more, 'cell')} more")
        for lock in self.checked:
            num_left = lock.num_lost + lock.num_absent
            lost = f"{num_left:,} of {counted(lock.num_specs, 'spec')} are not kept"
            if lock.num_absent:
                lost += f", {lock.num_absent:,} of them in no revision"
            yield from wrapped(f"{lock.file}: {lost}")


def keep_list_report(
    opened: OpenedCatalog,
    keep: Sequence[RetentionRule],
    locks: Sequence[str],
    *,
    whole_tags: bool,
    whole: bool,
    checked: Sequence[str] | None,
) -> KeepListReport:
    """Return the hashes that a policy and lock files keep.

    With ``checked``, other lock files, the result also contains the specs that are not kept. Raises
    SourceError for a lock file that cannot be read, before any content is read.
    """
    locked = [spec.hash for file in locks for spec in lock_files.read(file).specs]
    files = {file: lock_files.read(file).specs for file in checked or ()}
    choices = choose(opened.history, keep, whole_tags=whole_tags)
    revisions = [choice.revision for choice in choices if choice.kept_by]
    digests = dict.fromkeys(revision.digest for revision in revisions)
    listed = keep_list(opened.library, digests, locked, whole=whole)
    rest, of_locks = None, []
    if checked is not None:
        all_digests = dict.fromkeys(choice.revision.digest for choice in choices)
        rest = rest_of(opened.library, all_digests, listed.hashes)
        for file, specs in files.items():
            unlisted = {spec.hash for spec in specs}.difference(listed.hashes)
            num_lost = len(unlisted & rest.hashes)
            of_locks.append(CheckedLock(file, len(specs), num_lost, len(unlisted) - num_lost))
    hashes = sorted(listed.hashes)
    return KeepListReport(revisions, locks, hashes, listed.num_unknown, rest, of_locks)


# -- history and verification


def filled_lines(filled: FillResult, imported: ImportedRecipes | None = None) -> Iterator[str]:
    """Yield the number of pairs that were compared and that failed, and the recipes found."""
    if filled.num_made:
        yield f"compared {counted(filled.num_made, 'pair')} of neighbours"
    elif not filled.failures:
        yield "nothing is missing: the changes of all neighbours are kept"
    if filled.failures:
        yield f"{counted(len(filled.failures), 'pair')} could not be compared"
    if imported is not None:
        yield imported_text(imported)


def verified_lines(verified: Verified) -> Iterator[str]:
    """Yield one line per finding, damage first, and the amount of data that was read."""
    for finding in verified.findings:
        yield f"{removed('damaged') if finding.is_damage else quiet('note')}: {finding}"
    contents = f"{counted(verified.num_contents, 'content')} of "
    revisions = f"{counted(verified.num_revisions, 'revision')} read"
    damaged = sum(finding.is_damage for finding in verified.findings)
    found = counted(damaged, "damage") if damaged else "no damage"
    yield f"{contents}{revisions}, {counted(verified.num_specs, 'spec')}: {found} found"


def difference_lines(difference: CacheDifference) -> Iterator[str]:
    """Yield what is wrong with the index of a build cache, and the number of its specs."""
    for reason in difference.reasons():
        advice = "'spack buildcache update-index' writes it again"
        yield f"{removed('damaged')}: {difference.location}: {reason}; {advice}"
    listed = f"{counted(difference.num_specs, 'spec')} listed"
    yield f"{listed}, as the cache has them" if difference.is_sound else listed
