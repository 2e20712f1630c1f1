"""A synthetic history of a build cache, for trial, tests and benchmarks.

The same arguments always produce the same history, on every machine. It changes as the real cache
does: most hashes remain from one revision to the next. A hash covers the spec's own facts and the
hashes of its dependencies, so an upgrade of a common dependency or of a compiler causes many
rebuilds. Some packages near the leaves are upgraded, downgraded, added or removed, have their
recipe changed, or are no longer built for a machine. Specs move between stacks. More packages are
added than removed, but in an occasional outage many are missing for a week. All of it is marked
as synthetic.
"""

from snapshots.demo.revisions import develop_history

__all__ = ["develop_history"]
