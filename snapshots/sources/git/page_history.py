"""A history of cache pages in a git repository: one snapshot per commit that changed a tag.

The pages are below one folder, in the form that ``snapshots.sources.pages`` reads. Only commits on
HEAD's first-parent line are read, and only the changes of each. States from that line that the
catalog already contains are not published again, nor are pages parsed that only those contain, if
they are in a folder named after their tag. Pages in other folders are parsed in every run.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal, get_args

import msgspec

from snapshots.contents import Content, PackageContent, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.history import History
from snapshots.models import GIT, Source, utc
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits, is_glob
from snapshots.sources.git import repository as git
from snapshots.sources.git.clones import open_repository
from snapshots.sources.pages import cache_page
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

# -- the pages of one state

MAX_PAGE_BYTES = 32 << 20
"""Maximum total size of pages of several tags whose records stay in memory, in bytes.

Records take about four times as much memory as their pages.
"""


class BlobPage(msgspec.Struct, frozen=True):
    """The parsed page of a blob, without a path; ``num_bytes`` is the size of the blob."""

    page: cache_page.CachePage
    package: PackageContent
    num_bytes: int


class PageReader(msgspec.Struct):
    """Parses blobs, and caches the pages that were read last.

    An error in a blob is reported once, regardless of the number of commits and paths with it.
    """

    _blobs: git.Blobs
    _report: Report
    _pages: OrderedDict[str, BlobPage] = msgspec.field(default_factory=OrderedDict)
    _num_bytes: int = 0
    _reported: set[str] = set()
    _old_pages: int = 0

    def read(self, blob: str, location: str) -> BlobPage | None:
        """Return a blob's page; None if it is bad and the report skips bad ones.

        Raises SourceError, with ``location``, if the report does not.
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
        """Remove the least recently read pages beyond ``MAX_PAGE_BYTES`` from the cache.

        The last ``least`` of them stay.
        """
        while self._num_bytes > MAX_PAGE_BYTES and len(self._pages) > least:
            _, page = self._pages.popitem(last=False)
            self._num_bytes -= page.num_bytes

    def drop(self, blob: str) -> None:
        """Remove the page of a blob, which was just read, from the cache."""
        self._num_bytes -= self._pages.pop(blob).num_bytes

    def peek(self, blob: str, location: str) -> cache_page.CachePage | None:
        """Return a blob's page without reporting anything; None if it is bad."""
        try:
            return cache_page.parse_page(
                self._blobs.read(blob, location), location, Report(skip_bad=True)
            )
        except SourceError:
            return None

    def summarize(self) -> None:
        """Report the number of pages that were skipped without their own warning."""
        if self._old_pages > 1:
            more = self._old_pages - 1
            self._report.warn(f"{more} more pages of the layout of 2022 were skipped")

    def _parse(self, blob: str, location: str) -> BlobPage | None:
        report = Report(skip_bad=True) if blob in self._reported else self._report
        try:
            data = self._blobs.read(blob, location)
        except git.BadBlob as error:
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
            parsed = cache_page.parse_page(data, location, report)
            page = BlobPage(parsed, PackageContent(parsed.specs), len(data))
        except SourceError as error:
            report.bad(error)
        if len(report.skipped) + len(report.warnings) > noted:
            self._reported.add(blob)
        return page


def _is_of_2022(data: bytes) -> bool:
    """Return whether a page has the layout without hashes, as parsing its YAML would be slow."""
    old = b"\nspec_names:" in data or b"\nspec_files:" in data
    return old and b"\nspec_details:" not in data


