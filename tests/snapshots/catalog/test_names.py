"""Names for completions: those of a revision's content, regardless of its stored form."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.completions import Names
from snapshots.contents import Content
from snapshots.errors import InvalidArgument
from tests.snapshots.factories import a_snapshot, a_spec, day

KEPT = [a_spec(f"kept {number}", name=f"package-{number}", stacks=("e4s",)) for number in range(5)]
LOST = a_spec("lost", name="lost", stacks=("old",))
COMPILER = a_spec("gcc", name="gcc", stacks=())
NEW = a_spec("new", name="new", stacks=("hep",))


@pytest.mark.parametrize("way", ["whole", "laid over another"])
def test_packages_and_stacks_of_each_revision(
    way: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """All of a content and nothing else, also where its own rows are only what is new and gone."""
    if way != "whole":
        request.getfixturevalue("laid_always")
    catalog = Catalog(str(tmp_path / "catalog"))
    states = [KEPT, [*KEPT[1:], LOST], [*KEPT[1:], NEW]]
    catalog.publish(
        replace(a_snapshot([], "develop", day(number)), content=Content.of(specs, [COMPILER]))
        for number, specs in enumerate(states)
    )
    names = Names(catalog.location)
    assert [it.digest for it in names.history.revisions] == [
        it.digest for it in catalog.history.revisions
    ]
    for revision, specs in zip(reversed(catalog.history.revisions), states, strict=True):
        is_laid = len(catalog.files_of(revision.digest)) == 2
        assert is_laid == (way != "whole" and specs is not states[0])
        assert sorted(names.packages(revision.digest)) == sorted({spec.name for spec in specs})
        stacks = {stack for spec in specs for stack in spec.stacks}
        assert sorted(names.stacks(revision.digest)) == sorted(stacks)


def test_no_location() -> None:
    """It is refused as by a catalog."""
    with pytest.raises(InvalidArgument):
        Names("s4://bucket")
