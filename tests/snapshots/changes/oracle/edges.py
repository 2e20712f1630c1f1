"""Which dependencies of two specs belong together, and which only one of the two has."""

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from snapshots.models import Dependency, Spec
from snapshots.spack.versions import version_key
from tests.snapshots.changes.oracle.states import State


class PairedEdges(NamedTuple):
    """The dependencies of two specs: of both, of the one before alone, of the one after alone."""

    common: list[tuple[Dependency, Dependency]]
    lost: list[Dependency]
    gained: list[Dependency]


def pair_edges(base: State, head: State, before: Spec, after: Spec) -> PairedEdges:
    """Pair the dependencies of two specs; nothing is lost or gained where one side tells none."""
    paired = PairedEdges([], [], [])
    if before.dependencies is None or after.dependencies is None:
        return paired
    counts = [Counter(edge.name for edge in it.dependencies or ()) for it in (before, after)]
    twice = {name for count in counts for name, number in count.items() if number > 1}

    def key(edge: Dependency) -> Hashable:
        return (edge.name, edge.types) if edge.name in twice else edge.name

    for wanted in {key(edge) for edge in (*before.dependencies, *after.dependencies)}:
        olds = [edge for edge in before.dependencies if key(edge) == wanted]
        news = [edge for edge in after.dependencies if key(edge) == wanted]
        for edge in list(olds):
            same = next((it for it in news if it.hash == edge.hash), None)
            if same is not None:
                olds.remove(edge)
                news.remove(same)
                paired.common.append((edge, same))
        olds.sort(key=lambda edge: _place(base, edge))
        news.sort(key=lambda edge: _place(head, edge))
        number = min(len(olds), len(news))
        paired.common.extend(zip(olds[:number], news[:number], strict=True))
        paired.lost.extend(olds[number:])
        paired.gained.extend(news[number:])
    return paired


def _place(state: State, edge: Dependency) -> tuple[object, ...]:
    """Return what several dependencies of one name and one set of types stand in the order of."""
    node = state.nodes.get(edge.hash)
    version = (version_key(node.version), node.version) if node else ()
    return version, edge.hash, edge.virtuals