class TaggedPages(msgspec.Struct):
    """The current pages, by tag and path.

    Their records stay in memory up to ``MAX_PAGE_BYTES``, or those of one tag. Others are read
    again on demand.
    """

    _reader: PageReader
    _report: Report
    _blobs: dict[str, dict[str, tuple[str, str]]] = {}
    """For each tag, the blobs of its pages by path, with their locations for errors."""
    _tags: dict[str, str] = {}
    _reported: set[tuple[str, str]] = set()

    def put(self, path: str, tag: str, blob: str, location: str) -> None:
        """Add a page at a path without a page."""
        self._tags[path] = tag
        blobs = self._blobs.setdefault(tag, {})
        blobs[path] = blob, location
        self._reader.forget(len(blobs))

    def remove(self, path: str) -> str | None:
        """Remove the page at a path and return its tag; None if there is none."""
        tag = self._tags.pop(path, None)
        if tag is not None:
            del self._blobs[tag][path]
        return tag

    def _pages_of(self, tag: str) -> Mapping[str, BlobPage]:
        """Return all pages of a tag, by path. Bad ones are removed, so that they are read once."""
        pages: dict[str, BlobPage] = {}
        for path, (blob, location) in list(self._blobs.get(tag, {}).items()):
            page = self._reader.read(blob, location)
            if page is not None and page.page.tag not in (None, tag):
                reason = f"states the tag {page.page.tag}, but is in a folder of {tag}"
                self._report.bad(SourceError(location, reason))
                page = None
            if page is None:
                self.remove(path)
            else:
                pages[path] = page
        self._reader.forget(len(pages))
        return pages

    def is_synthetic(self, tag: str) -> bool:
        """Return whether any page of a tag is marked as synthetic."""
        return any(page.page.synthetic for page in self._pages_of(tag).values())

    def content(self, tag: str, commit: str) -> Content:
        """Return the content of a tag; ``commit`` names the state in errors.

        A repeated hash is bad: it raises SourceError, or the later one is skipped.
        """
        pages = self._pages_of(tag)
        parts = [(page.page.name, page.package) for page in pages.values()]
        hashes = [spec.hash for _, package in parts for spec in package.specs]
        if len(set(hashes)) < len(hashes):
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
            new, repeated = cache_page.split_repeated(page.package.specs, path, paths)
            for digest, first in repeated:
                if (path, digest) not in self._reported:
                    where = "spec_details" if first == path else f"in {first}"
                    reason = f"the hash {digest} appears twice ({where})"
                    self._report.bad(SourceError(f"{commit}:{path}", reason, key=page.page.name))
                    self._reported.add((path, digest))
            yield page.page.name, PackageContent(new) if repeated else page.package


# -- the walk along commits


