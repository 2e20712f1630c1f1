"""A build cache's own description: one index, one build cache, or the list of tags and stacks.

The list is what the public cache offers: ``{TAG: [{"label": STACK, "url": URL of its index}]}``.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import msgspec

from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.models import Source, Spec
from snapshots.refs import check_tag
from snapshots.sources import index, layouts
from snapshots.sources.importer import importer_name
from snapshots.sources.index import Index
from snapshots.sources.layouts import Cache, FetchedIndex
from snapshots.sources.manifests import link, read_packages
from snapshots.sources.reports import Report
from snapshots.sources.transport import ReadSettings, Transport, is_url, resolve
from snapshots.spack import ROOT_STACK, is_name

_HEAD_BYTES = 4096
_DOCUMENT_HEADS = (b"{", b"-----BEGIN PGP SIGNED MESSAGE-----")


class Stack(msgspec.Struct, frozen=True):
    """A stack of a tag in the list of tags: its name and where its index lies."""

    label: str
    url: str


def recognise(location: str, settings: ReadSettings) -> bool:
    """Tell whether a location looks like an index, a build cache or a list of tags.

    Of a local path no more is looked at than which files there are and how one begins; nothing is
    fetched: an http(s):// URL is taken for one unless it ends in .git, an s3:// URL always.
    """
    try:
        place = resolve(location, settings)
    except SourceError:
        return False
    if is_url(place):
        return not urlsplit(place).path.rstrip("/").endswith(".git")
    path = Path(place)
    if path.is_dir():
        return layouts.holds_index(path)
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES).lstrip().startswith(_DOCUMENT_HEADS)
    except OSError:
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
    with Transport(settings, report) as transport:
        reading = _Reading(location, sizes, transport, report)
        place = layouts.locate(resolve(location, settings), transport)
        if place.cache is not None:
            reading.only_tag(tags)
        fetched = layouts.fetch(place, transport)
        data, version = fetched.load(settings.max_index_bytes, report)
        if place.cache is not None or index.is_index(data):
            tag = reading.only_tag(tags)
            with fetched.body.discarded_if_bad():
                content = index.decode(data, place.location, report)
            del data
            yield reading.single(tag, content, version, place.cache)
            return
        with fetched.body.discarded_if_bad():
            listed = _parse_list(data, location)
        for tag, stacks in _choose(listed, tags, location):
            snapshot = reading.stacks(tag, stacks, place.location)
            if snapshot is not None:
                yield snapshot


class _Reading:
    """One reading of a location: what all its tags share."""

    def __init__(self, location: str, sizes: bool, transport: Transport, report: Report) -> None:
        self._location = location
        self._sizes = sizes
        self._transport = transport
        self._report = report

    def only_tag(self, tags: Sequence[str]) -> str:
        """Return the tag for a location that says none of its own."""
        if not tags:
            raise TagNeeded(self._location)
        if len(tags) > 1:
            raise InvalidArgument("--tag", f"{self._location} is one build cache: name one tag")
        return check_tag(tags[0])

    def single(self, tag: str, content: Index, version: str, cache: Cache | None) -> Snapshot:
        """Return the snapshot of one index without a stack."""
        merged = _Merged(self._report)
        merged.add(None, content, self._location, cache)
        return self._snapshot(tag, merged, version)

    def stacks(self, tag: str, stacks: Sequence[Stack], list_location: str) -> Snapshot | None:
        """Return the snapshot of a tag, or None if none of its stacks could be read.

        The indexes are fetched several at a time, and unpacked and decoded one after another, so
        only one of them is in memory.
        """
        settings = self._transport.settings
        merged = _Merged(self._report)
        versions: list[str] = []
        pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="indexes")
        try:
            ordered = sorted(stacks, key=lambda stack: (stack.label != ROOT_STACK, stack.label))
            futures = [pool.submit(self._fetch, stack.url, list_location) for stack in ordered]
            for done, (stack, future) in enumerate(zip(ordered, futures, strict=True)):
                self._report.progress(f"reading {tag}", done, len(futures))
                try:
                    fetched = future.result()
                    data, version = fetched.load(settings.max_index_bytes, self._report)
                    with fetched.body.discarded_if_bad():
                        content = index.decode(data, fetched.place.location, self._report)
                except SourceError as error:
                    self._report.bad(error)
                    continue
                del data
                merged.add(stack.label, content, fetched.place.location, fetched.place.cache)
                versions.append(f"{stack.label} {version}\n")
        except BaseException:
            self._transport.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        if not versions:
            return None
        combined = hashlib.sha256("".join(versions).encode()).hexdigest()
        return self._snapshot(tag, merged, f"sha256:{combined}")

    def _fetch(self, url: str, list_location: str) -> FetchedIndex:
        location = resolve(url, self._transport.settings)
        if not is_url(location):
            location = _relative(location, url, list_location)
        return layouts.fetch(layouts.locate(location, self._transport), self._transport)

    def _snapshot(self, tag: str, merged: "_Merged", version: str) -> Snapshot:
        packages = {}
        if self._sizes:
            packages = read_packages(merged.by_base(layout=3), self._transport, self._report)
        specs = []
        for spec, stacks, cache in merged.results():
            package = packages.get(spec.hash)
            tarball = cache.tarball(spec) if cache else None
            if package and cache:
                tarball = link(cache.base, package.path)
            size = package.size if package else None
            specs.append(msgspec.structs.replace(spec, stacks=stacks, size=size, tarball=tarball))
        source = Source(
            kind="index", location=self._location, version=version, importer=importer_name()
        )
        return Snapshot(tag=tag, content=Content.of(specs), source=source)


class _Merged:
    """The specs of several indexes of one tag, each once, with the stacks whose index names it.

    A stack's index may name a spec that it takes from another cache (``in_buildcache`` false
    there). The cache pages count the spec to that stack, and so does this.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._specs: dict[str, Spec] = {}
        self._homes: dict[str, tuple[str, Cache | None]] = {}
        self._named: list[tuple[str, frozenset[str]]] = []

    def add(self, stack: str | None, content: Index, location: str, cache: Cache | None) -> None:
        """Take in one index. The first one that has a spec is where its package is taken from."""
        home = (location, cache)
        if stack is not None:
            self._named.append((stack, content.named))
        for digest, spec in content.specs.items():
            known = self._specs.setdefault(digest, spec)
            if known is spec:
                self._homes[digest] = home
            elif known != spec:
                self._report.bad(self._conflict(known, spec, location))

    def results(self) -> Iterator[tuple[Spec, tuple[str, ...], Cache | None]]:
        """Yield each spec with its stacks, sorted, and the cache that its package lies in."""
        named = sorted(self._named)
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        for digest, spec in self._specs.items():
            stacks = tuple(dict.fromkeys(stack for stack, hashes in named if digest in hashes))
            yield spec, shared.setdefault(stacks, stacks), self._homes[digest][1]

    def by_base(self, layout: int) -> Mapping[str, Sequence[Spec]]:
        """Return the specs by the build cache that they lie in, of the caches of one layout."""
        found: dict[str, list[Spec]] = {}
        for digest, spec in self._specs.items():
            cache = self._homes[digest][1]
            if cache is not None and cache.layout == layout:
                found.setdefault(cache.base, []).append(spec)
        return found

    def _conflict(self, known: Spec, spec: Spec, location: str) -> SourceError:
        for field in Spec.__struct_fields__:
            before, now = getattr(known, field), getattr(spec, field)
            if before != now:
                break
        home = self._homes[spec.hash][0]
        reason = f"{field} is {now!r}, but {before!r} in {home}"
        return SourceError(location, reason, key=f"installs.{spec.hash}")


