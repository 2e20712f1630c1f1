"""Snapshots read in this process, as an import publishes them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from snapshots.contents import Snapshot
from snapshots.models import Spec
from snapshots.sources import readers
from snapshots.sources.buildcache import reader as build_caches
from snapshots.sources.pages import folders
from snapshots.sources.parts import PartExecutor, ReadRequest
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings


def read_locations(
    locations: Sequence[str],
    *,
    tags: Sequence[str] = (),
    sizes: bool = False,
    settings: ReadSettings,
    report: Report,
) -> Iterator[Snapshot]:
    """Read locations in this process."""
    request = ReadRequest(tags, sizes=sizes)
    return readers.read_locations(locations, request, _here(settings, report))


def read_pages(
    paths: Sequence[Path], *, tags: Sequence[str] = (), report: Report
) -> Iterator[Snapshot]:
    """Read files and folders of pages."""
    executor = _here(ReadSettings(), report)
    return folders.read(list(map(str, paths)), ReadRequest(tags), executor)


def _here(settings: ReadSettings, report: Report) -> PartExecutor[Snapshot]:
    return PartExecutor(settings, report, lambda snapshot: snapshot)


QUICK = ReadSettings(attempts=2, backoff=0.001, timeout=5, proof=False, allow_empty=True)
"""Made-up indexes have made-up hashes, and need not have specs."""


def snapshots(
    location: str | Path,
    *tags: str,
    sizes: bool = False,
    settings: ReadSettings = QUICK,
    report: Report | None = None,
) -> list[Snapshot]:
    """Read an index, a build cache or a list of tags."""
    request = ReadRequest(tags, sizes=sizes)
    executor = _here(settings, report or Report())
    return list(build_caches.read([str(location)], request, executor))


def by_hash(snapshot: Snapshot) -> dict[str, Spec]:
    """Return the specs of a snapshot by their hashes."""
    return {spec.hash: spec for spec in snapshot.content.specs()}


def stacks_of(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """Return the stacks of each spec."""
    return {digest: spec.stacks for digest, spec in by_hash(snapshot).items()}