class TagSelection:
    """The tags to publish: those that match one of the names or globs, or all if there is none.

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


class Walk(msgspec.Struct):
    """Applies the changes of successive commits and determines the tags that they change.

    All pages of a folder that is named after the tag of the first page found in it must have that
    tag, and are not read before the content of the tag is. ``tags_found`` are the tags of the
    folders and pages so far, selected or not.
    """

    pages: TaggedPages
    _folder: str
    _commits: Sequence[git.PagesCommit]
    _until: Callable[[str], int]
    _selection: TagSelection
    _reader: PageReader
    _report: Report
    tags_found: set[str] = set()
    _folder_tags: dict[str, str | None] = {}
    """The tag of each folder of pages that is named after it; None for other folders."""
    _changed: dict[str, tuple[str | None, int]] = {}
    """The last change of each path: its blob, and the index of the commit."""

    def apply(self, index: int, changes: Iterable[git.Change]) -> None:
        """Apply the changes of the commit at an index of the line."""
        for change in changes:
            if is_page(change.path):
                path = f"{self._folder}/{change.path}" if self._folder else change.path
                self._changed[path] = change.blob, index

    def touched(self) -> list[tuple[int, str]]:
        """Update ``pages`` to the last commit applied; return the changed tags with commits.

        Each pair has the index of the last commit that changed a page of the tag. Pairs are in the
        order of commits. Raises SourceError and TagNeeded.
        """
        indexes: dict[str, int] = {}
        changed, self._changed = self._changed, {}
        for path, (blob, index) in changed.items():
            before = self.pages.remove(path)
            after = None if blob is None else self._put(path, blob, self._location(path, index))
            for tag in filter(None, (before, after)):
                indexes[tag] = max(index, indexes.get(tag, index))
        return sorted((index, tag) for tag, index in indexes.items() if index > self._until(tag))

    def _put(self, path: str, blob: str, location: str) -> str | None:
        """Add a page; return its tag, or None if it is bad or not selected."""
        tag = self._folder_tag(path, blob, location)
        if tag is None:
            read = self._reader.read(blob, location)
            if read is None:
                return None
            tag = self._tag_of(path, read.page)
            if tag is None:
                raise TagNeeded(location)
            if tag not in self._selection:
                self._reader.drop(blob)
        self.tags_found.add(tag)
        if tag not in self._selection:
            return None
        try:
            self.pages.put(path, check_tag(tag), blob, location)
        except InvalidArgument as error:
            self._report.bad(SourceError(location, error.reason))
            return None
        return tag

    def _folder_tag(self, path: str, blob: str, location: str) -> str | None:
        """Return the tag after which the folder of a page is named; None if it is not."""
        directory, _, name = path.rpartition("/")
        if name == "specs.md":
            directory = directory.rpartition("/")[0]
        if directory not in self._folder_tags:
            page = self._reader.peek(blob, location)
            file = PurePosixPath(path)
            if page is None:
                tag = cache_page.tag_in_path(file, file.parent.name)
            else:
                tag = self._tag_of(path, page)
            is_named_after = tag == directory.rpartition("/")[2]
            self._folder_tags[directory] = tag if is_named_after else None
        return self._folder_tags[directory]

    def _tag_of(self, path: str, page: cache_page.CachePage) -> str | None:
        """Return the tag of a page: that which it states, that in its path, or the default."""
        in_path = cache_page.tag_in_path(PurePosixPath(path), page.name)
        return page.tag or in_path or self._selection.default

    def _location(self, path: str, index: int) -> str:
        return f"{self._commits[index].short}:{path}"


def is_page(path: str) -> bool:
    """Return whether a file can be a cache page: ``*.md``, but not hidden and not a README."""
    *folders, name = path.split("/")
    if not name.endswith(".md") or name.lower() == "readme.md":
        return False
    return not any(part.startswith(".") for part in (*folders, name))


# -- the history

Every = Literal["commit", "day", "week"]

_PERIODS: dict[Every, Callable[[git.PagesCommit], object]] = {
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
    """Yield the states of all tags that the catalog's ``history`` lacks, in commit order.

    ``repository`` is a folder, or a URL whose clone is cached according to ``settings``; ``path``
    is the folder of pages in it. ``since`` excludes earlier commits, ``tags`` (names or globs) all
    other tags, and ``every`` all but a tag's last change of each day or ISO week, in UTC. A single
    name in ``tags`` is also the tag of pages that state none.

    ``taken_at`` is the committer's time, ``source.version`` is the commit. A tag continues after
    its last commit in ``history``: earlier commits count as finished. Raises SourceError, with
    ``COMMIT:PATH`` as its location if a page is bad, TagNeeded and InvalidArgument.
    """
    if every not in _PERIODS:
        raise InvalidArgument("--every", f"{every!r} is not one of {', '.join(get_args(Every))}")
    folder = git.folder_path(path)
    with open_repository(repository, settings) as origin:
        commits = git.commits_of(origin, folder)
        published = _published_indexes(history, commits)
        start = _finished_index(origin, folder, commits, published)
        if since is not None:
            later = (index for index, commit in enumerate(commits) if commit.time >= utc(since))
            start = max(start, next(later, len(commits)) - 1)
        if start == len(commits) - 1:
            return
        _check_times(commits[max(start, 0) :], origin.location, report)

        def until(tag: str) -> int:
            """Return the index of the last commit that is finished for a tag."""
            return max(published.get(tag, start), start)

        first, newest = max(start, 0), max(published.values(), default=-1)
        trees = [git.empty_tree(commits[0].hash), *(commit.tree for commit in commits[first:])]
        with (
            closing(git.Blobs(origin)) as blobs,
            closing(git.changes_between(origin, trees)) as steps,
        ):
            reader = PageReader(blobs, report)
            selection = TagSelection(tags)
            pages = TaggedPages(reader, report)
            walk = Walk(pages, folder, commits, until, selection, reader, report)
            states = _States(pages, origin.location, history, report)
            for index, changes in enumerate(steps, first):
                report.progress("reading commits", index, len(commits))
                walk.apply(index, changes)
                period, last = _PERIODS[every], index + 1 == len(commits)
                if last or period(commits[index]) != period(commits[index + 1]):
                    for changed, tag in walk.touched():
                        is_new = changed > newest
                        yield from states.snapshot(tag, commits[changed], is_new=is_new)
            reader.summarize()
        report.progress("reading commits", len(commits), len(commits))
        if not any(tag in selection for tag in published):
            _check_found(walk.tags_found, selection, origin.location)


class _States(msgspec.Struct):
    """Creates snapshots of the tags' states that differ from those in the catalog."""

    _pages: TaggedPages
    _location: str
    _history: History
    _report: Report
    _digests: dict[str, str | None] = {}

    def snapshot(self, tag: str, commit: git.PagesCommit, *, is_new: bool) -> Iterator[Snapshot]:
        """Yield the state of a tag after a commit, if it differs from the previous one.

        An empty state is a warning instead, but not in every run: only if ``is_new``, which means
        that no commit from this one on is in the catalog, or if the previous state is not either.
        """
        content = self._pages.content(tag, commit.short)
        if tag in self._digests:
            is_new = True
        else:
            revision = self._history.at(tag, commit.time)
            self._digests[tag] = revision.digest if revision else None
        published = self._digests[tag]
        digest = content.digest if content else None
        self._digests[tag] = digest
        if digest is None and published is not None and is_new:
            self._report.warn(f"{tag}: commit {commit.short} leaves no spec; nothing published")
        if digest in (None, published):
            return
        source = Source(
            kind=GIT.name,
            location=self._location,
            version=commit.hash,
            importer=importer_name(),
            synthetic=self._pages.is_synthetic(tag),
        )
        yield Snapshot(tag=tag, content=content, source=source, taken_at=commit.time)


