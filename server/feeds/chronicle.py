"""The history that feeds are made of, as a catalog keeps it."""

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.filling import missing_pairs
from snapshots.catalog.library import Library
from snapshots.history import History
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageTimeline


class KeptChronicle:
    """Tells what a catalog keeps; it makes nothing that is missing."""

    def __init__(self, catalog: Catalog, library: Library) -> None:
        self._catalog = catalog
        self._library = library

    def is_whole(self, history: History, series: str) -> bool:
        """Tell whether all changes of a series are kept."""
        return not missing_pairs(self._catalog, history, series)

    def growth(self, history: History, series: str) -> list[GrowthPoint]:
        """Return a point for each revision of a series; raises IncompleteHistory."""
        return self._library.growth(history, series)

    def package_timeline(self, history: History, series: str, name: str) -> PackageTimeline | None:
        """Return what touched a package; raises IncompleteHistory."""
        return self._library.package_timeline(history, series, name)
