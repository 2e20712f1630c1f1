"""Finds the specs of one or two revisions that the queries of rules match."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from snapshots.changes.rules.scopes import Find
from snapshots.errors import UnknownPackage
from snapshots.frames import matching
from snapshots.frames.columns import Mask
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.matching import require_known, unknown_names


class Searched(NamedTuple):
    """A revision that is searched; ``load`` is asked for its graph where a query needs it."""

    frame: Frame
    load: Callable[[], DependencyGraph]


def finder(base: Searched | None, head: Searched, elsewhere: Callable[[], Collection[str]]) -> Find:
    """Return what finds the specs of head, and of base if there is one, that a query matches.

    ``elsewhere`` is asked for the names of packages that other revisions know. Where nothing is
    found on either side it raises UnknownPackage for any name that nobody knows: with a slip of the
    pen behind ``^``, too, a rule would hold whatever is published.
    """

    def find(query: str) -> tuple[Mask | None, Mask]:
        asked = matching.read(query)
        before = None if base is None else matching.select(base.frame, asked, base.load)
        after = matching.select(head.frame, asked, head.load)
        if not after.any() and (before is None or not before.any()):
            known = () if base is None else base.frame.packages
            question = asked, head.frame, head.load, lambda: {*known, *elsewhere()}
            require_known(*question)
            for unknown in unknown_names(*question):
                raise UnknownPackage(unknown.name, unknown.nearest)
        return before, after

    return find
