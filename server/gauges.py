"""What is read from the parts of a server when somebody measures it, not counted as it happens."""

from collections.abc import Iterator

from server.feeds.making import FeedMaker
from server.graphql.answers import Answers
from server.graphql.execution import Execution
from server.metrics import instruments
from server.metrics.instruments import Instrument
from server.watching import CatalogWatch
from snapshots.catalog.asking.library import Library


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
        yield instruments.REVISIONS, "", len(self._watch.catalog.history.revisions)
        yield instruments.REFRESH_AGE, "", self._watch.age
        yield instruments.SUBSCRIPTIONS, "", self._watch.publications.num_subscribers
        yield instruments.PROCESSES, "", 1

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
