"""The costs of work that several fields share, in the units of ``schema.fields.cost``."""

from schema.fields.cost import Cost

STACKS = 30
"""Expected number of stacks of a revision or package: about that of the largest real ones."""

LOADING = 10_000
"""The share of each request in loading a revision."""

COMPARING = 50_000
"""Comparing two revisions."""

EXPLAINING = 100_000
"""Computing the counterparts and causes of two revisions."""

COVERING = 60_000
"""Comparing the cells of all specs of two revisions."""

ALL_PACKAGES = 20_000
"""The share of each request in computing the histories of all packages, which are cached."""

CATALOG_PACKAGE = Cost(weight=200)
"""One package in all series; if there are several in a request, all packages are read at once."""

TIMELINE = 8_000
"""Computing the history of a package in a series from its changes."""

SPANS_OF_HASH = 5_000
"""Computing the history of a hash."""

SPANS_OF_EACH = 150
"""Computing the history of one hash of many."""
