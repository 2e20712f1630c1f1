"""From a location to snapshots: one index, one build cache, or the list of tags and stacks."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Raw

from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError
from snapshots.models import Source
from snapshots.program import importer_name
from snapshots.sources.addresses import Reached
from snapshots.sources.buildcache import layouts, oci, specs
from snapshots.sources.buildcache.bodies import GZIP_HEAD
from snapshots.sources.buildcache.decoding import decode_json, refuse_repeated_keys
from snapshots.sources.buildcache.layouts import FetchedIndex, Place
from snapshots.sources.buildcache.listings import read_specs
from snapshots.sources.buildcache.locations import (
    is_registry,
    is_url,
    public,
    resolve,
    resolve_listed,
)
from snapshots.sources.buildcache.lookalikes import explain
from snapshots.sources.buildcache.manifests import DOCUMENT_HEADS, cleartext
from snapshots.sources.buildcache.merging import Merged
from snapshots.sources.buildcache.oci import Registry, Repository
from snapshots.sources.buildcache.packages import read_packages
from snapshots.sources.buildcache.tags import Stack, chosen_tags, named_stacks, only_tag
from snapshots.sources.buildcache.transport import Transport
from snapshots.sources.files import open_regular
from snapshots.sources.parts import Found, PartRead, PartReader, ReadHere
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.spack.names import ROOT_STACK, is_name

_HEAD_BYTES = 4096


def recognise(location: str, settings: ReadSettings) -> bool:
    """Tell whether a location looks like an index, a build cache or a list of tags.

    Of a local path no more is looked at than which files there are and how one begins; nothing is
    fetched: an http(s):// or s3:// URL is taken for one unless it ends in .git, and any oci:// or
    oci+http:// URL. Raises nothing.
    """
    if is_registry(location):
        return True
    try:
        if is_url(location) or location[:5].lower() == "s3://":
            return not location.rstrip("/").endswith(".git")
        path = Path(resolve(location, settings))
        if path.is_dir():
            return layouts.holds_index(path)
        file, _ = open_regular(str(path))
        with file:
            head = file.read(_HEAD_BYTES).lstrip()
        is_packed = head.startswith(GZIP_HEAD) and layouts.is_blob(str(path))
        return is_packed or head.startswith(DOCUMENT_HEADS)
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
    """Read what lies at a folder, a file, or a URL; yield a Snapshot a tag.

    ``tags`` (names or globs) choose from a list of tags; for one index or build cache it is the
    one tag to publish under. With ``sizes``, the manifests of a layout 3 cache or a registry are
    read for the size and URL of each package. Raises SourceError, TagNeeded, and InvalidArgument
    for tags that cannot be used.
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
    if is_registry(location):
        repository = oci.repository_at(location, settings)
        published = RegistryTag(repository, only_tag(tags, location), sizes)
        yield from reader.here(published).snapshots
        return
    origin = resolve(location, settings)
    with Transport(settings, report, origin) as transport:
        place = layouts.locate(origin, transport)
        if place.cache is not None:
            only_tag(tags, location)  # its error comes before anything large is fetched
        reading = _Reading(_told(location, settings), transport, sizes=sizes)
        if place.is_listed:
            opened = _Opened(reading, only_tag(tags, location), partial(reading.list_specs, place))
            yield from reader.here(opened).snapshots
            return
        fetched = layouts.fetch(place, transport)
        data, version = fetched.load(transport)
        with fetched.body.forgotten_if_bad():
            listed = None if place.cache else _listed(data, location)
        if listed is None:
            tag = only_tag(tags, location)
            held = [data]
            del data

            def add(merged: Merged) -> str:
                reading.add(merged, None, fetched, held.pop())
                return version

            yield from reader.here(_Opened(reading, tag, add)).snapshots
            return
        reached = transport.reached
    parts = [
        ListedTag(
            location=location,
            origins=(origin,),
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


def labelled(location: str, settings: ReadSettings) -> Stack | None:
    """Return the stack that a location is given for, as STACK=LOCATION; None where it is for none.

    What stands before ``=`` has to be the name of a stack. A path that is there itself is taken as
    a whole, unless what stands behind ``=`` looks like an index or a build cache. Raises
    InvalidArgument where nothing stands behind it.
    """
    label, sign, rest = location.partition("=")
    if not is_name(label) or not sign:
        return None
    if not rest:
        if os.path.lexists(location):
            return None
        reason = f"{location} names a stack and no place; write {location}LOCATION, without a space"
        raise InvalidArgument("LOCATION", reason)
    if os.path.lexists(location) and not recognise(rest, settings):
        return None
    return Stack(label, rest)


def read_stacks_apart(
    stacks: Sequence[Stack],
    *,
    tags: Sequence[str] = (),
    sizes: bool = False,
    settings: ReadSettings,
    reader: PartReader[Found],
) -> Iterator[Found]:
    """Read indexes and build caches that the user names as the stacks of one revision.

    As in a public list each spec is in root, too: what that names if it is among them, otherwise
    the union of all. Raises what ``read`` does.
    """
    ordered = named_stacks(stacks)
    location = " ".join(f"{it.label}={_told(it.url, settings)}" for it in ordered)
    part = ListedTag(
        location=location,
        origins=[_origin(it.url, settings) for it in ordered],
        listed_in="",
        tag=only_tag(tags, location),
        stacks=ordered,
        sizes=sizes,
    )
    for found in reader.each([part]):
        yield from found.snapshots


def _origin(location: str, settings: ReadSettings) -> str:
    """Return the path or the http(s) URL at which reading a location begins."""
    if is_registry(location):
        return oci.repository_at(location, settings).url
    return resolve(location, settings)


def _told(location: str, settings: ReadSettings) -> str:
    """Return the location that a revision tells of itself: that of the view where it is of one."""
    if settings.view is None:
        return public(location)
    return f"{public(location).rstrip('/')}/{layouts.view_index(settings.view)}"


class _Opened:
    """The one index or build cache that lies at a location.

    ``add`` takes it in, and returns the version that was read.
    """

    def __init__(self, reading: "_Reading", tag: str, add: Callable[[Merged], str]) -> None:
        self._reading = reading
        self._tag = tag
        self._add = add

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:  # noqa: ARG002
        """Decode it; what is bad goes to the report of who opened it."""
        merged = Merged(self._reading.report)
        version = self._add(merged)
        found = self._reading.snapshot(self._tag, merged, version)
        return PartRead(list(found), frozenset([(self._tag, None)]))


class ListedTag(msgspec.Struct, frozen=True, kw_only=True):
    """A tag of the list at a location, with its stacks; ``reached`` is where reading that led.

    Of stacks that the user names ``listed_in`` is empty. Where none of them is root, the union of
    all is made one.
    """

    location: str
    origins: Sequence[str]
    listed_in: str
    tag: str
    stacks: list[Stack]
    sizes: bool
    reached: Reached | None = None

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:
        """Read the indexes of its stacks."""
        with Transport(settings, report, self.origins, self.reached) as transport:
            reading = _Reading(self.location, transport, sizes=self.sizes)
            merged, version = reading.merge(self.tag, self.stacks, self.listed_in)
            if not self.listed_in and all(it.label != ROOT_STACK for it in self.stacks):
                merged.add_to_all(ROOT_STACK)
            found = reading.snapshot(self.tag, merged, version)
            return PartRead(list(found), frozenset([(self.tag, None)]))


class RegistryTag(msgspec.Struct, frozen=True):
    """A repository of a registry, and the one tag that it is published under."""

    repository: Repository
    tag: str
    sizes: bool

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:
        """Read its index or, where it has none, the images of its specs."""
        with Transport(settings, report, self.repository.url) as transport:
            reading = _Reading(self.repository.location, transport, sizes=self.sizes)
            merged = Merged(report)
            version = reading.take_in(self.repository, merged)
            found = reading.snapshot(self.tag, merged, version)
            return PartRead(list(found), frozenset([(self.tag, None)]))


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

        def fetch(stack: Stack) -> FetchedIndex | Place | Repository:
            if not listed_in and is_registry(stack.url):
                return oci.repository_at(stack.url, self._transport.settings)
            location = resolve_listed(stack.url, listed_in, self._transport.settings)
            place = layouts.locate(location, self._transport)
            return place if place.is_listed else layouts.fetch(place, self._transport)

        merged = Merged(self.report)
        versions = hashlib.sha256()
        for done, (stack, result) in enumerate(self._transport.ahead(fetch, stacks)):
            self._transport.progress(f"reading {tag}", done, len(stacks))
            try:
                fetched = result.result()
                if isinstance(fetched, Repository):
                    version = self.take_in(fetched, merged, stack.label)
                elif isinstance(fetched, Place):
                    version = self.list_specs(fetched, merged, stack.label)
                else:
                    data, version = fetched.load(self._transport)
                    _check_index(data, fetched.place.location)
                    self.add(merged, stack.label, fetched, data)
                    del data
            except SourceError as error:
                self.report.bad(error)
                continue
            versions.update(f"{stack.label} {version}\n".encode())
        self._transport.progress(f"reading {tag}", len(stacks), len(stacks))
        return merged, f"sha256:{versions.hexdigest()}"

    def add(
        self, merged: Merged, stack: str | None, fetched: FetchedIndex, data: bytearray
    ) -> None:
        """Decode an index, with the older ones beside it, and take it in. Raises SourceError."""
        with ExitStack() as bodies:
            for it in (fetched, *fetched.older):
                bodies.enter_context(it.body.forgotten_if_bad())
            older = (it.load(self._transport)[0] for it in fetched.older)
            proof = self._transport.settings.proof
            found = specs.decode(
                data, fetched.place.location, self.report, older=older, proof=proof
            )
        merged.add(stack, found, fetched.place)

    def take_in(self, repository: Repository, merged: Merged, stack: str | None = None) -> str:
        """Take in a repository of a registry; return its version. Raises SourceError."""
        registry = Registry(repository, self._transport)
        fetched = registry.index()
        if fetched is None:
            found = registry.published()
            merged.add(stack, found.specs, registry.place, found.packages)
            return found.version
        data, version = fetched.load(self._transport)
        with fetched.body.forgotten_if_bad():
            proof = self._transport.settings.proof
            indexed = specs.decode(data, fetched.place.location, self.report, proof=proof)
        del data
        packages = registry.packages(indexed.in_cache.values()) if self._sizes else {}
        merged.add(stack, indexed, fetched.place, packages)
        return version

    def list_specs(self, place: Place, merged: Merged, stack: str | None = None) -> str:
        """Take in a build cache without an index; return its version. Raises SourceError."""
        assert place.cache is not None  # noqa: S101 - there are no specs outside of one
        found = read_specs(place.cache, place.location, self._transport)
        merged.add(stack, found.specs, place, found.packages)
        return found.version

    def snapshot(self, tag: str, merged: Merged, version: str) -> Iterator[Snapshot]:
        """Yield the snapshot of a tag, unless all that it has was skipped."""
        packages = merged.packages
        if self._sizes:
            packages = packages | read_packages(merged.by_cache(), self._transport)
        content = Content.of(merged.specs(packages), merged.outside())
        if content or not self.report.skipped:
            source = Source(
                kind="installation" if merged.is_installation else "index",
                location=public(self._location),
                version=version,
                importer=importer_name(),
            )
            proof = merged.proof() if self._transport.settings.proof else None
            yield Snapshot(tag=tag, content=content, source=source, proof=proof)


def _check_index(data: bytearray, location: str) -> None:
    """Raise SourceError for what plainly is no index."""
    if b'"database"' not in data[:_HEAD_BYTES] and _listed(data, location) is not None:
        reason = "is a list of tags, which have stacks themselves; name an index or a build cache"
        raise SourceError(location, reason)


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
