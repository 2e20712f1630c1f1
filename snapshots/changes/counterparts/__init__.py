"""What took the place of what: pairs of a removed and an added spec of one package.

Pairs are one to one, most alike first: ``tiers`` of exact keys, and a ``ranking`` where several
have one key.
"""

from snapshots.changes.counterparts.tiers import Counterparts, find_counterparts

__all__ = ["Counterparts", "find_counterparts"]
