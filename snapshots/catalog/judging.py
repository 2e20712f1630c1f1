"""Two revisions of a catalog, or one, ready to be judged by rules."""

from snapshots.catalog.library import Library
from snapshots.changes.explanation import Explanation
from snapshots.changes.rules.scopes import Find, Judged
from snapshots.frames import matching
from snapshots.frames.columns import Mask
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.package_names import require_known


def judged(library: Library, base: str | None, head: str) -> Judged:
    """Return what rules are judged over: two contents by their digests, or head alone.

    What rules ask for is loaded when they ask for it; raises CatalogError where it cannot be read.
    """
    frame = library.frames.get(head)
    if base is None:
        return Judged(frame, _finder(library, None, head))
    comparison = library.compare(base, head)

    def explain() -> Explanation:
        return library.explain(comparison.base.digest, head)

    return Judged(frame, _finder(library, base, head), comparison, explain)


def _finder(library: Library, base: str | None, head: str) -> Find:
    """Return what finds the specs that queries match.

    Raises UnknownPackage where nothing is found because no revision knows a name.
    """

    def select(digest: str, query: str) -> Mask:
        def graph() -> DependencyGraph:
            return library.dependencies.get(digest)

        return matching.select(library.frames.get(digest), matching.read(query), graph)

    def find(query: str) -> tuple[Mask | None, Mask]:
        before = None if base is None else select(base, query)
        after = select(head, query)
        if not after.any() and (before is None or not before.any()):
            known = () if base is None else library.frames.get(base).packages
            require_known(
                matching.read(query),
                library.frames.get(head),
                lambda: library.dependencies.get(head),
                lambda: {*known, *library.package_names()},
            )
        return before, after

    return find
