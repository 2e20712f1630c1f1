"""The catalog of revisions: publishing, reading, and caching in memory."""
