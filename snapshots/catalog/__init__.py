"""The store of revisions: published, listed, loaded, kept in memory."""
