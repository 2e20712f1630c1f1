"""Unusual files at an imported path are read in bounded time and memory, or refused."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from snapshots.contents import Snapshot
from snapshots.errors import CachelogError, InvalidArgument, SourceError
from snapshots.sources.inputs import Missing, open_regular, read_regular
from snapshots.sources.pages import folders as page_files
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.sources.buildcache.folders import EMPTY_INDEX, put
from tests.snapshots.sources.git.repositories import page
from tests.snapshots.sources.readings import read_locations


def read(
    *locations: str | Path, tags: Sequence[str] = (), report: Report | None = None
) -> list[Snapshot]:
    """Read locations as an import does."""
    paths, report = [str(location) for location in locations], report or Report()
    return list(read_locations(paths, tags=tags, settings=ReadSettings(), report=report))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one page."""
    put(tmp_path / "develop/zlib/specs.md", page("zlib", "a"))
    return tmp_path


def pipe(path: Path) -> Path:
    """Create a pipe without a writer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def test_regular_file(tmp_path: Path) -> None:
    """A file is read up to the limit."""
    file = tmp_path / "a"
    file.write_bytes(b"12345")
    assert read_regular(str(file), 5) == b"12345"
    with pytest.raises(SourceError, match="holds more than 4 bytes"):
        read_regular(str(file), 4)
    with pytest.raises(Missing, match="does not exist"):
        read_regular(str(tmp_path / "b"), 5)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("/proc/self/maps", "holds more than 10 bytes"),
        ("/proc/self/mem", "/proc/self/mem: cannot be read: Input/output error"),
    ],
)
def test_system_files(file: str, reason: str) -> None:
    """A file without a size is bounded too; the system's reason is part of the error."""
    with pytest.raises(SourceError, match=reason):
        read_regular(file, 10)


@pytest.mark.parametrize(
    "name", ["pipe.md", "pipe.json", "/dev/zero", "/dev/tty", "a\0b", "a" * 5_000, "a/" * 2_500]
)
def test_other_files(tmp_path: Path, name: str) -> None:
    """Other files are refused at once, without waiting for data; an import of one is an error."""
    pipe(tmp_path / "pipe.md")
    pipe(tmp_path / "pipe.json")
    with pytest.raises(SourceError, match=r"is not a file|is not a path|cannot be read"):
        open_regular(str(tmp_path / name))
    with pytest.raises(SourceError):
        read(tmp_path / name)


def test_pipe_among_pages(folder: Path) -> None:
    """A pipe with a page's name is a bad page: its package must not seem removed."""
    bad = pipe(folder / "develop/hdf5/specs.md")
    with pytest.raises(SourceError, match="is not a file") as caught:
        read(folder)
    assert caught.value.location == str(bad)
    report = Report(skip_bad=True)
    (snapshot,) = read(folder, report=report)
    assert list(snapshot.content.packages) == ["zlib"]
    assert [error.location for error in report.skipped] == [str(bad)]


def test_large_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page above the limit is not read; the size of a sparse file is checked first."""
    large = folder / "develop/hdf5.md"
    with large.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SourceError, match="holds more than 67,108,864 bytes"):
        read(folder)
    monkeypatch.setattr(page_files, "MAX_PAGE_BYTES", 10)
    with pytest.raises(SourceError, match="holds more than 10 bytes"):
        read(folder / "develop/zlib")


@pytest.mark.parametrize(
    ("target", "reason"), [("hdf5.md", "cannot be read: Too many levels"), ("x", "does not exist")]
)
def test_links(folder: Path, target: str, reason: str) -> None:
    """Links to folders are not followed; a page that is a broken or cyclic link is bad."""
    (folder / "develop/loop.md").symlink_to(folder)
    (folder / "develop/hdf5.md").symlink_to(target)
    with pytest.raises(SourceError, match=rf"hdf5\.md: {reason}"):
        read(folder)


def test_empty_location() -> None:
    """An empty location is refused; it is not the current folder."""
    with pytest.raises(InvalidArgument, match="LOCATION: is empty"):
        read("")


@pytest.mark.parametrize("url", ["git://host/pages", "ftp://me:secret@host/a", "x-y://a"])
def test_unknown_url_scheme(url: str) -> None:
    """The error names the scheme only, as the rest may contain a login."""
    scheme = url.partition("://")[0]
    with pytest.raises(SourceError, match=rf"^{scheme}://\.\.\.: cannot be read; .* use --git"):
        read(url)


def test_pages_and_an_index_in_one_import(folder: Path, tmp_path: Path) -> None:
    """Each location is read by its reader; pages of several folders are read together."""
    put(tmp_path / "other" / "v1.0" / "hdf5" / "specs.md", page("hdf5", "b", tag="v1.0"))
    index = put(tmp_path / "index.json", EMPTY_INDEX)
    snapshots = read(folder / "develop", index, tmp_path / "other", tags=["v1.0"])
    assert [
        (snapshot.tag, snapshot.source.kind, len(snapshot.content)) for snapshot in snapshots
    ] == [("v1.0", "index", 0), ("v1.0", "pages", 1)]


def test_deleted_working_directory(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the working directory was deleted, the error names the location."""
    deleted = tmp_path_factory.mktemp("gone")
    monkeypatch.chdir(deleted)
    deleted.rmdir()
    for location in (".", "develop", "index.json", "../develop"):
        with pytest.raises(CachelogError):
            read(location)
    assert len(read(folder)) == 1
