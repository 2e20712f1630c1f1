"""The search for the revision that contains the most specs of a list."""

from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library, best_covering, candidates
from snapshots.changes.lookup import RequestedSpecs
from snapshots.errors import CatalogError
from snapshots.models import ConcreteSpec
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.templates import copied

STATES = [
    ("develop", 1, "abc"),
    ("develop", 2, "ab"),
    ("v1.0.0", 3, "ax"),
    ("v1.1.0", 4, "x"),
    ("other", 5, "ax"),
    ("empty", 6, ""),
]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Publish several states of several tags; each letter of a state is a spec."""
    made = Catalog(str(tmp_path_factory.mktemp("catalog")))
    made.publish(a_snapshot(map(a_spec, state), tag, day(number)) for tag, number, state in STATES)
    return made


def specs_of(roots: str, others: str = "") -> RequestedSpecs:
    """Return the specs of a list, one per letter: roots, then others."""
    return RequestedSpecs(
        ConcreteSpec(hash=hash_of(label), name="hdf5", is_root=number < len(roots))
        for number, label in enumerate(roots + others)
    )


def covered(
    catalog: Catalog, specs: RequestedSpecs, series: str | None = None
) -> list[tuple[str, int, int, int]]:
    """Return tag, day and counts of the searched revisions, best first."""
    best = best_covering(Library(catalog), candidates(catalog.history, series), specs)
    return [
        (each.revision.tag, each.revision.taken_at.day - 5, each.num_found, each.num_roots_found)
        for each in best
    ]


def test_newest_revision_of_each_tag(catalog: Catalog) -> None:
    """Most specs first, then most roots, then the newer revision."""
    assert covered(catalog, specs_of("x", "a")) == [
        ("other", 5, 2, 1),
        ("v1.0.0", 3, 2, 1),
        ("v1.1.0", 4, 1, 1),
        ("develop", 2, 1, 0),
        ("empty", 6, 0, 0),
    ]


def test_all_revisions_of_a_series(catalog: Catalog) -> None:
    """Older revisions of its tags are searched, too; an unknown series has none."""
    assert covered(catalog, specs_of("c", "a"), "develop") == [
        ("develop", 1, 2, 1),
        ("develop", 2, 1, 0),
    ]
    assert [revision[0] for revision in covered(catalog, specs_of("x"), "vX.Y.Z")] == [
        "v1.1.0",
        "v1.0.0",
    ]
    assert covered(catalog, specs_of("x"), "unknown") == []
    assert covered(catalog, specs_of(""), "develop")[0] == ("develop", 2, 0, 0)


def test_number_of_contents_is_limited(catalog: Catalog) -> None:
    """Revisions with one content count once."""
    history = catalog.history
    assert [revision.taken_at for revision in candidates(history, "develop", 1)] == [day(2)]
    assert [revision.tag for revision in candidates(history, None, 3)] == [
        "empty",
        "other",
        "v1.1.0",
        "v1.0.0",
    ]
    assert candidates(history, None, 100) == candidates(history)


def test_damaged_content(catalog: Catalog, tmp_path: Path) -> None:
    """It is an error, as its specs are unknown."""
    catalog = copied(Path(catalog.location), tmp_path)
    for file in (Path(catalog.location) / "specs").rglob("*.parquet"):
        file.write_bytes(b"")
    with pytest.raises(CatalogError):
        covered(catalog, specs_of("a"))
