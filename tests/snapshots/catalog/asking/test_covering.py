"""The search for the revision that contains the most specs of a list."""

from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Covered, Library, best_covering, candidates
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


def wanted_of(roots: str, others: str = "") -> RequestedSpecs:
    """Return the requested specs, one per letter."""
    wishes = [(label, True) for label in roots] + [(label, False) for label in others]
    return RequestedSpecs(
        ConcreteSpec(hash=hash_of(label), name="hdf5", is_root=is_root) for label, is_root in wishes
    )


def covered(
    catalog: Catalog, requested: RequestedSpecs, series: str | None = None
) -> list[tuple[str, int, int, int]]:
    """Return tag, day and counts of the searched revisions, best first."""
    found = best_covering(Library(catalog), candidates(catalog.history, series), requested)
    return [
        (it.revision.tag, it.revision.taken_at.day - 5, it.num_found, it.num_roots_found)
        for it in found
    ]


def test_the_newest_of_each_tag(catalog: Catalog) -> None:
    """Most specs first, then most roots, then the newer revision."""
    assert covered(catalog, wanted_of("x", "a")) == [
        ("other", 5, 2, 1),
        ("v1.0.0", 3, 2, 1),
        ("v1.1.0", 4, 1, 1),
        ("develop", 2, 1, 0),
        ("empty", 6, 0, 0),
    ]


def test_all_of_a_series(catalog: Catalog) -> None:
    """Older revisions of its tags, too; there are none of an unknown one."""
    assert covered(catalog, wanted_of("c", "a"), "develop") == [
        ("develop", 1, 2, 1),
        ("develop", 2, 1, 0),
    ]
    assert [it[0] for it in covered(catalog, wanted_of("x"), "vX.Y.Z")] == ["v1.1.0", "v1.0.0"]
    assert covered(catalog, wanted_of("x"), "unknown") == []
    assert covered(catalog, wanted_of(""), "develop")[0] == ("develop", 2, 0, 0)


def test_only_the_newest_contents(catalog: Catalog) -> None:
    """What is searched can be bounded: revisions with one content count once."""
    history = catalog.history
    assert [it.taken_at for it in candidates(history, "develop", 1)] == [day(2)]
    assert [it.tag for it in candidates(history, None, 3)] == ["empty", "other", "v1.1.0", "v1.0.0"]
    assert candidates(history, None, 100) == candidates(history)


def test_what_was_read_is_kept(catalog: Catalog) -> None:
    """The hashes of each content are read once; no frame is made of them."""
    library = Library(catalog)
    revisions = candidates(catalog.history)
    first = best_covering(library, revisions, wanted_of("a"))
    assert (library.hash_sets.num_kept, library.frames.num_kept) == (4, 0)
    assert library.hash_sets.num_bytes < 2_000
    assert best_covering(library, revisions, wanted_of("a")) == first
    assert isinstance(first[0], Covered)


def test_a_damaged_content_is_an_error(catalog: Catalog, tmp_path: Path) -> None:
    """Nothing is said of what cannot be read."""
    catalog = copied(Path(catalog.location), tmp_path)
    for file in (Path(catalog.location) / "specs").rglob("*.parquet"):
        file.write_bytes(b"")
    with pytest.raises(CatalogError):
        covered(catalog, wanted_of("a"))