def _published_indexes(history: History, commits: Sequence[git.PagesCommit]) -> dict[str, int]:
    """Return, for each tag, the index of its last commit that is in the catalog."""
    indexes = {commit.hash: index for index, commit in enumerate(commits)}
    published: dict[str, int] = {}
    for revision in history.revisions:
        index = indexes.get(revision.source.version or "")
        if index is not None and revision.source.kind == GIT.name:
            published[revision.tag] = max(index, published.get(revision.tag, index))
    return published


def _finished_index(
    repository: git.Repository,
    folder: str,
    commits: Sequence[git.PagesCommit],
    published: Mapping[str, int],
) -> int:
    """Return the index of the commit up to which the catalog has all changes; -1 for none.

    Only the folder's direct entries are compared, which are mostly the folders of tags. This is a
    small part of the work of reading all pages again.
    """
    if not published:
        return -1
    # The folder can also be that of one tag, with packages as its entries.
    of_folder = published.get(folder.rpartition("/")[2], -1)
    trees = [git.empty_tree(commits[0].hash), *(commit.tree for commit in commits)]
    with closing(git.changes_between(repository, trees, recursive=False)) as steps:
        for index, changes in enumerate(steps):
            entries = [change for change in changes if change.is_folder or is_page(change.path)]
            if any(index > published.get(entry.path, of_folder) for entry in entries):
                return index - 1
    return len(commits) - 1


def _check_times(commits: Sequence[git.PagesCommit], location: str, report: Report) -> None:
    """Warn about commits whose dates are not in the order of the commits."""
    misdated = [new.short for old, new in pairwise(commits) if new.time < old.time]
    if misdated:
        number = f"{len(misdated)} commits are" if len(misdated) > 1 else "1 commit is"
        report.warn(
            f"{location}: {number} dated before the one they follow, the first of them "
            f"{misdated[0]}; revisions are ordered by date"
        )


def _check_found(tags: Collection[str], selection: TagSelection, location: str) -> None:
    """Raise an error if there is no page, or none with a selected tag."""
    if not tags:
        raise SourceError(location, "has no cache pages (files named *.md)")
    if not any(tag in selection for tag in tags):
        names = ", ".join(sorted(tags))
        raise InvalidArgument("--tag", f"{selection} matches no tag of the pages ({names})")
