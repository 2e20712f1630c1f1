"""The log: how its lines look, and the lines of requests."""