def _parse_list(data: bytearray, location: str) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        form = 'an index ({"database": ...}) nor a list of tags ({TAG: [{"label", "url"}]})'
        raise SourceError(location, f"is neither {form}: {error}") from None


def _choose(
    listed: Mapping[str, msgspec.Raw], wanted: Sequence[str], location: str
) -> Iterator[tuple[str, list[Stack]]]:
    for want in wanted:
        if not any(fnmatchcase(tag, want) for tag in listed):
            known = ", ".join(sorted(listed)) or "none"
            raise InvalidArgument("--tag", f"{want} fits no tag of {location} ({known})")
    for tag, raw in listed.items():
        if not wanted or any(fnmatchcase(tag, want) for want in wanted):
            yield tag, _stacks(tag, raw, location)


def _stacks(tag: str, raw: msgspec.Raw, location: str) -> list[Stack]:
    try:
        check_tag(tag)
        stacks = index.decode_json(raw, list[Stack], location, tag)
    except InvalidArgument as error:
        raise SourceError(location, error.reason, key=tag) from None
    if not stacks:
        raise SourceError(location, "lists no stacks", key=tag)
    for position, stack in enumerate(stacks):
        if not is_name(stack.label):
            reason = f"{stack.label!r} cannot name a stack"
            raise SourceError(location, reason, key=f"{tag}[{position}].label")
    return stacks


def _relative(path: str, url: str, list_location: str) -> str:
    """Return where an index lies that the list names by a path: relative to the list itself.

    A list from the net cannot name a local file.
    """
    if not is_url(list_location):
        return str(Path(list_location).parent / path)
    location = urljoin(list_location, url)
    if not is_url(location):
        raise SourceError(list_location, f"names the local file {url}")
    return location
