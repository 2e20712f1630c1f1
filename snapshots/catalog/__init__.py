"""The store of revisions: published, listed, loaded, kept in memory."""

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.publishing import Publication

__all__ = ["Catalog", "Library", "Publication"]
