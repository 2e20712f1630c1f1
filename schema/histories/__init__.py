"""Series, and what becomes of packages and hashes in them through time."""
