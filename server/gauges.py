"""What is read from the parts of a server when somebody measures it, not counted as it happens."""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from heapq import nlargest
from pathlib import Path

from server.feeds.making import FeedMaker
from server.graphql.answers import Answers
from server.graphql.execution import Execution
from server.metrics import instruments
from server.metrics.instruments import MAX_LABELS, Instrument
from server.watching import CatalogWatch
from snapshots.catalog.asking.library import Library
from snapshots.history import History
from snapshots.program import cachelog_version


class Gauges:
    """The numbers of a moment."""

    def __init__(
        self,
        watch: CatalogWatch,
        library: Library,
        answers: Answers,
        execution: Execution,
        feeds: FeedMaker,
    ) -> None:
        self._watch = watch
        self._library = library
        self._answers = answers
        self._execution = execution
        self._feeds = feeds

    def __call__(self) -> Iterator[tuple[Instrument, str, float]]:
        """Yield each instrument with the value of its label, empty for none, and its number."""
        yield instruments.CACHE_HITS, "", self._answers.responses.num_hits
        for cache, num_bytes in self._num_bytes():
            yield instruments.CACHE_BYTES, cache, num_bytes
        yield instruments.FRAMES, "", self._library.frames.num_kept
        yield from _of_history(self._watch.catalog.history)
        yield instruments.REFRESH_AGE, "", self._watch.age
        yield instruments.SUBSCRIPTIONS, "", self._watch.publications.num_subscribers
        yield instruments.PROCESSES, "", 1
        yield instruments.BUILD, cachelog_version(), 1
        yield from _of_process()

    def _num_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield how many bytes each cache keeps."""
        library = self._library
        yield "responses", self._answers.responses.num_bytes
        yield "frames", library.frames.num_bytes
        yield "dependencies", library.dependencies.num_bytes
        yield "comparisons", library.comparisons.num_bytes
        yield "explanations", library.explanations.num_bytes
        yield "returned", library.returned.num_bytes
        yield "stories", self._feeds.stories.num_bytes
        yield "package_changes", library.package_changes.num_bytes
        yield "histories", self._execution.answers.num_bytes


def _of_history(history: History) -> Iterator[tuple[Instrument, str, float]]:
    """Yield what a catalog holds; the newest of series where it has any, newest first."""
    yield instruments.REVISIONS, "", len(history.revisions)
    if not history.revisions:
        return
    last = max(revision.published_at for revision in history.revisions)
    yield instruments.LAST_IMPORT, "", last.timestamp()
    newest = {name: history.of_series(name)[-1].taken_at for name in history.series_names}
    for name in nlargest(MAX_LABELS, newest, key=newest.__getitem__):
        yield instruments.NEWEST_REVISION, name, newest[name].timestamp()


def _of_process() -> Iterator[tuple[Instrument, str, float]]:
    """Yield what this process takes of the machine, where the system tells it."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
        yield instruments.MEMORY, "", int(pages) * resource.getpagesize()
        yield instruments.DESCRIPTORS, "", len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield instruments.MAX_DESCRIPTORS, "", float("inf") if most < 0 else most
