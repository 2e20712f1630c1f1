"""A history of cache pages in a git repository, read through the git command."""

from snapshots.sources.git.history import Every, read

__all__ = ["Every", "read"]
