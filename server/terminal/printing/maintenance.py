"""Results of commands that maintain a catalog, as lines of text and as plain values for JSON."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import plain
from server.terminal.printing import styles
from server.terminal.printing.commits import imported_text
from server.terminal.printing.layout import REVISION, TableColumn, number, table, wrapped
from server.terminal.printing.listings import revision_lines
from snapshots.catalog.copies import Copied
from snapshots.catalog.history_queries import FillResult
from snapshots.catalog.keep_lists import UnlistedHashes, keep_list, rest_of
from snapshots.catalog.recipes_import import ImportedRecipes
from snapshots.catalog.removal import Removal
from snapshots.catalog.retention import NEWEST_OF_TAG, RetentionChoice, RetentionRule, choose
from snapshots.catalog.runs import Run
from snapshots.catalog.status import Status
from snapshots.catalog.vacuum import Vacuumed
from snapshots.catalog.verification import Verified
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.refs import series
from snapshots.sources import lock_files
from snapshots.texts import counted, minute, size

_MAX_CELLS = 10

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
        columns = [REVISION, _KEPT_BY]
        yield from table(choices, columns)
    stay = Counter(series(choice.revision.tag) for choice in choices if choice.kept_by)
    go = Counter(series(choice.revision.tag) for choice in choices if not choice.kept_by)
    for name in history.series_names:
        yield f"{name}: {stay[name]:,} of {counted(stay[name] + go[name], 'revision')} kept"
    yield from wrapped(_summary(removal, dry_run=dry_run))


def kept_by_tag_alone(choices: Sequence[RetentionChoice]) -> str:
    """Return a warning about the revisions that no rule of the policy keeps; empty without any."""
    num_kept = sum(choice.kept_by == (NEWEST_OF_TAG,) for choice in choices)
    if not num_kept:
        return ""
    return (
        f"warning: {counted(num_kept, 'revision')} kept only as the newest of a tag, not by the "
        "policy; --whole-tags removes these"
    )


_KEPT_BY = TableColumn("kept by", 1, lambda choice: ", ".join(choice.kept_by) or "none: removed")


def _summary(removal: Removal, *, dry_run: bool) -> str:
    if not removal.revisions:
        return "nothing to remove"
    done = "would be removed" if dry_run else "removed"
    text = f"{counted(len(removal.revisions), 'revision')} {done}"
    if not removal.contents:
        return f"{text}; others have the same contents"
    contents = counted(len(removal.contents), "content")
    return (
        f"{text}; 'cachelog vacuum' deletes {contents} after some time, {size(removal.num_bytes)}"
    )


def removal_facts(removal: Removal, *, dry_run: bool) -> dict[str, Any]:
    """Return the removed revisions in their JSON form."""
    facts = plain(removal)
    del facts["rows"]
    return {"dryRun": dry_run, **facts}


def pruned_facts(
    removal: Removal, choices: Sequence[RetentionChoice], *, dry_run: bool
) -> dict[str, Any]:
    """Return the JSON form of the removed revisions, and of those that stay with the reasons."""
    return removal_facts(removal, dry_run=dry_run) | {"kept": [it for it in choices if it.kept_by]}


def vacuumed_lines(done: Vacuumed, grace: timedelta, *, dry_run: bool) -> list[str]:
    """Return one line per kind of change."""
    would = "would be " if dry_run else ""
    lines = [
        f"{name}: {counted(len(files), 'file')} {would}deleted, {size(done.num_bytes[name])}"
        for name, files in done.files.items()
        if files
    ]
    if done.struck_off:
        lines.append(
            f"{counted(len(done.struck_off), 'unused content')} {would}unlisted; "
            f"a vacuum after {_duration(grace)} deletes the files"
        )
    if done.relisted:
        lines.append(f"{counted(len(done.relisted), 'content')} {would}listed again")
    if done.num_pairs or done.num_rows:
        lines.append(
            f"{counted(done.num_pairs, 'pair')} of former neighbours and "
            f"{counted(done.num_rows, 'row')} of such {would}forgotten"
        )
    return lines or ["nothing to delete"]


def _duration(grace: timedelta) -> str:
    hours = grace // timedelta(hours=1)
    return counted(hours // 24, "day") if hours and hours % 24 == 0 else counted(hours, "hour")


def vacuumed_facts(done: Vacuumed, *, dry_run: bool) -> dict[str, Any]:
    """Return the deleted files and rows in their JSON form."""
    return {"dryRun": dry_run, **plain(done)}


def copied_lines(copied: Copied, place: str) -> Iterator[str]:
    """Yield the number of copied files, and the number of revisions in the copy."""
    yield f"{counted(copied.num_files, 'file')} copied, {size(copied.num_bytes)}"
    if copied.num_removed:
        yield f"{counted(copied.num_removed, 'file')} removed, out of use"
    yield f"{place} holds {counted(copied.num_revisions, 'row')} of revisions"


def copied_facts(copied: Copied, place: str) -> dict[str, Any]:
    """Return the same in its JSON form."""
    return {"location": place, **plain(copied)}


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
    for name, sentence in sentences.items():
        if name in results:
            yield f"{name}: {sentence(results[name])}"
        if name in problems:
            yield from wrapped(f"{name}: {styles.removed('problem')}: {problems[name]}")


def status_lines(status: Status) -> Iterator[str]:
    """Yield the numbers of a catalog, its series, its runs, and what needs a person."""
    yield (
        f"{status.location}: {counted(status.num_revisions, 'revision')} of "
        f"{len(status.series)} series, {size(status.num_bytes)}"
    )
    if status.num_free_bytes is not None:
        yield f"{size(status.num_free_bytes)} are free on its disk"
    if status.num_missing_pairs:
        yield f"{counted(status.num_missing_pairs, 'pair')} of neighbours for upkeep to compare"
    yield ""
    yield from table(status.series, _STATUS_COLUMNS)
    if status.runs:
        yield ""
        yield from table(status.runs, _RUN_COLUMNS)
    yield ""
    for problem in status.problems:
        yield from wrapped(f"{styles.removed('problem')}: {problem}")
    if not status.problems:
        yield "nothing needs a person"


def _run_words(run: Run | None) -> str:
    return "" if run is None else f"{run.result} {minute(run.ended_at)}"


_STATUS_COLUMNS = [
    TableColumn("series", 0, lambda it: it.name),
    number("revisions", 2, lambda it: it.num_revisions),
    TableColumn("newest", 0, lambda it: it.newest, styles.name),
    TableColumn("last import", 1, lambda it: _run_words(it.last_import)),
]
_RUN_COLUMNS = [
    TableColumn("run", 0, lambda it: it.kind.value),
    TableColumn("last", 0, _run_words),
    number("seconds", 2, lambda it: round(it.seconds)),
    TableColumn("of", 1, lambda it: it.subject),
]


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
        text = f"{counted(len(self.hashes), 'hash')} of {counted(len(self.revisions), 'revision')}"
        return f"{text} and {counted(len(self.locks), 'lock file')}" if self.locks else text

    def lines(self) -> Iterator[str]:
        """Yield the summary, and the remaining specs."""
        yield f"kept: {self.summary}"
        rest = self.rest
        if rest is None:
            return
        text = f"rest: {counted(len(rest.hashes), 'spec')} of other revisions"
        if rest.size is not None:
            text += f", {size(rest.size)}"
        if rest.num_unknown and rest.hashes:
            text += f", {counted(rest.num_unknown, 'spec')} of unknown size"
        yield from wrapped(text)
        yield f"no spec is left in {counted(len(rest.cells), 'cell')} of package, stack and target"
        for package, stack, target in rest.cells[:_MAX_CELLS]:
            cell = f"{package} {stack or '(no stack)'} {target}"
            yield from wrapped(f"  {styles.removed('-')} {cell}")
        if (more := len(rest.cells) - _MAX_CELLS) > 0:
            yield styles.quiet(f"  and {counted(more, 'cell')} more")
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


# -- filling in history


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


# -- verification


def verified_lines(verified: Verified) -> Iterator[str]:
    """Yield one line per finding, damage first, and the amount of data that was read."""
    for finding in verified.findings:
        kind = styles.removed("damaged") if finding.is_damage else styles.quiet("note")
        yield f"{kind}: {finding}"
    read = (
        f"{counted(verified.num_contents, 'content')} of "
        f"{counted(verified.num_revisions, 'revision')} read, "
        f"{counted(verified.num_specs, 'spec')}"
    )
    damaged = sum(finding.is_damage for finding in verified.findings)
    yield f"{read}: {counted(damaged, 'damage')} found" if damaged else f"{read}: no damage found"
