"""Entries of a site: packages, stacks, specs and hashes that have pages; and its search index."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TypeVar
from urllib.parse import unquote

import msgspec
import orjson

from server.pages.addresses import path_of
from server.site.queries import Role, SiteRevisions
from snapshots.catalog.library import Library
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.pairings import states_stacks
from snapshots.errors import CatalogError, IncompleteHistory
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.texts import counted, versioned

INDEX_FILE = "search-index.js"
"""The file of the search index: a script, because pages on a disk can load only scripts."""

_MAX_NAME_LENGTH = 200

Subject = TypeVar("Subject")


class SiteEntry(msgspec.Struct, frozen=True):
    """A subject with pages at ``addresses``, described by ``kind``, ``value`` and ``detail``.

    The search index links to the first address. It omits entries without a ``value``.
    """

    addresses: list[str]
    kind: str = ""
    value: str = ""
    detail: str = ""


def entries(library: Library, chosen: SiteRevisions, limit: int) -> list[SiteEntry]:
    """Return the entries of a site, at most ``limit`` of each kind except commits.

    These are the packages of the catalog; the packages, stacks and specs of the newest revision of
    each series; the hashes that its comparisons removed; and the commits that explain them. Data
    that cannot be read have no entries.
    """
    history = chosen.history
    newest = [of_series[0] for of_series in chosen.revisions.values()]
    pairs = [
        (history.resolve(pair[Role.BASE]), history.resolve(pair[Role.HEAD]))
        for pair in chosen.comparisons
    ]

    def of_each(
        list_entries: Callable[[Library, Subject], Iterator[SiteEntry]], *subjects: Subject
    ) -> Iterator[SiteEntry]:
        for subject in subjects:
            with suppress(CatalogError, IncompleteHistory):
                yield from list_entries(library, subject)

    listed = [
        *_series(chosen),
        *islice(of_each(_packages, history), limit),
        *islice(of_each(_packages_of, *newest), limit),
        *islice(of_each(_stacks, *newest), limit),
        *islice(of_each(_specs, *newest), limit),
        *islice(of_each(_removed, *pairs), limit),
        *of_each(_commits, *pairs),
    ]
    return [entry for entry in listed if _can_be_files(entry.addresses)]


def index_script(found: Iterable[tuple[SiteEntry, str]]) -> bytes:
    """Return the search index as a script, from entries and the links to their pages."""
    rows = {
        entry.addresses[0]: [entry.kind, entry.value, entry.detail, link] for entry, link in found
    }
    return b"globalThis.searchIndex = " + orjson.dumps(list(rows.values())) + b";\n"


def _can_be_files(addresses: Iterable[str]) -> bool:
    """Return whether names in addresses are valid file names: sources choose names of stacks."""
    names = [unquote(part) for address in addresses for part in address.split("/")[1:]]
    return all(
        0 < len(name.encode()) <= _MAX_NAME_LENGTH
        and name.strip(".")
        and name.isprintable()
        and "/" not in name
        for name in names
    )


def _series(chosen: SiteRevisions) -> Iterator[SiteEntry]:
    """Yield the entries of a site's series, and of its tags with their newest revisions."""
    by_tag: dict[str, RevisionInfo] = {}
    for name, revisions in chosen.revisions.items():
        detail = counted(len(revisions), "revision")
        yield SiteEntry([path_of("series", name)], "series", name, detail)
        by_tag |= {revision.tag: revision for revision in reversed(revisions)}
    for tag, revision in by_tag.items():
        detail = counted(revision.num_specs, "spec")
        yield SiteEntry([path_of("r", revision.ref)], "revision", tag, detail)


def _packages(library: Library, history: History) -> Iterator[SiteEntry]:
    for name, package in library.history_queries.all_packages(history).items():
        what = "removed, last" if package.is_gone else package.best.versions[0]
        addresses = [path_of("packages", name), path_of("packages", name, "availability")]
        detail = f"{what} in {package.best.last_seen.tag}"
        yield SiteEntry(addresses, "package", name, detail)


def _packages_of(library: Library, revision: RevisionInfo) -> Iterator[SiteEntry]:
    for name in library.frames.get(revision.digest).packages:
        yield SiteEntry([path_of("r", revision.ref, "packages", name)])


def _stacks(library: Library, revision: RevisionInfo) -> Iterator[SiteEntry]:
    frame = library.frames.get(revision.digest)
    if not states_stacks(frame):
        return
    for name, num_specs in frame.stacks.item_counts(slice(None)):
        detail = f"{counted(num_specs, 'spec')} in {revision.tag}"
        yield SiteEntry([path_of("r", revision.ref, "stacks", name)], "stack", name, detail)


def _specs(library: Library, revision: RevisionInfo) -> Iterator[SiteEntry]:
    frame = library.frames.get(revision.digest)
    for row in range(len(frame)):
        yield _hash(frame, row, path_of("r", revision.ref, "specs", frame.hashes.at(row)))


def _removed(library: Library, pair: tuple[RevisionInfo, RevisionInfo]) -> Iterator[SiteEntry]:
    comparison = library.compare(*pair)
    for row in comparison.specs.select([SpecChangeKind.REMOVED]).before.tolist():
        yield _hash(comparison.base, row)


def _commits(library: Library, pair: tuple[RevisionInfo, RevisionInfo]) -> Iterator[SiteEntry]:
    attribution = library.recipes_change(*pair).attribution
    for effect in () if attribution is None else attribution.effects():
        yield SiteEntry([path_of("commits", effect.commit.oid)])


def _hash(frame: Frame, row: int, *others: str) -> SiteEntry:
    text = frame.hashes.at(row)
    spec = versioned(frame.package.at(row), frame.version.at(row))
    addresses = [path_of("hash", text), *others]
    return SiteEntry(addresses, "hash", text, f"{spec} for {frame.target.at(row)}")
