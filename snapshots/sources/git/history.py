"""A history of cache pages in a git repository: a snapshot for each commit that changed a tag.

The pages lie below one folder, as ``snapshots.sources.pages`` reads them. Of the commits only those
on HEAD's first-parent line count, and of each only what it changed. What the catalog has from that
line already is neither parsed nor published again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import pairwise
from typing import Literal, get_args

from snapshots.contents import Snapshot
from snapshots.errors import InvalidArgument, SourceError
from snapshots.history import History
from snapshots.models import Source, utc
from snapshots.program import importer_name
from snapshots.sources.git.clones import open_repository
from snapshots.sources.git.commands import Repository
from snapshots.sources.git.objects import (
    Commit,
    blobs_of,
    changes_between,
    commits_of,
    empty_tree,
    folder_path,
)
from snapshots.sources.git.pages import PageReader, TaggedPages
from snapshots.sources.git.walk import Published, TagSelection, Walk, is_page
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

Every = Literal["commit", "day", "week"]

_PERIODS: dict[Every, Callable[[Commit], object]] = {
    "commit": lambda commit: commit.hash,
    "day": lambda commit: commit.time.date(),
    "week": lambda commit: commit.time.isocalendar()[:2],
}


def read(
    repository: str,
    *,
    path: str = "_cache",
    since: datetime | None = None,
    tags: Sequence[str] = (),
    every: Every = "commit",
    history: History,
    settings: ReadSettings,
    report: Report,
) -> Iterator[Snapshot]:
    """Yield the states of all tags that the catalog's ``history`` has not, in commit order.

    ``repository`` is a folder or a URL, whose clone is kept as ``settings`` say; ``path`` the
    folder of pages in it. ``since`` leaves out the commits before it; ``tags`` (names or globs) all
    other tags; ``every`` all but a tag's last change of each day or ISO week, in UTC. A single name
    in ``tags`` is also the tag of pages that state none.

    ``taken_at`` is the committer's time, ``source.version`` the commit. A tag goes on after its
    last commit in ``history``: what lies before counts as done. Raises SourceError, with
    ``COMMIT:PATH`` for its location where a page is bad, TagNeeded and InvalidArgument.
    """
    if every not in _PERIODS:
        known = ", ".join(get_args(Every))
        raise InvalidArgument("--every", f"{every!r} is none of {known}")
    folder = folder_path(path)
    with open_repository(repository, settings) as origin:
        yield from _read(origin, folder, since, tags, every, history, report)


def _read(
    origin: Repository,
    folder: str,
    since: datetime | None,
    tags: Sequence[str],
    every: Every,
    history: History,
    report: Report,
) -> Iterator[Snapshot]:
    commits = commits_of(origin, folder)
    places = _published_places(history, commits)
    start = _finished_place(origin, folder, commits, places)
    if since is not None:
        start = max(start, _place_before(utc(since), commits))
    if start == len(commits) - 1:
        return
    _check_times(commits[max(start, 0) :], origin.location, report)

    first = max(start, 0)
    trees = [empty_tree(commits[0].hash), *(commit.tree for commit in commits[first:])]
    with blobs_of(origin) as blobs, closing(changes_between(origin, trees)) as steps:
        reader = PageReader(blobs, report)
        selection = TagSelection(tags)
        published = Published(places, start)
        walk = Walk(folder, commits, published, selection, reader, report)
        states = _States(walk.pages, origin.location, history, report)
        for place, changes in enumerate(steps, first):
            report.progress("reading commits", place, len(commits))
            walk.apply(place, changes)
            if _ends_period(place, commits, _PERIODS[every]):
                for changed, tag in walk.touched(place):
                    yield from states.snapshot(tag, commits[changed])
        reader.summarize()
    report.progress("reading commits", len(commits), len(commits))
    if not any(tag in selection for tag in places):
        _check_found(walk.tags_found, selection, origin.location)


class _States:
    """Makes snapshots of the tags' states that differ from what stands in the catalog."""

    def __init__(self, pages: TaggedPages, location: str, history: History, report: Report) -> None:
        self._pages = pages
        self._location = location
        self._history = history
        self._report = report
        self._digests: dict[str, str | None] = {}

    def snapshot(self, tag: str, commit: Commit) -> Iterator[Snapshot]:
        """Yield the state of a tag after a commit, if it is new and there is any."""
        content = self._pages.content(tag, commit.short)
        standing = self._standing(tag, commit.time)
        digest = content.digest if content else None
        self._digests[tag] = digest
        if digest is None and standing is not None:
            self._report.warn(f"{tag}: commit {commit.short} leaves no spec; nothing published")
        if digest in (None, standing):
            return
        source = Source(
            kind="git",
            location=self._location,
            version=commit.hash,
            importer=importer_name(),
            synthetic=self._pages.is_synthetic(tag),
        )
        yield Snapshot(tag=tag, content=content, source=source, taken_at=commit.time)

    def _standing(self, tag: str, moment: datetime) -> str | None:
        if tag in self._digests:
            return self._digests[tag]
        revision = self._history.at(tag, moment)
        return None if revision is None else revision.digest


