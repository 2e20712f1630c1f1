"""Reader of indexes, build caches, and lists of tags and stacks, which returns snapshots.

The list of a public cache is ``{TAG: [{"label": STACK, "url": URL of the stack's index}, ...],
...}``. The indexes of one tag, one per stack, are merged: each spec once, with the stacks that
contain it.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

import msgspec
from msgspec import Raw

from snapshots import models
from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.program import importer_name
from snapshots.refs import check_tag, fits
from snapshots.sources.buildcache import database, layouts, oci
from snapshots.sources.buildcache.oci import Registry
from snapshots.sources.file_kinds import HEAD_BYTES, FileKind, is_json, kind_of, text_of
from snapshots.sources.inputs import decode_json, open_regular
from snapshots.sources.locations import is_registry, is_url, link, public, resolve, resolve_listed
from snapshots.sources.parts import PartExecutor, PartRead, ReadRequest, Result
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.sources.transport import Transport
from snapshots.spack.names import ITEMS_MAX, ROOT_STACK, is_name
from snapshots.texts import counted, few, nearest_hint, nearest_names, quoted

# -- the list of tags and stacks

_MAX_TAGS = 20


class StackIndex(msgspec.Struct, frozen=True):
    """A stack of a tag in the list: its name and the location of its index."""

    label: str
    url: str


def only_tag(tags: Sequence[str], location: str) -> str:
    """Return the tag for a location that does not state one.

    ``tags`` are those that the user requested. Raises TagNeeded if there is none, and
    InvalidArgument if there are several, or if it is not a valid tag.
    """
    if not tags:
        raise TagNeeded(location)
    if len(tags) > 1:
        raise InvalidArgument("--tag", f"{location} is one build cache: name one tag")
    return check_tag(tags[0])


def chosen_tags(
    listed: Mapping[str, Raw], tags: Sequence[str], location: str, report: Report
) -> Iterator[tuple[str, list[StackIndex]]]:
    """Yield the listed tags that match one of ``tags`` (names or globs), with their stacks.

    If ``tags`` is empty, all listed ones match. Raises InvalidArgument for a name or glob that
    matches none. An error in a tag is passed to ``report.bad``.
    """
    for name in tags:
        if not any(fits(tag, [name]) for tag in listed):
            names = _tags_for_error(sorted(listed), name)
            raise InvalidArgument("--tag", f"{name} matches no tag of {location} ({names})")
    for tag, raw in listed.items():
        if not tags or fits(tag, tags):
            try:
                yield tag, _stacks(tag, raw, location)
            except SourceError as error:
                report.bad(error)


def _tags_for_error(tags: Sequence[str], name: str) -> str:
    """Return tags for an error: the first ones if there are many, and those similar to a name."""
    hint = nearest_hint(nearest_names(name, tags)) if len(tags) > _MAX_TAGS else ""
    return (few(tags, _MAX_TAGS) or "none") + hint


def _stacks(tag: str, raw: Raw, location: str) -> list[StackIndex]:
    """Return the stacks of a tag, in order."""
    try:
        check_tag(tag)
    except InvalidArgument as error:
        raise SourceError(location, error.reason, key=tag) from None
    stacks = decode_json(raw, list[StackIndex], location, tag)
    if not stacks:
        raise SourceError(location, "lists no stacks", key=tag)
    if len(stacks) > ITEMS_MAX:
        reason = f"lists {len(stacks):,} stacks, more than {ITEMS_MAX:,}"
        raise SourceError(location, reason, key=tag)
    for position, stack in enumerate(stacks):
        if not is_name(stack.label):
            reason = f"{quoted(stack.label)} cannot name a stack"
            raise SourceError(location, reason, key=f"{tag}[{position}].label")
    return in_order(stacks)


def in_order(stacks: Iterable[StackIndex]) -> list[StackIndex]:
    """Return the stacks, each once, with root first, so that its packages take precedence."""
    distinct = dict.fromkeys(stacks)
    return sorted(distinct, key=lambda stack: (stack.label != ROOT_STACK, stack.label))


# -- merged indexes

_NONE: Mapping[str, layouts.BinaryPackage] = {}


class MergedIndexes:
    """The specs of several indexes; a contradiction to an earlier one is passed to ``report.bad``.

    ``is_installation`` is true if one of them is the database of an installation. ``packages``
    contains the packages known so far, by hash; ``unproven`` is that of ``IndexSpecs``, in which
    a hash that any index proves is proven.
    """

    def __init__(self, report: Report) -> None:
        self.is_installation = False
        self._report = report
        self._specs: dict[str, models.Spec] = {}
        self._outside: dict[str, models.Spec] = {}
        self._homes: dict[str, layouts.IndexLocation] = {}
        self._stacks: defaultdict[str, set[str]] = defaultdict(set)
        self.unproven: dict[str, models.UnprovenReason | None] = {}
        self._rewritten: set[str] = set()
        self.packages: dict[str, layouts.BinaryPackage] = {}

    def add(
        self,
        stack: str | None,
        specs: database.IndexSpecs,
        home: layouts.IndexLocation,
        packages: Mapping[str, layouts.BinaryPackage] = _NONE,
    ) -> None:
        """Add one index, with the ``packages`` found while it was read, by hash.

        Facts that one index lacks are completed from the others. The package of a spec is the first
        one found, or else in the cache of the first index with the spec. For a spec outside the
        cache, the first index that states a fact determines it.
        """
        self.is_installation |= specs.is_installation
        for digest, spec in specs.outside.items():
            if self._contradicts(digest, spec, specs, home):
                continue
            first = self._outside.setdefault(digest, spec)
            self._outside[digest] = _completed(first, spec)
        for digest, spec in specs.in_cache.items():
            if self._contradicts(digest, spec, specs, home):
                continue
            first = self._specs.setdefault(digest, spec)
            if first is spec:
                self._homes[digest] = home
            elif first != spec:
                completed = _completed(first, spec)
                if completed != _completed(spec, first):
                    self._report.bad(self._conflict(first, spec, home))
                    continue
                self._specs[digest] = completed
            if digest in packages and digest not in self.packages:
                self._homes[digest], self.packages[digest] = home, packages[digest]
            if stack is not None:
                self._stacks[digest].add(stack)
            if digest in specs.unproven:
                database.record_proof(self.unproven, digest, specs.unproven[digest])

    def _contradicts(
        self,
        digest: str,
        spec: models.Spec,
        specs: database.IndexSpecs,
        home: layouts.IndexLocation,
    ) -> bool:
        """Return whether a record contradicts an earlier one, and one of them is rewritten."""
        if specs.unproven.get(digest) is models.UnprovenReason.REWRITTEN:
            self._rewritten.add(digest)
        first = self._specs.get(digest) or self._outside.get(digest)
        if first is None or digest not in self._rewritten:
            return False
        error = database.contradiction(first, spec, home.location, f"installs.{digest}")
        if error is not None:
            self._report.bad(error)
        return error is not None

    def add_to_all(self, stack: str) -> None:
        """Add every spec to a stack."""
        for digest in self._specs:
            self._stacks[digest].add(stack)

    def by_cache(self) -> Mapping[layouts.BuildCache | None, Sequence[models.Spec]]:
        """Return the specs whose package is not known, by the build cache of the package.

        The key None is an unknown build cache.
        """
        specs: defaultdict[layouts.BuildCache | None, list[models.Spec]] = defaultdict(list)
        for digest, spec in self._specs.items():
            if digest not in self.packages:
                specs[self._homes[digest].cache].append(spec)
        return specs

    def specs(self, packages: Mapping[str, layouts.BinaryPackage]) -> Iterator[models.Spec]:
        """Yield each spec with its stacks, and the size and URL of its package if known."""
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        for digest, spec in self._specs.items():
            stacks = tuple(sorted(self._stacks[digest]))
            cache = self._homes[digest].cache
            package = packages.get(digest)
            tarball = cache.tarball(spec) if cache else None
            if package and package.path and cache:
                tarball = link(cache.base, package.path)
            yield msgspec.structs.replace(
                spec,
                stacks=shared.setdefault(stacks, stacks),
                size=package.size if package else None,
                tarball=tarball,
                checksum=package.checksum if package else None,
            )

    def outside(self) -> Iterator[models.Spec]:
        """Yield the direct and transitive dependencies of specs in the cache that are not in it.

        A spec that is in the cache according to one index is in the cache, regardless of the
        others.
        """
        seen: set[str] = set()
        pending = _dependency_hashes(self._specs.values())
        while pending:
            seen |= pending
            specs = [
                self._outside[digest]
                for digest in pending
                if digest in self._outside and digest not in self._specs
            ]
            yield from specs
            pending = _dependency_hashes(specs) - seen

    def _conflict(
        self, first_spec: models.Spec, spec: models.Spec, home: layouts.IndexLocation
    ) -> SourceError:
        for field in models.Spec.__struct_fields__:
            before, now = getattr(first_spec, field), getattr(spec, field)
            is_unknown = models.SPEC_FACTS[field].may_be_unknown and None in (before, now)
            if before != now and not is_unknown:
                break
        first = self._homes[spec.hash].location
        reason = f"{field} is {now!r}, but {before!r} in {first}"
        return SourceError(home.location, reason, key=f"installs.{spec.hash}")


def _completed(spec: models.Spec, other: models.Spec) -> models.Spec:
    """Return a spec, completed with facts that only another record of it has.

    The hash covers neither the explicit request nor the time of installation, so that two
    installations may differ in these: the spec is explicit if one of them says so, and the earlier
    time of installation is used. Of two spellings, which Spack may have rewritten, the first in
    order is used.
    """
    facts = {
        name: value
        for name, fact in models.SPEC_FACTS.items()
        if fact.may_be_unknown
        and getattr(spec, name) is None
        and (value := getattr(other, name)) is not None
    }
    if spec.explicit is not None and other.explicit is not None:
        facts["explicit"] = spec.explicit or other.explicit
    if spec.installed_at is not None and other.installed_at is not None:
        facts["installed_at"] = min(spec.installed_at, other.installed_at)
    if spec.spelling is not None and other.spelling is not None:
        facts["spelling"] = min(spec.spelling, other.spelling)
    return msgspec.structs.replace(spec, **facts) if facts else spec


def _dependency_hashes(specs: Iterable[models.Spec]) -> set[str]:
    return {edge.hash for spec in specs for edge in spec.dependencies or ()}


# -- locations


def is_recognized(location: str, settings: ReadSettings) -> bool:
    """Return whether a location looks like an index, a build cache or a list of tags.

    For a local path, only file names and the beginning of a file are read. Nothing is fetched:
    every http(s):// or s3:// URL qualifies unless it ends in .git, and so does every oci:// or
    oci+http:// URL. Raises no errors.
    """
    if is_registry(location):
        return True
    try:
        if is_url(location):
            return not location.rstrip("/").endswith(".git")
        path = Path(resolve(location, settings))
        if path.is_dir():
            return layouts.looks_like_build_cache(path)
        file, _ = open_regular(str(path))
        with file:
            return is_json(file.read(HEAD_BYTES))
    except (SourceError, OSError, ValueError):
        return False


def claimed(locations: Sequence[str], settings: ReadSettings) -> Sequence[str]:
    """Return the recognized locations; all if any has the form STACK=LOCATION."""
    if any(named_stack(location, settings) for location in locations):
        return locations
    return [location for location in locations if is_recognized(location, settings)]


def read(
    locations: Sequence[str], request: ReadRequest, executor: PartExecutor[Result]
) -> Iterator[Result]:
    """Read locations, tag by tag if one is a list of tags; yield their snapshots."""
    stacks = [named_stack(location, executor.settings) for location in locations]
    named = [stack for stack in stacks if stack is not None]
    if named:
        if len(named) < len(stacks):
            alone = locations[stacks.index(None)]
            reason = f"{alone} names no stack, unlike {named[0].label}={named[0].url};"
            advice = "write each as STACK=LOCATION, or import them one by one"
            raise InvalidArgument("LOCATION", f"{reason} {advice}")
        yield from _read_named_stacks(named, request, executor)
        return
    for location in locations:
        yield from _read_location(location, request, executor)


def _read_location(
    location: str, request: ReadRequest, executor: PartExecutor[Result]
) -> Iterator[Result]:
    tags, settings, report = request.tags, executor.settings, executor.report
    origin = _origin(location, settings)
    with Transport(settings, report, [origin]) as transport:
        reading = _Reading(transport, sizes=request.sizes)
        index = reading.locate(location)
        if index.cache is not None:
            only_tag(tags, location)  # raises its errors before anything large is fetched
        merged = MergedIndexes(report)
        try:
            version = reading.take(index, reading.fetch(index), merged)
        except _TagList as error:
            listed = error.tags
        else:
            source = index.location if is_registry(location) else public(location)
            snapshots = reading.snapshot(source, only_tag(tags, location), merged, version)
            yield from map(executor.make, snapshots)
            return
    parts = [
        ListedTag(
            location=location,
            origins=(origin,),
            listed_in=index.location,
            tag=tag,
            stacks=stacks,
            sizes=request.sizes,
        )
        for tag, stacks in chosen_tags(listed, tags, location, report)
    ]
    for part_read in executor.each(parts):
        yield from part_read.snapshots


def named_stack(location: str, settings: ReadSettings) -> StackIndex | None:
    """Return the stack of a location of the form STACK=LOCATION; None for any other form.

    The text before ``=`` must be the name of a stack. A path that exists as a whole is not split,
    unless the text after ``=`` looks like an index or a build cache. Raises InvalidArgument if
    there is no text after ``=``.
    """
    label, sign, rest = location.partition("=")
    if not is_name(label) or not sign:
        return None
    if not rest:
        if os.path.lexists(location):
            return None
        reason = f"{location} names no location; write {location}LOCATION, without a space"
        raise InvalidArgument("LOCATION", reason)
    if os.path.lexists(location) and not is_recognized(rest, settings):
        return None
    return StackIndex(label, rest)


def _read_named_stacks(
    stacks: Sequence[StackIndex], request: ReadRequest, executor: PartExecutor[Result]
) -> Iterator[Result]:
    """Read indexes and build caches that the user names as the stacks of one revision.

    As in a public list, each spec is also in root: the index with this name, or else the union of
    all. Raises the errors of reading each of them.
    """
    if len(stacks) > ITEMS_MAX:
        raise InvalidArgument("LOCATION", f"there are more than {ITEMS_MAX:,} stacks")
    ordered, settings = in_order(stacks), executor.settings
    location = " ".join(f"{stack.label}={public(stack.url)}" for stack in ordered)
    part = ListedTag(
        location=location,
        origins=[_origin(stack.url, settings) for stack in ordered],
        listed_in="",
        tag=only_tag(request.tags, location),
        stacks=ordered,
        sizes=request.sizes,
    )
    for part_read in executor.each([part]):
        yield from part_read.snapshots


def _origin(location: str, settings: ReadSettings) -> str:
    """Return the path or http(s) URL at which reading a location begins."""
    if is_registry(location):
        return oci.repository_at(location, settings).url
    return resolve(location, settings)


class CacheDifference(msgspec.Struct, frozen=True):
    """The difference between an index and the files of its build cache.

    - location: The location of the index.
    - num_specs: The number of specs that the index lists.
    - unlisted: The hashes of specs that the index lacks.
    - gone: The hashes of specs that it lists although the cache no longer has them.
    - is_known: Whether the files could be listed.
    """

    location: str
    num_specs: int
    unlisted: Set[str] = frozenset()
    gone: Set[str] = frozenset()
    is_known: bool = True

    @property
    def is_sound(self) -> bool:
        """Whether the index lists exactly the specs of the cache."""
        return self.is_known and not self.unlisted and not self.gone

    def reasons(self) -> Iterator[str]:
        """Yield what is wrong with the index, with the number of specs."""
        if self.unlisted:
            yield f"lacks {counted(len(self.unlisted), 'spec')} of the cache"
        if self.gone:
            yield f"lists {counted(len(self.gone), 'spec')} that the cache no longer has"


def compare_with_cache(location: str, settings: ReadSettings, report: Report) -> CacheDifference:
    """Compare the index of a build cache with the files of the cache.

    Raises SourceError if the location has no index, if its files cannot be listed, and for the
    errors of reading an index.
    """
    with Transport(settings, report, [_origin(location, settings)]) as transport:
        reading = _Reading(transport, sizes=False)
        index = reading.locate(location)
        fetched = reading.fetch(index)
        if fetched is None:
            raise SourceError(location, "has no index to compare with the files of the cache")
        specs, _ = reading.decode(index, fetched)
        difference = reading.compare(index, specs)
    if not difference.is_known:
        reason = "the files of its build cache cannot be listed, so that its index is not compared"
        raise SourceError(location, f"{reason}; name the folder, bucket or registry of the cache")
    return difference


class ListedTag(msgspec.Struct, frozen=True, kw_only=True):
    """A tag of the list at ``listed_in``, with its stacks.

    For stacks named by the user, ``listed_in`` is empty; if none of them is root, it is created as
    the union of all.
    """

    location: str
    origins: Sequence[str]
    listed_in: str
    tag: str
    stacks: list[StackIndex]
    sizes: bool

    def read(self, settings: ReadSettings, report: Report) -> PartRead[Snapshot]:
        """Read the indexes of the tag's stacks."""
        with Transport(settings, report, self.origins) as transport:
            reading = _Reading(transport, sizes=self.sizes, lists_caches=not self.listed_in)
            merged, version = reading.merge(self.tag, self.stacks, self.listed_in)
            if not self.listed_in and all(stack.label != ROOT_STACK for stack in self.stacks):
                merged.add_to_all(ROOT_STACK)
            snapshots = reading.snapshot(self.location, self.tag, merged, version)
            return PartRead(list(snapshots), frozenset([(self.tag, None)]))


