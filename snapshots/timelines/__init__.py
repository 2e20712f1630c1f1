"""The history of hashes, packages and series, computed from stored comparisons; pure functions."""
