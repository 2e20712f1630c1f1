"""From a location to snapshots: one index, one build cache, or the list of tags and stacks."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw

from snapshots.contents import Content, Snapshot
from snapshots.errors import SourceError
from snapshots.models import Source
from snapshots.program import importer_name
from snapshots.sources.addresses import Reached
from snapshots.sources.buildcache import layouts, specs
from snapshots.sources.buildcache.decoding import decode_json, refuse_repeated_keys
from snapshots.sources.buildcache.layouts import FetchedIndex
from snapshots.sources.buildcache.locations import is_url, public, resolve, resolve_listed
from snapshots.sources.buildcache.lookalikes import explain
from snapshots.sources.buildcache.manifests import DOCUMENT_HEADS, cleartext
from snapshots.sources.buildcache.merging import Merged
from snapshots.sources.buildcache.packages import read_packages
from snapshots.sources.buildcache.tags import Stack, chosen_tags, only_tag
from snapshots.sources.buildcache.transport import Transport
from snapshots.sources.files import open_regular
from snapshots.sources.parts import Found, PartRead, PartReader, ReadHere
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

_HEAD_BYTES = 4096


def recognise(location: str, settings: ReadSettings) -> bool:
    """Tell whether a location looks like an index, a build cache or a list of tags.

    Of a local path no more is looked at than which files there are and how one begins; nothing is
    fetched: an http(s):// or s3:// URL is taken for one unless it ends in .git. Raises nothing.
    """
    try:
        if is_url(location) or location[:5].lower() == "s3://":
            return not location.rstrip("/").endswith(".git")
        path = Path(resolve(location, settings))
        if path.is_dir():
            return layouts.holds_index(path)
        file, _ = open_regular(str(path))
        with file:
            return file.read(_HEAD_BYTES).lstrip().startswith(DOCUMENT_HEADS)
    except (SourceError, OSError, ValueError):
        return False


def read(
    location: str,
    *,
    tags: Sequence[str] = (),
    sizes: bool = False,
    settings: ReadSettings,
    report: Report,
) -> Iterator[Snapshot]:
    """Read what lies at a folder, a file, or an http(s):// or s3:// URL; yield a Snapshot a tag.

    ``tags`` (names or globs) choose from a list of tags; for one index or build cache it is the
    one tag to publish under. With ``sizes``, the manifests of a layout 3 cache are read for the
    size and URL of each package. Raises SourceError, TagNeeded, and InvalidArgument for tags that
    cannot be used.
    """
    reader = ReadHere(settings, report, lambda snapshot: snapshot)
    return read_apart(
        location, tags=tags, sizes=sizes, settings=settings, report=report, reader=reader
    )


def read_apart(
    location: str,
    *,
    tags: Sequence[str] = (),
    sizes: bool = False,
    settings: ReadSettings,
    report: Report,
    reader: PartReader[Found],
) -> Iterator[Found]:
    """Read the same as ``read``, tag by tag of a list."""
    origin = resolve(location, settings)
    with Transport(settings, report, origin) as transport:
        place = layouts.locate(origin, transport)
        if place.cache is not None:
            only_tag(tags, location)  # its error comes before anything large is fetched
        fetched = layouts.fetch(place, transport)
        data, version = fetched.load(transport)
        with fetched.body.forgotten_if_bad():
            listed = None if place.cache else _listed(data, location)
        if listed is None:
            tag = only_tag(tags, location)
            index = _OpenIndex(_Reading(location, transport, sizes=sizes), tag, fetched, version)
            index.data = data
            del data
            yield from reader.here(index).snapshots
            return
        reached = transport.reached
    parts = [
        ListedTag(
            location=location,
            origin=origin,
            listed_in=place.location,
            tag=tag,
            stacks=stacks,
            sizes=sizes,
            reached=reached,
        )
        for tag, stacks in chosen_tags(listed, tags, location, report)
    ]
    for found in reader.each(parts):
        yield from found.snapshots


class _OpenIndex:
    """The one index that lies at a location."""

    def __init__(self, reading: "_Reading", tag: str, fetched: FetchedIndex, version: str) -> None:
        self.data = bytearray()
        self._reading = reading
        self._tag = tag
        self._fetched = fetched
        self._version = version

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:  # noqa: ARG002
        """Decode it; what is bad goes to the report of who opened it."""
        merged = Merged(self._reading.report)
        data, self.data = self.data, bytearray()
        self._reading.add(merged, None, self._fetched, data)
        del data
        found = self._reading.snapshot(self._tag, merged, self._version)
        return PartRead(list(found), frozenset([self._tag]))


class ListedTag(msgspec.Struct, frozen=True, kw_only=True):
    """A tag of the list at a location, with its stacks; ``reached`` is where reading that led."""

    location: str
    origin: str
    listed_in: str
    tag: str
    stacks: list[Stack]
    sizes: bool
    reached: Reached

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:
        """Read the indexes of its stacks."""
        with Transport(settings, report, self.origin, self.reached) as transport:
            reading = _Reading(self.location, transport, sizes=self.sizes)
            merged, version = reading.merge(self.tag, self.stacks, self.listed_in)
            found = reading.snapshot(self.tag, merged, version)
            return PartRead(list(found), frozenset([self.tag]))


class _Reading:
    """One reading of a location: what all its tags share."""

    def __init__(self, location: str, transport: Transport, *, sizes: bool) -> None:
        self._location = location
        self._transport = transport
        self.report = transport.report
        self._sizes = sizes

    def merge(self, tag: str, stacks: Sequence[Stack], listed_in: str) -> tuple[Merged, str]:
        """Return what the indexes of a tag's stacks hold, and a version that stands for them all.

        They are fetched several at a time, and unpacked and decoded one after another, so only one
        of them is in memory.
        """

        def fetch(stack: Stack) -> FetchedIndex:
            location = resolve_listed(stack.url, listed_in, self._transport.settings)
            return layouts.fetch(layouts.locate(location, self._transport), self._transport)

        merged = Merged(self.report)
        versions = hashlib.sha256()
        for done, (stack, result) in enumerate(self._transport.ahead(fetch, stacks)):
            self._transport.progress(f"reading {tag}", done, len(stacks))
            try:
                fetched = result.result()
                data, version = fetched.load(self._transport)
                self.add(merged, stack.label, fetched, data)
            except SourceError as error:
                self.report.bad(error)
                continue
            del data
            versions.update(f"{stack.label} {version}\n".encode())
        self._transport.progress(f"reading {tag}", len(stacks), len(stacks))
        return merged, f"sha256:{versions.hexdigest()}"

    def add(
        self, merged: Merged, stack: str | None, fetched: FetchedIndex, data: bytearray
    ) -> None:
        """Decode an index and take it in. Raises SourceError."""
        with fetched.body.forgotten_if_bad():
            found = specs.decode(data, fetched.place.location, self.report)
        merged.add(stack, found, fetched.place)

    def snapshot(self, tag: str, merged: Merged, version: str) -> Iterator[Snapshot]:
        """Yield the snapshot of a tag, unless all that it has was skipped."""
        packages = {}
        if self._sizes:
            packages = read_packages(merged.by_cache(), self._transport)
        content = Content.of(merged.specs(packages), merged.outside())
        if content or not self.report.skipped:
            source = Source(
                kind="index",
                location=public(self._location),
                version=version,
                importer=importer_name(),
            )
            yield Snapshot(tag=tag, content=content, source=source)


def _listed(data: bytearray, location: str) -> dict[str, Raw] | None:
    """Return the tags of a list with their stacks; None for an index. Raises SourceError."""
    try:
        outer = decode_json(cleartext(data, location), dict[str, Raw], location)
    except SourceError as error:
        forms = 'an index ({"database": ...}) nor a list of tags ({TAG: [{"label", "url"}]})'
        raise SourceError(location, f"is neither {forms}: {error.reason}") from None
    if "database" in outer:
        return None
    if reason := explain(outer):
        raise SourceError(location, reason)
    refuse_repeated_keys(cleartext(data, location), location)
    return outer
