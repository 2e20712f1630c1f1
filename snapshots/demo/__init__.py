"""A made-up history of a build cache, for trying cachelog out, for tests and for measuring.

The same arguments always give the same history, on every machine. It changes as the real cache
does: most hashes stay from one revision to the next, while some packages are upgraded, downgraded,
added or removed or have their recipe changed, which changes the hashes of all that depends on them;
and specs move between stacks. All of it is marked as synthetic.
"""

from snapshots.demo.pages import write_pages
from snapshots.demo.revisions import history

__all__ = ["history", "write_pages"]
