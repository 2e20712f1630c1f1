"""Small contents with dependencies, written as tables of nodes."""

from collections.abc import Iterable, Sequence
from typing import Any

from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.sides import Side
from snapshots.contents import Content
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.models import Dependency, Spec
from tests.snapshots.factories import a_spec, hash_of

RECIPE = "a" * 52 + "===="


def edge(
    label: str, types: Sequence[str] = ("link",), virtuals: Sequence[str] = (), *, name: str = ""
) -> Dependency:
    """Return an edge to the node of a label: NAME, or NAME:SUFFIX, as zlib:2."""
    return Dependency(
        name or label.partition(":")[0], hash_of(label), tuple(types), tuple(virtuals)
    )


def node(label: str, *edges: Dependency | str, **facts: Any) -> Spec:
    """Return the spec of a label; an edge that is a text leads to that label."""
    dependencies = tuple(edge(target) if isinstance(target, str) else target for target in edges)
    return a_spec(
        label,
        **{
            "name": label.partition(":")[0],
            "version": "1",
            "compiler": None,
            "package_hash": RECIPE,
            "namespace": "builtin",
            "variants": (),
            "dependencies": dependencies,
            **facts,
        },
    )


def side_of(specs: Iterable[Spec], outside: Iterable[Spec] = ()) -> Side:
    """Return the side of a comparison that holds these specs."""
    content = Content.of(specs, outside)
    table = content.table()
    frame = Frame(table, content.digest)
    return Side(frame, DependencyGraph(table, frame.hashes))


def explained(
    base: Iterable[Spec], head: Iterable[Spec], outside: Iterable[Spec] = ()
) -> Explanation:
    """Compare and explain two contents; ``outside`` are specs outside the cache, of both."""
    outside = tuple(outside)
    before, after = side_of(base, outside), side_of(head, outside)
    return explain(Comparison(before.frame, after.frame), before.graph, after.graph)
