"""A made-up history of a build cache, for trying cachelog out, for tests and for measuring.

The same arguments always give the same history, on every machine. It changes as the real cache
does: most hashes stay from one revision to the next. A hash is made of a spec's own facts and of
the hashes below it, so one upgrade far below, or another compiler, rebuilds much; some packages
near the leaves are upgraded, downgraded, added or removed, have their recipe changed, or are built
for a kind of machine no more; and specs move between stacks. More packages come than go, but now
and then many are lost for a week. All of it is marked as synthetic.
"""

from snapshots.demo.revisions import develop_history, history, write_pages

__all__ = ["develop_history", "history", "write_pages"]