def _published_places(history: History, commits: Sequence[Commit]) -> dict[str, int]:
    """Return for each tag the place of the last commit that the catalog has it from."""
    numbers = {commit.hash: place for place, commit in enumerate(commits)}
    places: dict[str, int] = {}
    for revision in history.revisions:
        place = numbers.get(revision.source.version or "")
        if place is not None and revision.source.kind == "git":
            places[revision.tag] = max(place, places.get(revision.tag, place))
    return places


def _finished_place(
    repository: Repository, folder: str, commits: Sequence[Commit], places: Mapping[str, int]
) -> int:
    """Return the place up to which the catalog has all that the commits changed; -1 for none.

    Only the folder's direct entries are compared, most often the folders of tags: a small part of
    the work of going through all pages again.
    """
    if not places:
        return -1
    # The folder may also be that of one tag, and its entries those of packages.
    of_folder = places.get(folder.rpartition("/")[2], -1)
    trees = [empty_tree(commits[0].hash), *(commit.tree for commit in commits)]
    with closing(changes_between(repository, trees, recursive=False)) as steps:
        for place, changes in enumerate(steps):
            entries = [change for change in changes if change.is_folder or is_page(change.path)]
            if any(place > places.get(entry.path, of_folder) for entry in entries):
                return place - 1
    return len(commits) - 1


def _place_before(moment: datetime, commits: Sequence[Commit]) -> int:
    """Return the place of the last commit before the first that is not older than the moment."""
    places = (place for place, commit in enumerate(commits) if commit.time >= moment)
    return next(places, len(commits)) - 1


def _ends_period(place: int, commits: Sequence[Commit], period: Callable[[Commit], object]) -> bool:
    return place + 1 == len(commits) or period(commits[place]) != period(commits[place + 1])


def _check_times(commits: Sequence[Commit], location: str, report: Report) -> None:
    """Warn of commits that will not stand in the catalog in the order that they were made in."""
    misdated = [new.short for old, new in pairwise(commits) if new.time < old.time]
    if misdated:
        number = f"{len(misdated)} commits are" if len(misdated) > 1 else "1 commit is"
        report.warn(
            f"{location}: {number} dated before the one they follow, the first of them "
            f"{misdated[0]}; revisions are ordered by date"
        )


def _check_found(tags: Collection[str], selection: TagSelection, location: str) -> None:
    """Raise an error where there is no page at all, or none of a tag that is selected."""
    if not tags:
        raise SourceError(location, "holds no cache pages (files named *.md)")
    if not any(tag in selection for tag in tags):
        known = ", ".join(sorted(tags))
        raise InvalidArgument("--tag", f"{selection} fits no tag of the pages ({known})")
