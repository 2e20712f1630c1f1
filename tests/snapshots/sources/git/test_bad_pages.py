"""Pages of a history that cannot be read are named, or skipped and listed once."""

import pytest

from snapshots.errors import SourceError
from snapshots.sources.reports import Report
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.git.repositories import (
    HDF5,
    OLD_PAGE,
    ZLIB,
    Repository,
    labels,
    page,
    read_at,
    specs,
)


def test_a_bad_page_can_be_skipped(repository: Repository) -> None:
    """A skipped page takes the package out, and is listed once however often its blob comes.

    Otherwise the states before it are yielded; then an error names commit and path.
    """
    repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b")})
    commit = repository.commit({ZLIB: b"bad"})
    repository.commit({HDF5: page("hdf5", "c")})
    repository.commit({ZLIB: page("zlib", "d")})
    repository.commit({ZLIB: b"bad", "_cache/v1.0/zlib/specs.md": b"bad"})
    report = Report(skip_bad=True)

    found = repository.read(report=report)

    assert [(made.tag, labels(made)) for made in found] == [
        ("develop", specs(zlib="a", hdf5="b")),
        ("develop", specs(hdf5="b")),
        ("develop", specs(hdf5="c")),
        ("develop", specs(hdf5="c", zlib="d")),
        ("develop", specs(hdf5="c")),
    ]
    assert [error.location for error in report.skipped] == [f"{commit[:12]}:{ZLIB}"]
    states = read_at(str(repository.folder))
    assert labels(next(states)) == specs(zlib="a", hdf5="b")
    with pytest.raises(SourceError, match="does not begin") as caught:
        next(states)
    assert caught.value.location == f"{commit[:12]}:{ZLIB}"


def test_a_bad_spec_is_listed_once(repository: Repository) -> None:
    """What is wrong inside a page is listed once, even where its blob leaves and comes back."""
    broken = page("zlib", "a", "b").replace(hash_of("a").encode(), b"short")
    for data in (broken, page("zlib", "c"), broken):
        repository.commit({ZLIB: data})
    report = Report(skip_bad=True)

    found = repository.read(report=report)

    assert list(map(labels, found)) == [specs(zlib="b"), specs(zlib="c"), specs(zlib="b")]
    assert len(report.skipped) == 1


def test_pages_of_2022_are_listed_once(repository: Repository) -> None:
    """Thousands of pages of the layout without hashes are one line and a number."""
    for number in range(5):
        files = {
            f"_cache/develop/{name}/specs.md": OLD_PAGE + b"\n" * number for name in ("zlib", "a")
        }
        repository.commit(files)
    repository.commit({ZLIB: page("zlib", "a")})
    report = Report(skip_bad=True)

    (found,) = repository.read(report=report)

    assert labels(found) == specs(zlib="a")
    (skipped,) = report.skipped
    assert "layout of 2022" in skipped.reason
    assert report.warnings == ["4 more pages of the layout of 2022 were skipped"]
    with pytest.raises(SourceError, match="layout of 2022") as caught:
        repository.read()
    assert caught.value.location.startswith(f"{repository.hashes[0][:12]}:_cache/develop/")


def test_a_hash_stands_once_in_a_tag(repository: Repository) -> None:
    """A hash in two pages, or twice in one, is bad; skipped, its first place by path counts."""
    repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b", "b")})
    commit = repository.commit({HDF5: page("hdf5", "b", "a")})
    repository.commit({"_cache/develop/gmake/specs.md": page("gmake", "c")})
    report = Report(skip_bad=True)

    found = repository.read(report=report)

    assert list(map(labels, found)) == [
        specs(zlib="a", hdf5="b"),
        specs(hdf5=["a", "b"]),
        specs(hdf5=["a", "b"], gmake="c"),
    ]
    assert [str(error).partition(":")[2] for error in report.skipped] == [
        f"{HDF5}, hdf5: the hash {hash_of('b')} stands there already (spec_details)",
        f"{ZLIB}, zlib: the hash {hash_of('a')} stands there already (in {HDF5})",
    ]
    assert report.skipped[1].location == f"{commit[:12]}:{ZLIB}"
    with pytest.raises(SourceError, match="stands there already"):
        repository.read()


def test_a_folder_that_cannot_be_a_tag(repository: Repository) -> None:
    """A tag that a path states is checked like any other, and the error names the page."""
    commit = repository.commit({"_cache/no tag/zlib/specs.md": page("zlib", "a", tag=None)})

    with pytest.raises(SourceError, match="'no tag' is no tag") as caught:
        repository.read()
    assert caught.value.location == f"{commit[:12]}:_cache/no tag/zlib/specs.md"


def test_made_up_data_are_marked(repository: Repository) -> None:
    """A state with a page that says it is made up is marked so; one without is not."""
    made_up = page("zlib", "a").replace(b"title:", b"synthetic: true\ntitle:")
    repository.commit({ZLIB: made_up})
    repository.commit({ZLIB: page("zlib", "b")})

    assert [made.source.synthetic for made in repository.read()] == [True, False]
