"""Where a catalog stands: bytes at a location, whatever kind of store it is."""
