"""The states of the oracle as the frames and graphs that cachelog compares."""

from snapshots.changes.diff import Comparison
from snapshots.contents import Content
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from tests.snapshots.changes.oracle.states import State


def frame_and_graph(state: State) -> tuple[Frame, DependencyGraph]:
    """Return a state as a catalog would load it."""
    outside = [spec for digest, spec in state.nodes.items() if digest not in state.specs]
    content = Content.of(state.specs.values(), outside)
    table = content.table()
    frame = Frame(table, content.digest)
    return frame, DependencyGraph(table, frame.hashes)


def compared(base: State, head: State) -> Comparison:
    """Return the comparison of two states."""
    return Comparison(frame_and_graph(base)[0], frame_and_graph(head)[0])
