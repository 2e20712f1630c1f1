"""The history that feeds are made of: that which the answers of the API come from."""

from typing import Any

from snapshots.catalog.asking.history_answers import HistoryAnswers, HistoryQuestion
from snapshots.catalog.asking.history_questions import Asked, GrowthAsked, PackageAsked
from snapshots.history import History
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageTimeline


class AnsweredChronicle:
    """Tells what a catalog keeps; what is missing is made first, for a bounded time."""

    def __init__(self, answers: HistoryAnswers) -> None:
        self._answers = answers

    def is_whole(self, history: History, series: str) -> bool:
        """Tell whether all changes of a series are kept."""
        return self._answers.is_whole(HistoryQuestion(history, GrowthAsked(series)))

    def growth(self, history: History, series: str) -> list[GrowthPoint]:
        """Return a point for each revision of a series; raises IncompleteHistory."""
        found: list[GrowthPoint] = self._ask(history, GrowthAsked(series))
        return found

    def package_timeline(self, history: History, series: str, name: str) -> PackageTimeline | None:
        """Return what touched a package; raises IncompleteHistory."""
        found: PackageTimeline | None = self._ask(history, PackageAsked(series, name))
        return found

    def _ask(self, history: History, asked: Asked) -> Any:
        return self._answers.get(HistoryQuestion(history, asked)).value
