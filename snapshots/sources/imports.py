"""What lies at a location: cache pages or a build cache's own index, read by whoever knows it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.buildcache import reader as build_caches
from snapshots.sources.buildcache.reader import StackIndex
from snapshots.sources.pages import folders
from snapshots.sources.reports import Found, PartReader, Report
from snapshots.sources.settings import ReadSettings


def read_apart(
    locations: Sequence[str],
    *,
    tags: Sequence[str] = (),
    sizes: bool = False,
    settings: ReadSettings,
    report: Report,
    reader: PartReader[Found],
    is_whole: bool = False,
) -> Iterator[Found]:
    """Read locations by ``reader``, tag by tag where they allow that.

    Raises NotApart where pages turn out not to; some snapshots are out by then. With ``is_whole``
    all pages are one part, and it is not raised.
    """
    of_pages: list[Path] = []
    if "" in locations:
        raise InvalidArgument("LOCATION", "is empty; write . for the folder that you are in")
    stacks = [build_caches.labelled(location, settings) for location in locations]
    if any(stacks):
        yield from build_caches.read_stacks_apart(
            _all_named(stacks, locations),
            tags=tags,
            sizes=sizes,
            settings=settings,
            reader=reader,
        )
        return
    for location in locations:
        if build_caches.recognise(location, settings):
            yield from build_caches.read_apart(
                location, tags=tags, sizes=sizes, settings=settings, report=report, reader=reader
            )
        elif "://" in location:
            # Not the URL itself: it may hold a login.
            kind = location.partition("://")[0]
            raise SourceError(f"{kind}://...", "cannot be read; for a repository use --git")
        else:
            of_pages.append(Path(location))
    if of_pages:
        if settings.view is not None:
            raise InvalidArgument("--view", f"{of_pages[0]} is no build cache")
        yield from folders.read_apart(
            of_pages, tags=tags, report=report, reader=reader, is_whole=is_whole
        )


def _all_named(stacks: Sequence[StackIndex | None], locations: Sequence[str]) -> list[StackIndex]:
    """Return the stacks. Raises InvalidArgument where a location is given for none."""
    named = [stack for stack in stacks if stack is not None]
    if len(named) < len(stacks):
        alone = locations[stacks.index(None)]
        reason = f"{alone} is given for no stack, and {named[0].label}={named[0].url} is for one"
        advice = "give each as STACK=LOCATION, or import them one by one"
        raise InvalidArgument("LOCATION", f"{reason}; {advice}")
    return named
