"""Results of commands that fill and maintain a catalog, as lines of text and as plain values."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from operator import attrgetter

from server.terminal.printing.revisions import revision_lines
from server.terminal.printing.text import TableColumn, name, number, quiet, removed, table
from snapshots.catalog.copies import Copied
from snapshots.catalog.keep_lists import KeepList, UnlistedHashes
from snapshots.catalog.recipes_import import ImportedRecipes
from snapshots.catalog.removal import Removal
from snapshots.catalog.retention import RetentionChoice
from snapshots.catalog.runs import Run
from snapshots.catalog.status import Status
from snapshots.catalog.vacuum import Vacuumed
from snapshots.catalog.verification import Verified
from snapshots.history import History
from snapshots.recipes.commits import RecipesOrigin
from snapshots.refs import series
from snapshots.sources.buildcache.reader import CacheDifference
from snapshots.texts import counted, minute, size

# -- imports


def imported_text(imported: ImportedRecipes) -> str:
    """Return the number of revisions whose recipes were found, in words."""
    revisions = counted(len(imported.recipes), "revision")
    by_date = sum(recipes.found_by is RecipesOrigin.DATE for recipes in imported.recipes.values())
    dated = f", {by_date:,} of them by date" if by_date else ""
    return f"recipes of {revisions} found{dated}; {counted(imported.num_commits, 'commit')} read"


# -- removing, deleting, copying


def removed_lines(removal: Removal, history: History, *, dry_run: bool) -> Iterator[str]:
    """Yield the removed revisions, and a summary."""
    yield from revision_lines(removal.revisions, history)
    yield _summary(removal, dry_run=dry_run)


def pruned_lines(
    removal: Removal, choices: Sequence[RetentionChoice], history: History, *, dry_run: bool
) -> Iterator[str]:
    """Yield how many revisions of each series are kept.

    For a dry run, first every revision, and the tags that would lose their newest one.
    """
    if dry_run:
        reasons = TableColumn("kept by", 1, lambda it: ", ".join(it.kept_by) or "none: removed")
        yield from table(
            choices, [TableColumn("revision", 0, attrgetter("revision.ref"), name), reasons]
        )
        gone = {*removal.revisions}
        tags = [tag for tag in history.tags if history.of_tag(tag)[0] in gone]
        if tags:
            yield f"{counted(len(tags), 'tag')} would lose the newest revision:"
            yield from (f"  {removed('-')} {tag}" for tag in tags)
    total, kept = Counter[str](), Counter[str]()
    for choice in choices:
        total[series(choice.revision.tag)] += 1
        kept[series(choice.revision.tag)] += bool(choice.kept_by)
    for one in history.series_names:
        yield f"{one}: {kept[one]:,} of {counted(total[one], 'revision')} kept"
    yield _summary(removal, dry_run=dry_run)


def _summary(removal: Removal, *, dry_run: bool) -> str:
    if not removal.revisions:
        return "nothing to remove"
    done = f"{counted(len(removal.revisions), 'revision')} {'would be ' * dry_run}removed"
    if not removal.contents:
        return f"{done}; others have the same contents"
    contents = f"{counted(len(removal.contents), 'content')} after some time"
    return f"{done}; 'cachelog vacuum' deletes {contents}, {size(removal.num_bytes)}"


def vacuumed_lines(done: Vacuumed, hours: int, *, dry_run: bool) -> list[str]:
    """Return one line per kind of change."""
    would = "would be " * dry_run
    lines = [
        f"{name}: {counted(len(files), 'file')} {would}deleted, {size(done.num_bytes[name])}"
        for name, files in done.files.items()
        if files
    ]
    if done.struck_off:
        unlisted = f"{counted(len(done.struck_off), 'unused content')} {would}unlisted"
        lines.append(f"{unlisted}; a vacuum after {counted(hours, 'hour')} deletes the files")
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


# -- keep lists


def unlisted_lines(
    rest: UnlistedHashes, kept: KeepList, checked: Mapping[str, Set[str]]
) -> Iterator[str]:
    """Yield what is not on a keep list, and how much of each lock file, given its hashes."""
    others = f"not on the list: {counted(len(rest.hashes), 'spec')}"
    others += "" if rest.size is None else f", {size(rest.size)}"
    if rest.num_unknown:
        others += f", {counted(rest.num_unknown, 'spec')} of unknown size"
    yield others
    yield f"no spec is left in {counted(len(rest.cells), 'cell')} of package, stack and target"
    for package, stack, target in rest.cells:
        yield f"  {removed('-')} {package} {stack or '(no stack)'} {target}"
    for file, hashes in checked.items():
        unlisted = hashes - kept.hashes
        lost = f"{len(unlisted):,} of {counted(len(hashes), 'spec')} are not on the list"
        num_absent = len(unlisted - rest.hashes)
        yield f"{file}: {lost}" + (f", {num_absent:,} of them in no revision" if num_absent else "")


# -- status


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
        yield f"{removed('problem')}: {problem}"
    if not status.problems:
        yield "nothing needs a person"


def _run_words(run: Run | None) -> str:
    return "" if run is None else f"{run.result} {minute(run.ended_at)}"


# -- verification


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
