"""Names for completions: those of a revision's content, regardless of its stored form."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.completions import Names
from snapshots.contents import Content
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.overlays import laid_always

SHARED = [
    a_spec(f"kept {number}", name=f"package-{number}", stacks=("e4s",)) for number in range(5)
]
REMOVED = a_spec("lost", name="lost", stacks=("old",))
COMPILER = a_spec("gcc", name="gcc", stacks=())
NEW = a_spec("new", name="new", stacks=("hep",))


@pytest.mark.parametrize("form", ["all rows", "overlay"])
def test_packages_and_stacks_of_each_revision(form: str, tmp_path: Path) -> None:
    """They are those of the content alone, also if its rows are stored as an overlay."""
    catalog = Catalog(str(tmp_path / "catalog"))
    is_overlay = form == "overlay"
    states = [SHARED, [*SHARED[1:], REMOVED], [*SHARED[1:], NEW]]
    with laid_always() if is_overlay else nullcontext():
        catalog.publish(
            replace(a_snapshot([], "develop", day(number)), content=Content.of(specs, [COMPILER]))
            for number, specs in enumerate(states)
        )
    names = Names(catalog.location)
    assert names.history.digests == catalog.history.digests
    for revision, specs in zip(reversed(catalog.history.revisions), states, strict=True):
        num_files = 2 if is_overlay and specs is not states[0] else 1
        assert len(catalog.files_of(revision.digest)) == num_files
        assert sorted(names.packages(revision.digest)) == sorted({spec.name for spec in specs})
        stacks = {stack for spec in specs for stack in spec.stacks}
        assert sorted(names.stacks(revision.digest)) == sorted(stacks)
