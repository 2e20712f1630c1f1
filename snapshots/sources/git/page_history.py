"""A history of cache pages in a git repository: a snapshot for each commit that changed a tag.

The pages lie below one folder, as ``snapshots.sources.pages`` reads them. Of the commits only those
on HEAD's first-parent line count, and of each only what it changed. What the catalog has from that
line already is neither parsed nor published again.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal, get_args

from snapshots.contents import Content, PackageContent, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.history import History
from snapshots.models import GIT, Source, utc
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits, is_glob
from snapshots.sources.git.clones import open_repository
from snapshots.sources.git.repository import (
    BadBlob,
    Blobs,
    Change,
    PagesCommit,
    Repository,
    changes_between,
    commits_of,
    empty_tree,
    folder_path,
)
from snapshots.sources.pages.cache_page import (
    CachePage,
    parse_page,
    split_repeated,
    tag_in_path,
)
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

# -- the pages of one state

MAX_PAGE_BYTES = 32 << 20
"""How many bytes the pages of several tags may have whose records stay in memory.

Records take some four times as much as the pages that they are read from.
"""


class BlobPage:
    """A page without its place: what one blob of so many bytes says."""

    def __init__(self, page: CachePage, num_bytes: int) -> None:
        self.num_bytes = num_bytes
        self.name = page.name
        self.tag = page.tag
        self.synthetic = page.synthetic
        self.package = PackageContent(page.specs)
        self.hashes = frozenset(spec.hash for spec in page.specs)


class PageReader:
    """Parses blobs, each once as long as its page is in memory: those that were read last.

    What is wrong with a blob goes to the report once, however many commits and paths have it.
    """

    def __init__(self, blobs: Blobs, report: Report) -> None:
        self._blobs = blobs
        self._report = report
        self._pages: OrderedDict[str, BlobPage] = OrderedDict()
        self._num_bytes = 0
        self._reported: set[str] = set()
        self._old_pages = 0

    def read(self, blob: str, location: str) -> BlobPage | None:
        """Return a blob's page; None where it is bad and the report lets that pass.

        Raises SourceError, naming ``location``, where the report does not.
        """
        page = self._pages.get(blob)
        if page is None:
            page = self._parse(blob, location)
            if page is None:
                return None
            self._pages[blob] = page
            self._num_bytes += page.num_bytes
        self._pages.move_to_end(blob)
        return page

    def forget(self, least: int) -> None:
        """Let go of the pages that were read longest ago beyond ``MAX_PAGE_BYTES``.

        The last ``least`` of them stay.
        """
        while self._num_bytes > MAX_PAGE_BYTES and len(self._pages) > least:
            _, page = self._pages.popitem(last=False)
            self._num_bytes -= page.num_bytes

    def drop(self, blob: str) -> None:
        """Let go of the page of a blob, which was just read."""
        self._num_bytes -= self._pages.pop(blob).num_bytes

    def peek(self, blob: str, location: str) -> CachePage | None:
        """Return a blob's page without reporting anything; None where it is bad."""
        try:
            return parse_page(self._blobs.read(blob, location), location, Report(skip_bad=True))
        except SourceError:
            return None

    def summarize(self) -> None:
        """Report how many pages were left out without a line of their own."""
        if self._old_pages > 1:
            more = self._old_pages - 1
            self._report.warn(f"{more} more pages of the layout of 2022 were skipped")

    def _parse(self, blob: str, location: str) -> BlobPage | None:
        report = Report(skip_bad=True) if blob in self._reported else self._report
        try:
            data = self._blobs.read(blob, location)
        except BadBlob as error:
            report.bad(error)
            self._reported.add(blob)
            return None
        if self._report.skip_bad and _is_of_2022(data):
            self._old_pages += blob not in self._reported
            self._reported.add(blob)
            if self._old_pages > 1:
                return None
        noted = len(report.skipped) + len(report.warnings)
        page = None
        try:
            page = BlobPage(parse_page(data, location, report), len(data))
        except SourceError as error:
            report.bad(error)
        if len(report.skipped) + len(report.warnings) > noted:
            self._reported.add(blob)
        return page


def _is_of_2022(data: bytes) -> bool:
    """Tell whether a page has the layout without hashes; parsing its YAML would take long."""
    old = b"\nspec_names:" in data or b"\nspec_files:" in data
    return old and b"\nspec_details:" not in data


