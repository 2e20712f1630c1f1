"""Files and folders of cache pages to snapshots, one per tag."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.models import Source, Spec
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits, is_glob
from snapshots.sources.files import unreadable
from snapshots.sources.pages.files import page_files, read_bytes
from snapshots.sources.pages.folders import folders_of_tags
from snapshots.sources.pages.page import Page, parse_page, tag_in_path
from snapshots.sources.parts import Found, NotApart, PartRead, PartReader, ReadHere
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings


def read(paths: Sequence[Path], *, tags: Sequence[str] = (), report: Report) -> Iterator[Snapshot]:
    """Read page files, and every page below the folders among the paths.

    ``tags`` (names or globs) select among the tags that the pages state. A single plain name that
    matches none of them is the tag to publish under, where the pages state one tag or none. Yields
    one Snapshot per tag. Raises SourceError, TagNeeded, and InvalidArgument for a tag that is not
    there.
    """
    reader = ReadHere(ReadSettings(), report, lambda snapshot: snapshot)
    return read_apart(paths, tags=tags, report=report, reader=reader, is_whole=True)


def read_apart(
    paths: Sequence[Path],
    *,
    tags: Sequence[str] = (),
    report: Report,
    reader: PartReader[Found],
    is_whole: bool = False,
) -> Iterator[Found]:
    """Have the same read by ``reader``, folder by folder of pages: ``TAG/PACKAGE/specs.md``.

    Raises NotApart where pages of a tag stand in several of them; some snapshots are out by then.
    With ``is_whole`` all pages are one part.
    """
    files = list(page_files(paths, report))
    location = ", ".join(map(str, paths))
    parts: list[PagesPart] = []
    first = 0
    for folder in [list(map(str, files))] if is_whole else folders_of_tags(files):
        parts.append(PagesPart(folder, location, tuple(tags), first, len(files)))
        first += len(folder)
    stated: set[str | None] = set()
    for found in reader.each(parts):
        if not stated.isdisjoint(found.tags):
            raise NotApart(location)
        stated |= found.tags
        yield from found.snapshots
    if len(parts) != 1:
        pairs = selected(stated, tags, location)
        if any(tag != of_pages for tag, of_pages in pairs):
            raise NotApart(location)


class PagesPart(msgspec.Struct, frozen=True):
    """Files of pages; ``first`` of the ``total`` that are read come before them.

    ``location`` is where all of the import comes from, and ``tags`` select as ``read`` says.
    """

    files: list[str]
    location: str
    tags: tuple[str, ...]
    first: int
    total: int

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:  # noqa: ARG002
        """Read those snapshots whose tags need not be chosen in sight of other parts."""
        gathered = self._gathered(report)
        if len(self.files) == self.total:
            pairs = selected(gathered.tags, self.tags, self.location)
        else:
            known = sorted(tag for tag in gathered.tags if tag is not None)
            pairs = [(tag, tag) for tag in known if not self.tags or fits(tag, self.tags)]
        return PartRead(list(gathered.snapshots(pairs)), gathered.tags)

    def _gathered(self, report: Report) -> "_TaggedSpecs":
        gathered = _TaggedSpecs(self.location, report)
        for done, name in enumerate(self.files, self.first):
            report.progress("reading pages", done, self.total)
            file = Path(name)
            try:
                gathered.add(parse_page(read_bytes(file), name, report), file)
            except SourceError as error:
                report.bad(error)
        report.progress("reading pages", self.first + len(self.files), self.total)
        return gathered


def selected(
    stated: Collection[str | None], tags: Sequence[str], location: str
) -> list[tuple[str, str | None]]:
    """Return pairs of the tag to publish under and the tag that the pages state.

    Raises TagNeeded, and InvalidArgument for tags that are not there.
    """
    known = sorted(tag for tag in stated if tag is not None)
    if not tags:
        if None in stated:
            raise TagNeeded(location)
        return [(tag, tag) for tag in known]
    fitting = [tag for tag in known if fits(tag, tags)]
    if fitting and None not in stated:
        return [(tag, tag) for tag in fitting]
    if len(tags) == 1 and len(stated) == 1 and not is_glob(tags[0]):
        (only,) = stated
        return [(check_tag(tags[0]), only)]
    names = ", ".join(known) or "none"
    reason = f"{' '.join(tags)} fits no tag of the pages ({names})"
    if None in stated and known:
        reason = f"some pages name no tag, others {names}: import them apart"
    raise InvalidArgument("--tag", reason)


def _absolute(file: Path) -> Path:
    try:
        return file.absolute()
    except OSError as error:  # the working directory was deleted
        raise unreadable(str(file), error) from None


class _TaggedSpecs:
    """Gathers the specs of pages by tag. A hash that a tag already has goes to ``report.bad``."""

    def __init__(self, location: str, report: Report) -> None:
        self._location = location
        self._report = report
        self._specs: defaultdict[str | None, list[Spec]] = defaultdict(list)
        self._files: defaultdict[str | None, dict[str, Path]] = defaultdict(dict)
        """The file that each hash of a tag was read from."""
        self._synthetic: set[str | None] = set()

    @property
    def tags(self) -> frozenset[str | None]:
        """The tags that the pages state."""
        return frozenset(self._specs)

    def add(self, page: Page, file: Path) -> None:
        tag = page.tag or tag_in_path(_absolute(file), page.name)
        specs, files = self._specs[tag], self._files[tag]
        if page.synthetic:
            self._synthetic.add(tag)
        hashes = dict.fromkeys((spec.hash for spec in page.specs), file)
        if len(hashes) == len(page.specs) and files.keys().isdisjoint(hashes):
            files.update(hashes)
            specs += page.specs
            return
        for spec in page.specs:
            first = files.get(spec.hash)
            if first is None:
                files[spec.hash] = file
                specs.append(spec)
                continue
            reason = f"the hash {spec.hash} stands there already"
            where = "spec_details" if first == file else f"in {first}"
            self._report.bad(SourceError(str(file), f"{reason} ({where})", key=page.name))

    def snapshots(self, pairs: Iterable[tuple[str, str | None]]) -> Iterator[Snapshot]:
        for tag, stated in pairs:
            if stated not in (None, tag):
                self._report.warn(f"{self._location}: says tag {stated}; published as {tag}")
            content = Content.of(self._specs[stated])
            source = Source(
                kind="pages",
                location=self._location,
                importer=importer_name(),
                synthetic=stated in self._synthetic,
            )
            if content:
                yield Snapshot(tag=tag, content=content, source=source)
            else:
                self._report.warn(f"{self._location}: no spec of {tag}; nothing to publish")
