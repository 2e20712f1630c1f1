"""Files and folders of cache pages to snapshots, one per tag."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.models import Source, Spec
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits, is_glob, tag_date
from snapshots.sources.pages.files import absolute, page_files, read_bytes
from snapshots.sources.pages.folders import folders_of_tags
from snapshots.sources.pages.page import Page, date_in_path, parse_page, tag_in_path
from snapshots.sources.parts import Found, NotApart, PartRead, PartReader, ReadHere, State
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings


def read(paths: Sequence[Path], *, tags: Sequence[str] = (), report: Report) -> Iterator[Snapshot]:
    """Read page files, and every page below the folders among the paths.

    ``tags`` (names or globs) select among the tags that the pages state. A single plain name that
    matches none of them is the tag to publish under, where the pages state one tag or none. Pages
    of a tag below folders named TAG-DATE are states of it, taken on those dates. Yields one
    Snapshot per tag and date. Raises SourceError, TagNeeded, and InvalidArgument for a tag that is
    not there.
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
    states: set[State] = set()
    for found in reader.each(parts):
        if not states.isdisjoint(found.states):
            raise NotApart(location)
        states |= found.states
        yield from found.snapshots
    if len(parts) != 1:
        pairs = selected({tag for tag, _ in states}, tags, location)
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
        return PartRead(list(gathered.snapshots(pairs)), gathered.states)

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


class _TaggedSpecs:
    """Gathers the specs of pages by tag and date.

    What one state of a tag cannot have goes to ``report.bad``: a hash twice, and a page of the same
    package in another folder where hashes are the same, which is of another state.
    """

    def __init__(self, location: str, report: Report) -> None:
        self._location = location
        self._report = report
        self._specs: defaultdict[State, list[Spec]] = defaultdict(list)
        self._places: defaultdict[State, dict[str, tuple[Path, str]]] = defaultdict(dict)
        """The file that each hash of a state was read from, and the package that it is about."""
        self._synthetic: set[State] = set()

    @property
    def states(self) -> frozenset[State]:
        """The tags that the pages state, with the dates that their folders have."""
        return frozenset(self._specs)

    @property
    def tags(self) -> frozenset[str | None]:
        """The tags that the pages state."""
        return frozenset(tag for tag, _ in self._specs)

    def add(self, page: Page, file: Path) -> None:
        path = absolute(file)
        tag = page.tag or tag_in_path(path, page.name)
        state = tag, date_in_path(path, tag) if tag else None
        specs, places = self._specs[state], self._places[state]
        if page.synthetic:
            self._synthetic.add(state)
        own = dict.fromkeys((spec.hash for spec in page.specs), (file, page.name))
        if len(own) == len(page.specs) and places.keys().isdisjoint(own):
            places.update(own)
            specs += page.specs
            return
        for first, name in (places[digest] for digest in own if digest in places):
            if name == page.name and _folder(first, name) != _folder(file, name):
                self._report.bad(_of_another_state(file, first, name, tag))
                return
        for spec in page.specs:
            first, _ = places.setdefault(spec.hash, (file, page.name))
            if first == file and spec.hash in own:
                del own[spec.hash]  # a second one on the page finds it gone
                specs.append(spec)
                continue
            reason = f"the hash {spec.hash} stands there already"
            where = "spec_details" if first == file else f"in {first}"
            self._report.bad(SourceError(str(file), f"{reason} ({where})", key=page.name))

    def snapshots(self, pairs: Iterable[tuple[str, str | None]]) -> Iterator[Snapshot]:
        for tag, stated in pairs:
            if stated not in (None, tag):
                self._report.warn(f"{self._location}: says tag {stated}; published as {tag}")
            states = [state for state in self._specs if state[0] == stated]
            if len(states) > 1 and tag_date(tag) is not None:
                reason = f"{tag} has one date, and the folders of {stated} have {len(states)}"
                raise InvalidArgument("--tag", f"{reason}: import them one by one")
            for state in sorted(states, key=_age):
                yield from self._snapshot(tag, state)

    def _snapshot(self, tag: str, state: State) -> Iterator[Snapshot]:
        content = Content.of(self._specs[state])
        source = Source(
            kind="pages",
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
    """Return a key that sorts states of a tag by date; what has none is the newest."""
    date = state[1]
    return date is None, date or datetime.min.replace(tzinfo=UTC)


def _folder(file: Path, name: str) -> Path:
    """Return the folder that is likely to hold all pages of a tag: ``FOLDER/PACKAGE/specs.md``."""
    return file.parent.parent if file.parent.name == name else file.parent


def _of_another_state(file: Path, first: Path, name: str, tag: str | None) -> SourceError:
    reason = f"{first} is a page of the same package and tag: one of them is of another state. "
    reason += "Import them one by one, each with --taken-at DATE"
    if tag is not None:
        reason += f", or from folders named by tag and date, such as {tag}-2025-01-05"
    return SourceError(str(file), reason, key=name)
