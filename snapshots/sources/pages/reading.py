"""Files and folders of cache pages to snapshots, one per tag."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.models import Source, Spec
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits, is_glob
from snapshots.sources.files import unreadable
from snapshots.sources.pages.files import page_files, read_bytes
from snapshots.sources.pages.page import Page, parse_page, tag_in_path
from snapshots.sources.reports import Report


def read(paths: Sequence[Path], *, tags: Sequence[str] = (), report: Report) -> Iterator[Snapshot]:
    """Read page files, and every page below the folders among the paths.

    ``tags`` (names or globs) select among the tags that the pages state. A single plain name that
    matches none of them is the tag to publish under, where the pages state one tag or none. Yields
    one Snapshot per tag. Raises SourceError, TagNeeded, and InvalidArgument for a tag that is not
    there.
    """
    files = list(page_files(paths, report))
    location = ", ".join(map(str, paths))
    gathered = _TaggedSpecs(location, report)
    for done, file in enumerate(files):
        report.progress("reading pages", done, len(files))
        try:
            page = parse_page(read_bytes(file), str(file), report)
            gathered.add(page, file)
        except SourceError as error:
            report.bad(error)
    report.progress("reading pages", len(files), len(files))
    yield from gathered.snapshots(tags)


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
        self._synthetic = False

    def add(self, page: Page, file: Path) -> None:
        tag = page.tag or tag_in_path(_absolute(file), page.name)
        specs, files = self._specs[tag], self._files[tag]
        self._synthetic |= page.synthetic
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

    def snapshots(self, tags: Sequence[str]) -> Iterator[Snapshot]:
        source = Source(
            kind="pages",
            location=self._location,
            importer=importer_name(),
            synthetic=self._synthetic,
        )
        for tag, stated in self._selected(tags):
            content = Content.of(self._specs[stated])
            if content:
                yield Snapshot(tag=tag, content=content, source=source)
            else:
                self._report.warn(f"{self._location}: no spec of {tag}; nothing to publish")

    def _selected(self, tags: Sequence[str]) -> Iterable[tuple[str, str | None]]:
        """Return pairs of the tag to publish under and the tag that the pages state."""
        stated = sorted(tag for tag in self._specs if tag is not None)
        if not tags:
            if None in self._specs:
                raise TagNeeded(self._location)
            return [(tag, tag) for tag in stated]
        fitting = [tag for tag in stated if fits(tag, tags)]
        if fitting and None not in self._specs:
            return [(tag, tag) for tag in fitting]
        if len(tags) == 1 and len(self._specs) == 1 and not is_glob(tags[0]):
            tag = check_tag(tags[0])
            (only,) = self._specs
            if only is not None:
                self._report.warn(f"{self._location}: says tag {only}; published as {tag}")
            return [(tag, only)]
        known = ", ".join(stated) or "none"
        reason = f"{' '.join(tags)} fits no tag of the pages ({known})"
        if None in self._specs and stated:
            reason = f"some pages name no tag, others {known}: import them apart"
        raise InvalidArgument("--tag", reason)
