"""The walk along commits: which pages stand after each, and the pages of which tags changed."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.refs import check_tag, fits, is_glob
from snapshots.sources.git.objects import Change, Commit
from snapshots.sources.git.pages import PageReader, TaggedPages
from snapshots.sources.pages import tag_in_path
from snapshots.sources.reports import Report

_UNCHANGED = -1


class TagSelection:
    """The tags to publish: those that one of the names or globs fits; all where there is none.

    ``default`` is the tag of pages that state none: the only name, if it is no glob.
    """

    def __init__(self, tags: Sequence[str]) -> None:
        self._tags = tags
        is_name = len(tags) == 1 and not is_glob(tags[0])
        self.default = tags[0] if is_name else None

    def __contains__(self, tag: str) -> bool:
        return not self._tags or fits(tag, self._tags)

    def __str__(self) -> str:
        return " ".join(self._tags)


class Published:
    """Up to which place on the line of commits a tag is done: nothing before it is yielded."""

    def __init__(self, places: Mapping[str, int], start: int) -> None:
        self._places = places
        self._start = start

    def until(self, tag: str) -> int:
        """Return the place of the tag's last commit that is done; -1 where none is."""
        return max(self._places.get(tag, self._start), self._start)


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
        commits: Sequence[Commit],
        published: Published,
        selection: TagSelection,
        reader: PageReader,
        report: Report,
    ) -> None:
        self.pages = TaggedPages(reader, report)
        self.tags_found: set[str] = set()
        """The tags of folders and pages so far, selected or not."""
        self._folder = folder
        self._commits = commits
        self._published = published
        self._selection = selection
        self._reader = reader
        self._report = report
        self._folders: dict[str, _PageFolder] = {}
        self._changed: dict[str, tuple[str | None, int]] = {}

    def apply(self, place: int, changes: Iterable[Change]) -> None:
        """Apply what the commit at a place of the line changed."""
        for below, blob, _ in changes:
            path = f"{self._folder}/{below}" if self._folder else below
            folder = self._page_folder(path, blob, place) if is_page(below) else None
            if folder is None or (folder.is_sure and folder.tag not in self._selection):
                continue
            if folder.deferred is not None and place > self._published.until(folder.tag):
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
        return sorted(
            (place, tag) for tag, place in places.items() if place > self._published.until(tag)
        )

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
            return None
        self.pages.put(path, tag, blob, location, page)
        return tag

    def _location(self, path: str, place: int) -> str:
        return f"{self._commits[place].short}:{path}"


def is_page(path: str) -> bool:
    """Tell whether a file can be a cache page: ``*.md``, but not hidden and no README."""
    *folders, name = path.split("/")
    if not name.endswith(".md") or name.lower() == "readme.md":
        return False
    return not any(part.startswith(".") for part in (*folders, name))
