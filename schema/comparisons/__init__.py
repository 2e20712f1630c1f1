"""Comparisons of two revisions: changes, causes, and the evaluation of rules."""
