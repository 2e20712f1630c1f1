"""Reader of files and folders of cache pages, which returns one snapshot per tag and date."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISDIR, S_ISREG

import msgspec

from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.models import PAGES, Source, Spec
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits, is_glob, tag_date
from snapshots.sources.file_kinds import HEAD_BYTES, is_page
from snapshots.sources.inputs import open_regular, read_regular, unreadable, walk
from snapshots.sources.pages import cache_page
from snapshots.sources.pages.front_matter import MAX_PAGE_BYTES
from snapshots.sources.parts import PartExecutor, PartRead, ReadRequest, Result, State
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

# -- snapshots


def claimed(locations: Sequence[str], settings: ReadSettings) -> Sequence[str]:  # noqa: ARG001
    """Return the locations that are paths, which may contain pages."""
    return [location for location in locations if "://" not in location]


def read(
    locations: Sequence[str], request: ReadRequest, executor: PartExecutor[Result]
) -> Iterator[Result]:
    """Read pages, folder by folder: ``TAG/PACKAGE/specs.md``; yield their snapshots.

    All are read as one part if some have other names, or if a single tag is requested, under which
    pages of another one can be published. Raises SourceError for pages of one tag and date in
    several folders that are not read as one part.
    """
    paths = list(map(Path, locations))
    files = list(page_files(paths, executor.report))
    location = ", ".join(map(str, paths))
    folders: defaultdict[Path, list[str]] = defaultdict(list)
    for file in files:
        folders[file.parent.parent].append(str(file))
    is_whole = _may_rename(request.tags) or any(file.name != PAGE_NAME for file in files)
    groups = [list(map(str, files))] if is_whole else [*folders.values()]
    parts: list[PagesPart] = []
    first = 0
    for group in groups:
        parts.append(PagesPart(group, location, tuple(request.tags), first, len(files)))
        first += len(group)
    first_files: dict[State, Path] = {}
    for part, part_read in zip(parts, executor.each(parts), strict=True):
        file = Path(part.files[0])
        for state in part_read.states:
            if (earlier := first_files.setdefault(state, file)) != file:
                reason = f"is of the same tag as {earlier}, in another folder"
                raise SourceError(str(file), f"{reason}; --tag TAG reads all folders as one state")
        yield from part_read.snapshots
    selected({tag for tag, _ in first_files}, request.tags, location)


def _may_rename(tags: Sequence[str]) -> bool:
    """Return whether the requested tags are a name, under which pages of another tag can be."""
    return len(tags) == 1 and not is_glob(tags[0])


class PagesPart(msgspec.Struct, frozen=True):
    """Some files of pages; ``first`` of the ``total`` files of the import precede them.

    ``location`` is that of the entire import; ``tags`` are the requested names or globs.
    """

    files: list[str]
    location: str
    tags: tuple[str, ...]
    first: int
    total: int

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:  # noqa: ARG002
        """Read the snapshots of the requested tags. Raises TagNeeded and InvalidArgument."""
        collected = _TaggedSpecs(self.location, report)
        for done, name in enumerate(self.files, self.first):
            report.progress("reading pages", done, self.total)
            try:
                page = cache_page.parse_page(read_regular(name, MAX_PAGE_BYTES), name, report)
                collected.add(page, Path(name))
            except SourceError as error:
                report.bad(error)
        report.progress("reading pages", self.first + len(self.files), self.total)
        tags = {tag for tag, _ in collected.specs}
        if not self.tags or len(self.files) == self.total:
            pairs = selected(tags, self.tags, self.location)
        else:
            names = sorted(tag for tag in tags if tag is not None)
            pairs = [(tag, tag) for tag in names if fits(tag, self.tags)]
        return PartRead(list(collected.snapshots(pairs)), frozenset(collected.specs))


def selected(
    stated: Collection[str | None], tags: Sequence[str], location: str
) -> list[tuple[str, str | None]]:
    """Return pairs of the tag to publish and the tag that the pages state.

    Raises TagNeeded, and InvalidArgument for tags that do not exist.
    """
    named = sorted(tag for tag in stated if tag is not None)
    if not tags:
        if None in stated:
            raise TagNeeded(location)
        return [(tag, tag) for tag in named]
    fitting = [tag for tag in named if fits(tag, tags)]
    if fitting and None not in stated:
        return [(tag, tag) for tag in fitting]
    if _may_rename(tags) and len(stated) == 1:
        (only,) = stated
        return [(check_tag(tags[0]), only)]
    names = ", ".join(named) or "none"
    reason = f"{' '.join(tags)} matches no tag of the pages ({names})"
    if None in stated and named:
        reason = f"some pages name no tag, others {names}: import them separately"
    raise InvalidArgument("--tag", reason)


class _TaggedSpecs(msgspec.Struct):
    """Collects the specs of pages by tag and date.

    Contradictions within a state are passed to ``report.bad``: a repeated hash, and a page of
    another state, which is one in another folder with the same package and hashes. ``specs`` has
    the tags that the pages state, with the dates of their folders; ``_files`` has, for each hash
    of a state, the file that contains it and the package of that file.
    """

    _location: str
    _report: Report
    specs: dict[State, list[Spec]] = {}
    _files: dict[State, dict[str, tuple[Path, str]]] = {}
    _synthetic: set[State] = set()

    def add(self, page: cache_page.CachePage, file: Path) -> None:
        """Add a page. Raises SourceError for one of another state than others of its tag."""
        path = absolute(file)
        tag = page.tag or cache_page.tag_in_path(path, page.name)
        state = tag, cache_page.date_in_path(path, tag) if tag else None
        specs = self.specs.setdefault(state, [])
        files = self._files.setdefault(state, {})
        if page.synthetic:
            self._synthetic.add(state)
        for first, name in (files[spec.hash] for spec in page.specs if spec.hash in files):
            if name == page.name and _folder(first, name) != _folder(file, name):
                raise _other_state(file, first, name, tag)
        new, repeated = cache_page.split_repeated(page.specs, (file, page.name), files)
        specs += new
        for digest, (first, _) in repeated:
            where = "spec_details" if first == file else f"in {first}"
            reason = f"the hash {digest} appears twice ({where})"
            self._report.bad(SourceError(str(file), reason, key=page.name))

    def snapshots(self, pairs: Iterable[tuple[str, str | None]]) -> Iterator[Snapshot]:
        for tag, stated in pairs:
            if stated not in (None, tag):
                self._report.warn(f"{self._location}: says tag {stated}; published as {tag}")
            states = [state for state in self.specs if state[0] == stated]
            if len(states) > 1 and tag_date(tag) is not None:
                reason = f"{tag} has one date, and the folders of {stated} have {len(states)}"
                raise InvalidArgument("--tag", f"{reason}: import them one by one")
            for state in sorted(states, key=_age):
                yield from self._snapshot(tag, state)

    def _snapshot(self, tag: str, state: State) -> Iterator[Snapshot]:
        content = Content.of(self.specs[state])
        source = Source(
            kind=PAGES.name,
            location=self._location,
            importer=importer_name(),
            synthetic=state in self._synthetic,
        )
        if content:
            taken_at = None if tag_date(tag) else state[1]
            yield Snapshot(tag=tag, content=content, source=source, taken_at=taken_at)
        else:
            self._report.warn(f"{self._location}: no spec of {tag}; nothing to publish")


def _age(state: State) -> tuple[bool, datetime]:
    """Return a sort key of a tag's states by date; a state without a date is the newest."""
    date = state[1]
    return date is None, date or datetime.min.replace(tzinfo=UTC)


