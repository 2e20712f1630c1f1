"""A history of cache pages in a git repository, read through the git command."""
