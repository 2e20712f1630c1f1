"""A history of cache pages in a git repository: one snapshot per commit that changed a tag.

Each tag has a folder of pages, ``TAG/PACKAGE/specs.md``, below one folder of the repository; pages
have the form that ``snapshots.sources.pages`` reads. Only commits on HEAD's first-parent line are
read. A tag continues after its last commit in the catalog, so that earlier pages are not parsed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime

import msgspec

from snapshots.contents import Content, PackageContent, Snapshot
from snapshots.errors import InvalidArgument, SourceError
from snapshots.history import History
from snapshots.models import GIT, Source, utc
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits
from snapshots.sources.git import repository as git
from snapshots.sources.git.clones import open_repository
from snapshots.sources.pages import cache_page
from snapshots.sources.pages.folders import PAGE_NAME
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

_PAGES_IN_MEMORY = 3_000
"""The number of parsed pages that stay in memory: more than two states of the largest tag."""


def read(
    repository: str,
    *,
    path: str = "_cache",
    since: datetime | None = None,
    tags: Sequence[str] = (),
    history: History,
    settings: ReadSettings,
    report: Report,
) -> Iterator[Snapshot]:
    """Yield the states of all tags that the catalog's ``history`` lacks, in commit order.

    ``repository`` is a folder, or a URL whose clone is cached according to ``settings``; ``path``
    is the folder in it that contains the folders of tags. ``since`` excludes earlier commits, and
    ``tags`` (names or globs) all other tags.

    ``taken_at`` is the committer's time, ``source.version`` is the commit. A tag continues after
    its last commit in ``history``: earlier commits count as finished. Raises SourceError, with
    ``COMMIT:PATH`` as its location if a page is bad, and InvalidArgument.
    """
    folder = git.folder_path(path)
    with open_repository(repository, settings) as origin:
        commits = git.commits_of(origin, folder)
        published = _published_indexes(history, commits)
        newest = max(published.values(), default=-1)
        names: set[str] = set()
        trees: dict[str, str] = {}
        with closing(git.Objects(origin)) as objects:
            states = _States(objects, folder, origin.location, history, report)
            for index, commit in enumerate(commits):
                report.progress("reading commits", index, len(commits))
                before, trees = trees, states.folders(commit)
                names |= trees.keys()
                for tag in sorted(before.keys() | trees.keys()):
                    is_finished = index <= published.get(tag, -1) or (
                        since is not None and commit.time < utc(since)
                    )
                    is_selected = not tags or fits(tag, tags)
                    if is_selected and not is_finished and before.get(tag) != trees.get(tag):
                        is_new = index > newest
                        yield from states.snapshot(tag, trees.get(tag), commit, is_new=is_new)
        report.progress("reading commits", len(commits), len(commits))
        if not names or (not published and states.lack_pages):
            pages = "/".join(filter(None, (folder, "TAG/PACKAGE", PAGE_NAME)))
            raise SourceError(origin.location, f"has no cache pages: {pages}")
        if tags and not any(fits(name, tags) for name in names):
            known = ", ".join(sorted(names))
            raise InvalidArgument(
                "--tag", f"{' '.join(tags)} matches no tag of the pages ({known})"
            )


def _published_indexes(history: History, commits: Sequence[git.PagesCommit]) -> dict[str, int]:
    """Return, for each tag, the index of its last commit that is in the catalog."""
    indexes = {commit.hash: index for index, commit in enumerate(commits)}
    published: dict[str, int] = {}
    for revision in history.revisions:
        index = indexes.get(revision.source.version or "")
        if index is not None and revision.source.kind == GIT.name:
            published[revision.tag] = max(index, published.get(revision.tag, index))
    return published


class _PackagePage(msgspec.Struct, frozen=True):
    """A parsed page, with its specs as the content of the package."""

    page: cache_page.CachePage
    package: PackageContent


class _States(msgspec.Struct):
    """Creates snapshots of the tags' states that differ from those in the catalog.

    ``_pages`` has the pages that were parsed last, by the tree of their folder; None for a folder
    without a readable page. ``_digests`` has the digest of each tag's last state.
    """

    _objects: git.Objects
    _folder: str
    _location: str
    _history: History
    _report: Report
    _pages: dict[str, _PackagePage | None] = {}
    _digests: dict[str, str | None] = {}

    @property
    def lack_pages(self) -> bool:
        """Whether folders of tags were read, and none of them has a page."""
        is_bad = bool(self._report.skipped)
        return bool(self._digests) and not any(self._pages.values()) and not is_bad

    def folders(self, commit: git.PagesCommit) -> dict[str, str]:
        """Return the trees of the folders of tags in a commit. Raises SourceError."""
        if commit.tree is None:
            return {}
        return self._objects.folders(commit.tree, f"{commit.short}:{self._folder}")

    def snapshot(
        self, tag: str, tree: str | None, commit: git.PagesCommit, *, is_new: bool
    ) -> Iterator[Snapshot]:
        """Yield the state of a tag after a commit, if it differs from the previous one.

        ``tree`` is the tag's folder; None if it was removed. An empty state is a warning instead,
        but not in every run: only if ``is_new``, which means that no commit from this one on is in
        the catalog.
        """
        folder = "/".join(filter(None, (self._folder, tag)))
        pages = {} if tree is None else dict(self._pages_of(tree, f"{commit.short}:{folder}"))
        content = self._content(tag, pages)
        if tag not in self._digests:
            revision = self._history.at(tag, commit.time)
            self._digests[tag] = revision.digest if revision else None
        before = self._digests[tag]
        self._digests[tag] = digest = content.digest if content else None
        if digest is None and before is not None and is_new:
            self._report.warn(f"{tag}: commit {commit.short} leaves no spec; nothing published")
        if digest in (None, before):
            return
        source = Source(
            kind=GIT.name,
            location=self._location,
            version=commit.hash,
            importer=importer_name(),
            synthetic=any(page.page.synthetic for page in pages.values()),
        )
        yield Snapshot(tag=tag, content=content, source=source, taken_at=commit.time)

    def _pages_of(self, tree: str, location: str) -> Iterator[tuple[str, _PackagePage]]:
        """Yield the pages in the folder of a tag, each with its location."""
        for name, package in sorted(self._objects.folders(tree, location).items()):
            path = f"{location}/{name}/{PAGE_NAME}"
            if package not in self._pages:
                self._pages[package] = self._parsed(package, path)
            if page := self._pages[package]:
                yield path, page
        while len(self._pages) > _PAGES_IN_MEMORY:
            del self._pages[next(iter(self._pages))]

    def _parsed(self, package: str, location: str) -> _PackagePage | None:
        """Return the page in the folder of a package; None if there is none or it is bad."""
        try:
            blob = self._objects.file(package, PAGE_NAME, location)
            data = None if blob is None else self._objects.read(blob, location)
        except git.BadObject as error:
            self._report.bad(error)
            return None
        if data is None:
            return None
        try:
            page = cache_page.parse_page(data, location, self._report)
        except SourceError as error:
            self._report.bad(error)
            return None
        return _PackagePage(page, PackageContent(page.specs))

    def _content(self, tag: str, pages: Mapping[str, _PackagePage]) -> Content:
        """Return the content of a tag, given its pages by location.

        A folder that cannot name a tag, a page that states another one, and a repeated hash are
        bad: they raise SourceError, or are skipped.
        """
        packages: dict[str, PackageContent] = {}
        locations: dict[str, str] = {}
        for location, page in pages.items():
            try:
                check_tag(tag)
            except InvalidArgument as error:
                self._report.bad(SourceError(location, error.reason))
                continue
            if page.page.tag not in (None, tag):
                reason = f"states the tag {page.page.tag}, but is in a folder of {tag}"
                self._report.bad(SourceError(location, reason))
                continue
            name, package = page.page.name, page.package
            new, repeated = cache_page.split_repeated(package.specs, location, locations)
            for digest, first in repeated:
                where = "spec_details" if first == location else f"in {first}"
                reason = f"the hash {digest} appears twice ({where})"
                self._report.bad(SourceError(location, reason, key=name))
            if repeated or name in packages:
                package = PackageContent([*packages.get(name, PackageContent(())).specs, *new])
            packages[name] = package
        return Content(packages)