class TaggedPages:
    """The pages that stand at the moment, by tag and path.

    Their records stay in memory within ``MAX_PAGE_BYTES``, or one tag's. Others are read again when
    they are asked for.
    """

    def __init__(self, reader: PageReader, report: Report) -> None:
        self._reader = reader
        self._report = report
        self._places: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        self._tags: dict[str, str] = {}
        self._reported: set[tuple[str, str]] = set()

    def put(self, path: str, tag: str, blob: str, location: str) -> None:
        """Let a page, which was just read, stand at a path where none does."""
        self._tags[path] = tag
        self._places[tag][path] = blob, location
        self._reader.forget(len(self._places[tag]))

    def remove(self, path: str) -> str | None:
        """Remove the page at a path and return the tag that it had; None where there is none."""
        tag = self._tags.pop(path, None)
        if tag is not None:
            del self._places[tag][path]
        return tag

    def _pages_of(self, tag: str) -> Mapping[str, BlobPage]:
        """Return all pages of a tag."""
        places = self._places[tag].items()
        pages = {path: self._reader.read(blob, location) for path, (blob, location) in places}
        self._reader.forget(len(pages))
        return {path: page for path, page in pages.items() if page is not None}

    def is_synthetic(self, tag: str) -> bool:
        """Tell whether any page of a tag says that its data are made up."""
        return any(page.synthetic for page in self._pages_of(tag).values())

    def content(self, tag: str, commit: str) -> Content:
        """Return what a tag holds; ``commit`` names the state in errors.

        A hash that appears twice is bad: raises SourceError, or leaves the later one out.
        """
        pages = self._pages_of(tag)
        parts = [(page.name, page.package) for page in pages.values()]
        num_specs = sum(len(package.specs) for _, package in parts)
        if len(set().union(*(page.hashes for page in pages.values()))) < num_specs:
            parts = list(self._without_repetition(pages, commit))
        packages: dict[str, PackageContent] = {}
        for name, package in parts:
            if other := packages.get(name):
                package = PackageContent([*other.specs, *package.specs])
            packages[name] = package
        return Content(packages)

    def _without_repetition(
        self, pages: Mapping[str, BlobPage], commit: str
    ) -> Iterator[tuple[str, PackageContent]]:
        paths: dict[str, str] = {}
        for path, page in sorted(pages.items()):
            new, repeated = split_repeated(page.package.specs, path, paths)
            for digest, first in repeated:
                if (path, digest) not in self._reported:
                    where = "spec_details" if first == path else f"in {first}"
                    reason = f"the hash {digest} appears twice ({where})"
                    self._report.bad(SourceError(f"{commit}:{path}", reason, key=page.name))
                    self._reported.add((path, digest))
            yield page.name, PackageContent(new) if repeated else page.package


# -- the walk along commits

_UNCHANGED = -1


class TagSelection:
    """The tags to publish: those that one of the names or globs fits; all where there is none.

    ``default`` is the tag of pages that state none: the only name, if it is not a glob.
    """

    def __init__(self, tags: Sequence[str]) -> None:
        self._tags = tags
        is_name = len(tags) == 1 and not is_glob(tags[0])
        self.default = tags[0] if is_name else None

    def __contains__(self, tag: str) -> bool:
        return not self._tags or fits(tag, self._tags)

    def __str__(self) -> str:
        return " ".join(self._tags)


class _PageFolder:
    """A folder of pages, and the tag of the first page found in it; empty where it has none.

    ``is_sure`` where the folder has the tag's name too, so that all its pages must be of that tag.
    ``deferred`` has the blobs of its pages by path as long as no page has to be read: until one of
    them changes after the last commit that is done for the tag. It is None from then on.
    """

    def __init__(self, path: str, tag: str) -> None:
        self.tag = tag
        self.is_sure = tag != "" and path.rpartition("/")[2] == tag
        self.deferred: dict[str, str] | None = {} if tag else None


