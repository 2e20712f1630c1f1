"""Feeds over HTTP: made in lanes, kept as other answers are, sent with their ETags."""
