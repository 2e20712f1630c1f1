"""Stacks that a source lists, and null if it lists none."""

import pytest

from snapshots.spack.names import ROOT_STACK
from tests.schema.worlds import World, published
from tests.snapshots.factories import a_snapshot, a_spec, day

NAMES = {"stated": ["e4s", "hep", ROOT_STACK], "root": None, "none": None, "empty": []}
"""The stacks of the only package of each tag, as the API returns them."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of revisions with stacks, with only root, with none, and without specs."""
    stacks = {"stated": ("e4s", "hep", ROOT_STACK), "root": (ROOT_STACK,), "none": ()}
    return published(
        tmp_path_factory.mktemp("catalog"),
        *(a_snapshot([a_spec(stacks=own)], tag, day(0)) for tag, own in stacks.items()),
        a_snapshot([], "empty", day(0)),
    )


def objects(names: list[str] | None) -> list[dict[str, str]] | None:
    """Return stacks as objects with their names."""
    return None if names is None else [{"name": name} for name in names]


@pytest.mark.parametrize("tag", NAMES)
def test_stacks_of_a_revision(world: World, tag: str) -> None:
    """A revision without specs has an empty list rather than null."""
    data = world.data(
        """query($ref: String!) { revision(ref: $ref) {
          numStacks stacks { name } growthPoint { numSpecsChanged }
          packages { nodes { stackNames stacks { name } } }
          specs { nodes { stackNames stacks { name } } }
        } }""",
        ref=tag,
    )["revision"]
    names = NAMES[tag]
    number = None if names is None else len({*names} - {ROOT_STACK})
    own = {"stackNames": names, "stacks": objects(names)}
    nodes = [] if tag == "empty" else [own]
    assert data == {
        "numStacks": number,
        "stacks": objects(names),
        "growthPoint": {"numSpecsChanged": 0},
        "packages": {"nodes": nodes},
        "specs": {"nodes": nodes},
    }
