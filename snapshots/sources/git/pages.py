"""The pages of one state of a repository: parsed once a blob, gathered by tag."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

from snapshots.contents import Content, PackageContent
from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.git.objects import BadBlob, Blobs
from snapshots.sources.pages import Page, parse_page
from snapshots.sources.reports import Report

MAX_PAGE_BYTES = 32 << 20
"""How many bytes the pages of several tags may have whose records stay in memory.

Records take some four times as much as the pages that they are read from.
"""


class BlobPage:
    """A page without its place: what one blob of so many bytes says."""

    def __init__(self, page: Page, num_bytes: int) -> None:
        self.num_bytes = num_bytes
        self.name = page.name
        self.tag = page.tag
        self.synthetic = page.synthetic
        self.package = PackageContent(page.specs)
        self.hashes = frozenset(spec.hash for spec in page.specs)


class PageReader:
    """Parses blobs, each once as long as some state holds its page.

    What is wrong with a blob goes to the report once, however many commits and paths have it.
    """

    def __init__(self, blobs: Blobs, report: Report) -> None:
        self._blobs = blobs
        self._report = report
        self._pages: WeakValueDictionary[str, BlobPage] = WeakValueDictionary()
        self._reported: set[str] = set()
        self._old_pages = 0

    def read(self, blob: str, location: str) -> BlobPage | None:
        """Return a blob's page; None where it is bad and the report lets that pass.

        Raises SourceError, naming ``location``, where the report does not.
        """
        page = self._pages.get(blob)
        if page is None:
            page = self._parse(blob, location)
            if page is not None:
                self._pages[blob] = page
        return page

    def peek(self, blob: str, location: str) -> Page | None:
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


class _Place(NamedTuple):
    """Where a page is read from; ``location`` names it in errors."""

    blob: str
    location: str


class TaggedPages:
    """The pages that stand at the moment, by tag and path.

    Their records stay in memory for the tags used last, within ``MAX_PAGE_BYTES``, or one tag's.
    Those of others are read again when they are asked for.
    """

    def __init__(self, reader: PageReader, report: Report) -> None:
        self._reader = reader
        self._report = report
        self._places: defaultdict[str, dict[str, _Place]] = defaultdict(dict)
        self._tags: dict[str, str] = {}
        self._loaded: OrderedDict[str, dict[str, BlobPage]] = OrderedDict()
        self._num_bytes = 0
        self._reported: set[tuple[str, str]] = set()

    def put(self, path: str, tag: str, blob: str, location: str, page: BlobPage) -> None:
        """Let a page stand at a path where none does."""
        self._tags[path] = tag
        self._places[tag][path] = _Place(blob, location)
        self._load(tag, path, page)
        self._unload_others()

    def remove(self, path: str) -> str | None:
        """Remove the page at a path and return the tag that it had; None where there is none."""
        tag = self._tags.pop(path, None)
        if tag is not None:
            del self._places[tag][path]
            page = self._loaded.get(tag, {}).pop(path, None)
            self._num_bytes -= page.num_bytes if page else 0
        return tag

    def _load(self, tag: str, path: str, page: BlobPage) -> None:
        self._loaded.setdefault(tag, {})[path] = page
        self._loaded.move_to_end(tag)
        self._num_bytes += page.num_bytes

    def _unload_others(self) -> None:
        """Let go of records of the tags that were used longest ago, as long as there are others."""
        while self._num_bytes > MAX_PAGE_BYTES and len(self._loaded) > 1:
            _, pages = self._loaded.popitem(last=False)
            self._num_bytes -= sum(page.num_bytes for page in pages.values())

    def _pages_of(self, tag: str) -> Mapping[str, BlobPage]:
        """Return all pages of a tag."""
        for path, place in self._places[tag].items():
            if path not in self._loaded.get(tag, ()):
                page = self._reader.read(*place)
                if page is not None:
                    self._load(tag, path, page)
        if tag not in self._loaded:
            return {}
        self._loaded.move_to_end(tag)
        self._unload_others()
        return self._loaded[tag]

    def is_synthetic(self, tag: str) -> bool:
        """Tell whether any page of a tag says that its data are made up."""
        return any(page.synthetic for page in self._pages_of(tag).values())

    def content(self, tag: str, commit: str) -> Content:
        """Return what a tag holds; ``commit`` names the state in errors.

        A hash that stands there twice is bad: raises SourceError, or leaves the later one out.
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
            specs: list[Spec] = []
            for spec in page.package.specs:
                first = paths.setdefault(spec.hash, path)
                if first == path and (not specs or specs[-1].hash != spec.hash):
                    specs.append(spec)
                elif (path, spec.hash) not in self._reported:
                    where = "spec_details" if first == path else f"in {first}"
                    reason = f"the hash {spec.hash} stands there already ({where})"
                    self._report.bad(SourceError(f"{commit}:{path}", reason, key=page.name))
                    self._reported.add((path, spec.hash))
            whole = len(specs) == len(page.package.specs)
            yield page.name, page.package if whole else PackageContent(specs)
