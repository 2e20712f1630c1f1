"""Versions of a package are as far apart as others of it lie between them."""

import numpy as np

from snapshots.changes.likeness import version_places
from snapshots.frames.frame import Frame
from tests.snapshots.changes.graphs import node
from tests.snapshots.records import frame_of


def places(frame: Frame, found: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, int]:
    """Return the place of each row by its label."""
    names = [f"{frame.package.at(row)} {frame.version.at(row)}" for row in range(len(frame))]
    return dict(zip(names, found.tolist(), strict=True))


def test_places() -> None:
    """What either side has counts, once; other packages do not; the order is Spack's."""
    base = frame_of([node(f"a:{it}", version=it) for it in ("1.9", "1.10", "develop")])
    others = [node(f"b:{it}", version=it) for it in ("1.9.5", "1.9.6")]
    head = frame_of([*(node(f"a:{it}", version=it) for it in ("1.10", "2.0", "1.2")), *others])
    rows = [np.arange(len(it), dtype=np.int32) for it in (base, head)]
    before, after = version_places(base, rows[0], head, rows[1])
    ours, theirs = places(base, before), places(head, after)
    assert ours["a 1.10"] == theirs["a 1.10"]
    assert ours["a 1.10"] - ours["a 1.9"] == 1
    assert ours["a 1.10"] - theirs["a 1.2"] == 2
    assert theirs["a 2.0"] - ours["a 1.9"] == 2
    assert ours["a develop"] - theirs["a 2.0"] == 1
    some = version_places(base, rows[0][1:], head, rows[1][:0])
    assert [it.tolist() for it in some] == [before.tolist()[1:], []]