class Walk:
    """Applies the changes of one commit after the other and tells which tags they touched."""

    def __init__(
        self,
        folder: str,
        commits: Sequence[PagesCommit],
        until: Callable[[str], int],
        selection: TagSelection,
        reader: PageReader,
        report: Report,
    ) -> None:
        self.pages = TaggedPages(reader, report)
        self.tags_found: set[str] = set()
        """The tags of folders and pages so far, selected or not."""
        self._folder = folder
        self._commits = commits
        self._until = until
        self._selection = selection
        self._reader = reader
        self._report = report
        self._folders: dict[str, _PageFolder] = {}
        self._changed: dict[str, tuple[str | None, int]] = {}

    def apply(self, place: int, changes: Iterable[Change]) -> None:
        """Apply what the commit at a place of the line changed."""
        for change in changes:
            path = f"{self._folder}/{change.path}" if self._folder else change.path
            blob = change.blob
            folder = self._page_folder(path, blob, place) if is_page(change.path) else None
            if folder is None or (folder.is_sure and folder.tag not in self._selection):
                continue
            if folder.deferred is not None and place > self._until(folder.tag):
                self._read_deferred(folder.tag)
            if folder.deferred is None:
                self._changed[path] = blob, place
            elif blob is None:
                folder.deferred.pop(path, None)
            else:
                folder.deferred[path] = blob

    def touched(self, now: int) -> list[tuple[int, str]]:
        """Bring ``pages`` up to the commit at a place; return which tags that touches, and where.

        The pairs are in the order of commits; each has the last place where a page of the tag
        changed. Raises SourceError and TagNeeded.
        """
        places: dict[str, int] = {}
        while self._changed:
            changed, self._changed = self._changed, {}
            for path, (blob, place) in changed.items():
                before = self.pages.remove(path)
                seen_at = now if place == _UNCHANGED else place
                after = None if blob is None else self._put(path, blob, seen_at)
                for tag in (before, after):
                    if tag is not None:
                        places[tag] = max(place, places.get(tag, _UNCHANGED))
            for tag in places:
                self._read_deferred(tag)
        return sorted((place, tag) for tag, place in places.items() if place > self._until(tag))

    def _page_folder(self, path: str, blob: str | None, place: int) -> _PageFolder | None:
        directory, _, name = path.rpartition("/")
        if name == "specs.md":
            directory = directory.rpartition("/")[0]
        folder = self._folders.get(directory)
        if folder is None and blob is not None:
            folder = self._folders[directory] = _PageFolder(
                directory, self._first_tag(path, blob, place)
            )
        return folder

    def _first_tag(self, path: str, blob: str, place: int) -> str:
        file = PurePosixPath(path)
        page = self._reader.peek(blob, self._location(path, place))
        if page is not None:
            tag = page.tag or tag_in_path(file, page.name) or self._selection.default
        else:
            tag = tag_in_path(file, file.parent.name)
        if tag is None:
            return ""
        self.tags_found.add(tag)
        return tag

    def _read_deferred(self, tag: str) -> None:
        """Let the pages be read in all folders that can have pages of the tag."""
        for folder in self._folders.values():
            if folder.deferred is not None and (folder.tag == tag or not folder.is_sure):
                self._changed |= {
                    path: (blob, _UNCHANGED) for path, blob in folder.deferred.items()
                }
                folder.deferred = None

    def _put(self, path: str, blob: str, place: int) -> str | None:
        """Let a page stand; return its tag, or None where it is bad or not selected."""
        location = self._location(path, place)
        page = self._reader.read(blob, location)
        if page is None:
            return None
        tag = page.tag or tag_in_path(PurePosixPath(path), page.name) or self._selection.default
        if tag is None:
            raise TagNeeded(location)
        try:
            self.tags_found.add(check_tag(tag))
        except InvalidArgument as error:
            self._report.bad(SourceError(location, error.reason))
            return None
        if tag not in self._selection:
            self._reader.drop(blob)
            return None
        self.pages.put(path, tag, blob, location)
        return tag

    def _location(self, path: str, place: int) -> str:
        return f"{self._commits[place].short}:{path}"


def is_page(path: str) -> bool:
    """Tell whether a file can be a cache page: ``*.md``, but not hidden and no README."""
    *folders, name = path.split("/")
    if not name.endswith(".md") or name.lower() == "readme.md":
        return False
    return not any(part.startswith(".") for part in (*folders, name))


# -- the history

Every = Literal["commit", "day", "week"]

_PERIODS: dict[Every, Callable[[PagesCommit], object]] = {
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
        raise InvalidArgument("--every", f"{every!r} is not one of {', '.join(get_args(Every))}")
    folder = folder_path(path)
    with open_repository(repository, settings) as origin:
        commits = commits_of(origin, folder)
        places = _published_places(history, commits)
        start = _finished_place(origin, folder, commits, places)
        if since is not None:
            start = max(start, _place_before(utc(since), commits))
        if start == len(commits) - 1:
            return
        _check_times(commits[max(start, 0) :], origin.location, report)

        def until(tag: str) -> int:
            """Return the place of the commit up to which a tag is in the catalog."""
            return max(places.get(tag, start), start)

        first = max(start, 0)
        trees = [empty_tree(commits[0].hash), *(commit.tree for commit in commits[first:])]
        with closing(Blobs(origin)) as blobs, closing(changes_between(origin, trees)) as steps:
            reader = PageReader(blobs, report)
            selection = TagSelection(tags)
            walk = Walk(folder, commits, until, selection, reader, report)
            states = _States(walk.pages, origin.location, history, report)
            for place, changes in enumerate(steps, first):
                report.progress("reading commits", place, len(commits))
                walk.apply(place, changes)
                period, last = _PERIODS[every], place + 1 == len(commits)
                if last or period(commits[place]) != period(commits[place + 1]):
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

    def snapshot(self, tag: str, commit: PagesCommit) -> Iterator[Snapshot]:
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
            kind=GIT.name,
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


def _published_places(history: History, commits: Sequence[PagesCommit]) -> dict[str, int]:
    """Return for each tag the place of the last commit that the catalog has it from."""
    numbers = {commit.hash: place for place, commit in enumerate(commits)}
    places: dict[str, int] = {}
    for revision in history.revisions:
        place = numbers.get(revision.source.version or "")
        if place is not None and revision.source.kind == GIT.name:
            places[revision.tag] = max(place, places.get(revision.tag, place))
    return places


def _finished_place(
    repository: Repository, folder: str, commits: Sequence[PagesCommit], places: Mapping[str, int]
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


def _place_before(moment: datetime, commits: Sequence[PagesCommit]) -> int:
    """Return the place of the last commit before the first that is not older than the moment."""
    places = (place for place, commit in enumerate(commits) if commit.time >= moment)
    return next(places, len(commits)) - 1


def _check_times(commits: Sequence[PagesCommit], location: str, report: Report) -> None:
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
        names = ", ".join(sorted(tags))
        raise InvalidArgument("--tag", f"{selection} fits no tag of the pages ({names})")