def _folder(file: Path, name: str) -> Path:
    """Return the folder likely to contain all pages of a tag: ``FOLDER/PACKAGE/specs.md``."""
    return file.parent.parent if file.parent.name == name else file.parent


def _other_state(file: Path, first: Path, name: str, tag: str | None) -> SourceError:
    reason = f"{first} is a page of the same package and tag: one of them is of another state. "
    reason += "Import them one by one, each with --taken-at DATE"
    if tag is not None:
        reason += f", or from folders named by tag and date, such as {tag}-2025-01-05"
    return SourceError(str(file), reason, key=name)


# -- the files

PAGE_NAME = "specs.md"
"""The name of every page on the website; a damaged file with this name is still a page."""


def page_files(paths: Sequence[Path], report: Report) -> Iterator[Path]:
    """Yield the files among the paths, and every page below the folders among them.

    A file that is reached by several paths is yielded once. Raises SourceError for a path that does
    not exist or a folder without a page; an unreadable folder is passed to ``report.bad``.
    """
    seen: set[str] = set()
    for path in paths:
        try:
            mode = path.stat().st_mode
            real_path = os.path.realpath(path)
        except (FileNotFoundError, ValueError):  # ValueError: the path contains a NUL
            raise SourceError(str(path), "does not exist") from None
        except OSError as error:
            raise unreadable(str(path), error) from None
        pages = [str(path)]
        if S_ISDIR(mode):
            num_skipped = len(report.skipped)
            pages = sorted(_pages_below(str(path), report), key=lambda page: page.split(os.sep))  # noqa: PTH206
            if not pages and len(report.skipped) == num_skipped:
                reason = "has no cache pages, and is not a build cache or an installation's folder"
                raise SourceError(str(path), reason)
        for page in pages:
            is_link = os.path.islink(page)  # noqa: PTH114 - pathlib is several times slower
            real = os.path.realpath(page) if is_link else real_path + page[len(str(path)) :]
            if real not in seen:
                seen.add(real)
                yield Path(page)


def absolute(file: Path) -> Path:
    """Return the absolute path of a file. Raises SourceError without a working directory."""
    try:
        return file.absolute()
    except OSError as error:
        raise unreadable(str(file), error) from None


def _pages_below(folder: str, report: Report) -> Iterator[str]:
    """Yield the paths of the pages below a folder.

    Pages are recognized by the beginning of a file. Links to folders are not followed; hidden files
    and folders are ignored. Markdown files that are not pages are passed to ``report.warn``.
    """

    def skip(error: OSError) -> None:
        report.bad(unreadable(error.filename, error))

    for parent, folders, names in walk(folder, skip):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - pathlib is several times slower
            if not name.startswith(".") and _is_page(path, name, report):
                yield path


def _is_page(path: str, name: str, report: Report) -> bool:
    """Return whether a file is a page, by its name or, under any other name, by its content.

    The content is validated only when the page is read.
    """
    is_markdown = name.endswith(".md") and name.lower() != "readme.md"
    try:
        if name == PAGE_NAME or not S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
            return is_markdown
        file, _ = open_regular(path)
        with file:
            head = file.read(HEAD_BYTES)
    except FileNotFoundError:  # a dangling link
        return is_markdown
    except OSError as error:
        report.bad(unreadable(path, error))
        return False
    except SourceError as error:
        report.bad(error)
        return False
    # A page truncated by a crash, empty or filled with zeros, must not be ignored as another file.
    if is_page(head) or (is_markdown and (not head or b"\0" in head)):
        return True
    if is_markdown:
        report.warn(f"{path}: is not a cache page, and is skipped")
    return False
