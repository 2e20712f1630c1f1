"""One of the two contents that are compared, with all that is known of it."""

from typing import NamedTuple

from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame


class Side(NamedTuple):
    """A content's rows and its dependency graph; ``graph.is_known`` tells whether it tells any."""

    frame: Frame
    graph: DependencyGraph
