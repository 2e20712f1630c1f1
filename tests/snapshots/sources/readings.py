"""Snapshots read in this process: what an import publishes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from snapshots.contents import Snapshot
from snapshots.sources import imports
from snapshots.sources.buildcache import reader as build_caches
from snapshots.sources.pages import folders
from snapshots.sources.reports import Asked, ReadHere, Report
from snapshots.sources.settings import ReadSettings


def read_locations(
    locations: Sequence[str],
    *,
    tags: Sequence[str] = (),
    sizes: bool = False,
    settings: ReadSettings,
    report: Report,
) -> Iterator[Snapshot]:
    """Read what lies at locations; all pages are one part."""
    return imports.read_apart(
        locations,
        tags=tags,
        sizes=sizes,
        settings=settings,
        report=report,
        reader=_here(settings, report),
        is_whole=True,
    )


def read_pages(
    paths: Sequence[Path], *, tags: Sequence[str] = (), report: Report
) -> Iterator[Snapshot]:
    """Read files and folders of pages as one part."""
    settings = ReadSettings()
    reader = _here(settings, report)
    return folders.read_apart(
        list(map(str, paths)),
        Asked(tags, is_whole=True),
        settings=settings,
        report=report,
        reader=reader,
    )


def read_cache(
    location: str,
    *,
    tags: Sequence[str] = (),
    sizes: bool = False,
    settings: ReadSettings,
    report: Report,
) -> Iterator[Snapshot]:
    """Read an index, a build cache or a list of tags."""
    reader = _here(settings, report)
    return build_caches.read_apart(
        [location], Asked(tags, sizes=sizes), settings=settings, report=report, reader=reader
    )


def _here(settings: ReadSettings, report: Report) -> ReadHere[Snapshot]:
    return ReadHere(settings, report, lambda snapshot: snapshot)
