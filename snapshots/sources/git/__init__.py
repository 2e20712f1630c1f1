"""Git repositories with a history of cache pages, read with the git command."""
