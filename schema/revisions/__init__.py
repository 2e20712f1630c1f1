"""Revisions: their stacks, packages, specs and dependencies, with filters and orders."""
