"""The store of revisions: published, listed, loaded, kept in memory."""

from snapshots.catalog.catalog import Catalog, Publication
from snapshots.catalog.library import Library

__all__ = ["Catalog", "Library", "Publication"]