class _TagList(SourceError):
    """A location contains a list, not an index; ``tags`` has the stacks of each tag."""

    def __init__(self, location: str, tags: Mapping[str, Raw]) -> None:
        reason = "is a list of tags, which have stacks themselves; name an index or a build cache"
        super().__init__(location, reason)
        self.tags = tags


class _Reading:
    """The state of reading a location, shared by all of its tags.

    With ``lists_caches``, indexes are compared with the files in their caches.
    """

    def __init__(self, transport: Transport, *, sizes: bool, lists_caches: bool = True) -> None:
        self._transport = transport
        self._lists_caches = lists_caches
        self._num_unlisted = 0
        self.report = transport.report
        self._sizes = sizes
        self._registries: dict[layouts.IndexLocation, Registry] = {}

    def merge(
        self, tag: str, stacks: Sequence[StackIndex], listed_in: str
    ) -> tuple[MergedIndexes, str]:
        """Return the merged indexes of a tag's stacks, and a version that covers all of them.

        Several are fetched at a time, but they are decompressed and decoded one after another, so
        that only one of them is in memory.
        """

        def fetch(stack: StackIndex) -> tuple[layouts.IndexLocation, layouts.FetchedIndex | None]:
            index = self.locate(stack.url, listed_in)
            return index, self.fetch(index)

        merged = MergedIndexes(self.report)
        versions = hashlib.sha256()

        def take(
            stack: StackIndex, fetched: tuple[layouts.IndexLocation, layouts.FetchedIndex | None]
        ) -> None:
            version = self.take(*fetched, merged, stack.label)
            versions.update(f"{stack.label} {version}\n".encode())

        self._transport.each(f"reading {tag}", fetch, stacks, len(stacks), take)
        return merged, f"sha256:{versions.hexdigest()}"

    def locate(self, location: str, listed_in: str = "") -> layouts.IndexLocation:
        """Find an index by its location, which can be in a list. Raises SourceError."""
        settings = self._transport.settings
        if not listed_in and is_registry(location):
            registry = Registry(oci.repository_at(location, settings), self._transport)
            self._registries[registry.index_location] = registry
            return registry.index_location
        return layouts.locate(resolve_listed(location, listed_in, settings), self._transport)

    def fetch(self, index: layouts.IndexLocation) -> layouts.FetchedIndex | None:
        """Download an index; None if the build cache has none. Raises SourceError."""
        if registry := self._registries.get(index):
            return registry.index()
        return None if index.is_listed else layouts.fetch(index, self._transport)

    def take(
        self,
        index: layouts.IndexLocation,
        fetched: layouts.FetchedIndex | None,
        merged: MergedIndexes,
        stack: str | None = None,
    ) -> str:
        """Add a location's specs, given the result of ``fetch``; return their version.

        Raises SourceError, and its subclass _TagList if it is a list of tags.
        """
        registry = self._registries.get(index)
        if fetched is None:
            listed = (
                registry.published() if registry else layouts.read_specs(index, self._transport)
            )
            merged.add(stack, listed.specs, index, listed.packages)
            return listed.version
        specs, version = self.decode(index, fetched)
        if self._lists_caches and not layouts.is_view(index.location):
            difference = self.compare(index, specs)
            self._num_unlisted += len(difference.unlisted)
            for reason in difference.reasons():
                self.report.warn(f"{index.location}: {reason}")
        packages = registry.packages(specs.in_cache.values()) if registry and self._sizes else {}
        merged.add(stack, specs, index, packages)
        return version

    def decode(
        self, index: layouts.IndexLocation, fetched: layouts.FetchedIndex
    ) -> tuple[database.IndexSpecs, str]:
        """Return the specs of an index, and its version. Raises the errors of ``take``."""
        try:
            data, version = fetched.load(self._transport)
            data = text_of(data, index.location, self._transport.settings.max_index_bytes)
            tags = _listed(data, index.location)
            if tags is None:
                older = (each.load(self._transport)[0] for each in fetched.older)
                proof = self._transport.settings.proof
                specs = database.decode(data, index.location, self.report, older=older, proof=proof)
        except SourceError:
            # Otherwise, every later run would find a truncated body unchanged, and fail as well.
            for each in (fetched, *fetched.older):
                each.body.forget()
            raise
        if tags is not None:
            raise _TagList(index.location, tags)
        return specs, version

    def compare(self, index: layouts.IndexLocation, specs: database.IndexSpecs) -> CacheDifference:
        """Return the difference between an index and the files of its cache."""
        registry = self._registries.get(index)
        hashes: Set[str] = frozenset()
        if registry:
            hashes = registry.listed_hashes()
        elif index.cache is not None:
            hashes = layouts.listed_hashes(index.cache, self._transport)
        listed = specs.in_cache.keys()
        if not hashes:
            return CacheDifference(index.location, len(listed), is_known=False)
        return CacheDifference(index.location, len(listed), hashes - listed, listed - hashes)

    def snapshot(
        self, location: str, tag: str, merged: MergedIndexes, version: str
    ) -> Iterator[Snapshot]:
        """Yield the snapshot of a tag, unless all of its specs were skipped.

        Raises SourceError for one without specs, unless the settings allow it.
        """
        packages = merged.packages
        if self._sizes:
            packages = packages | layouts.read_packages(merged.by_cache(), self._transport)
        content = Content.of(merged.specs(packages), merged.outside())
        is_empty = not content and not self.report.skipped
        if is_empty and not self._transport.settings.allow_empty:
            beside = self._num_unlisted
            reason = f", while the cache has {counted(beside, 'spec')}" if beside else ""
            raise SourceError(location, f"lists no specs{reason}; --allow-empty publishes it")
        if content or not self.report.skipped:
            source = models.Source(
                kind=(models.INSTALLATION if merged.is_installation else models.INDEX).name,
                location=public(location),
                version=version,
                importer=importer_name(),
            )
            proof = self._transport.settings.proof
            counts = models.ProofCounts.of(merged.unproven.values()) if proof else None
            yield Snapshot(tag=tag, content=content, source=source, proof=counts)


_INSTEAD = (
    "import the index.json that describes the whole build cache, or the build cache itself "
    "(its folder or URL)"
)


def _listed(data: bytes | bytearray, location: str) -> dict[str, Raw] | None:
    """Return the tags of a list with their stacks; None for an index. Raises SourceError."""
    if b'"database"' in data[:HEAD_BYTES]:
        return None
    kind = kind_of(data)
    if kind is FileKind.INDEX:
        return None
    if kind not in (FileKind.TAG_LIST, None):
        refusal = kind.instead_of("the index of a build cache")
        raise SourceError(location, f"{refusal}; {_INSTEAD}")
    try:
        return decode_json(data, dict[str, Raw], location)
    except SourceError as error:
        forms = 'an index ({"database": ...}) nor a list of tags ({TAG: [{"label", "url"}]})'
        raise SourceError(location, f"is neither {forms}: {error.reason}") from None
