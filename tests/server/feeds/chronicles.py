"""What the history of a small catalog keeps, worked out plainly from all that it holds."""

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import About, HistoryAnswer, HistoryQuestion
from snapshots.errors import IncompleteHistory
from snapshots.history import History
from snapshots.timelines.growth import Growth, growth
from snapshots.timelines.packages import PackageTimeline, package_timeline
from tests.model.histories import Past


class PlainChronicle:
    """Tells the history of a catalog; as long as it ``is_missing`` it has to be made first."""

    def __init__(self, catalog: Catalog, *, is_missing: bool = False) -> None:
        self._catalog = catalog
        self.is_missing = is_missing
        self.num_asked = 0

    def is_whole(self, _question: HistoryQuestion) -> bool:
        """Tell whether nothing has to be made."""
        return not self.is_missing

    def get(self, question: HistoryQuestion) -> HistoryAnswer:
        """Return the growth of a series, or the timeline of a package."""
        history, topic = question.history, question.topic
        series = topic.series or ""
        if topic.about is About.GROWTH:
            return HistoryAnswer(self.growth(history, series), 0)
        return HistoryAnswer(self.package_timeline(history, series, topic.text), 0)

    def growth(self, history: History, series: str) -> Growth:
        """Return a point for each revision of a series."""
        past = self._past(history)
        return growth({pair: past.counts(pair) for pair in history.pairs}, series, history)

    def package_timeline(self, history: History, series: str, name: str) -> PackageTimeline | None:
        """Return what touched a package."""
        return package_timeline(self._past(history).rows(), name, series, history)

    def _past(self, history: History) -> Past:
        self.num_asked += 1
        if self.is_missing:
            raise IncompleteHistory(2, len(history.pairs))
        frames = {digest: self._catalog.load(digest) for digest in history.digests}
        return Past(
            history,
            {digest: list(map(frame.spec, range(len(frame)))) for digest, frame in frames.items()},
        )
