"""Files and folders of cache pages: which files are read, and under which tags; unusual files."""

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from snapshots.contents import Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.sources.inputs import open_regular
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.buildcache.folders import put
from tests.snapshots.sources.buildcache.indexes import small_database
from tests.snapshots.sources.page_trees import page
from tests.snapshots.sources.readings import read_locations, read_pages

PAGES = Path(__file__).parent / "pages"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a page below a folder, with one spec per label."""

    def write(path: str, *labels: str, **keys: Any) -> Path:
        file = tmp_path / path
        return put(file, page(file.parent.name, *labels, **keys))

    return write


def snapshots(
    *paths: Path, tags: tuple[str, ...] = (), report: Report | None = None
) -> dict[str, Snapshot]:
    """Return the snapshots by tag."""
    states = list(read_pages(paths, tags=tags, report=report or Report()))
    by_tag = {snapshot.tag: snapshot for snapshot in states}
    assert len(by_tag) == len(states)
    return by_tag


def packages(by_tag: dict[str, Snapshot]) -> dict[str, list[str]]:
    """Return the packages of each tag."""
    return {tag: list(snapshot.content.packages) for tag, snapshot in by_tag.items()}


def test_folders_of_tags() -> None:
    """Each tag is a snapshot with its source; progress is reported."""
    steps: list[tuple[str, int, int | None]] = []
    folders = [PAGES / name for name in ("develop", "v0.21.2", "untagged")]
    by_tag = snapshots(*folders, report=Report(progress=lambda *step: steps.append(step)))
    assert packages(by_tag) == {
        "develop": ["compiler-wrapper", "kokkos"],
        "e4s-23.05": ["kokkos"],
        "v0.21.2": ["kokkos"],
    }
    source = by_tag["develop"].source
    assert (source.kind, source.location) == ("pages", ", ".join(map(str, folders)))
    assert source.importer.startswith("cachelog ")
    assert not source.synthetic
    assert by_tag["develop"].taken_at is None
    assert [*dict.fromkeys(steps)] == [("reading pages", done, 4) for done in range(5)]


def test_which_files_are_pages(write: Write, tmp_path: Path) -> None:
    """Hidden files, READMEs and other suffixes are skipped; linked files count once."""
    write("develop/a/specs.md", "1")
    write(".git/b/specs.md", "2")
    write("develop/.hidden.md", "3")
    (tmp_path / "README.md").write_text("# Pages\n")
    (tmp_path / "develop" / "notes.txt").write_text("text")
    (tmp_path / "develop" / "folder.md").mkdir()
    (tmp_path / "again").symlink_to(tmp_path / "develop")
    by_tag = snapshots(tmp_path, tmp_path / "develop", tmp_path / "again" / "a" / "specs.md")
    assert packages(by_tag) == {"develop": ["a"]}


def test_pages_of_any_name(write: Write, tmp_path: Path) -> None:
    """A page is recognized by its beginning; other files next to it are skipped."""
    for name, head in {"hdf5.txt": b"", "zlib": b"\xef\xbb\xbf", "mpich.html": b""}.items():
        file = write(f"saved/{name}", name, title=name.partition(".")[0], tag="develop")
        file.write_bytes(head + file.read_bytes())
    write("saved/late.md", "late", title="late", tag="develop", sources="x" * 5_000)
    (tmp_path / "saved" / "notes.txt").write_text("---\nnotes\n---\n")
    (tmp_path / "saved" / "index.md").write_text("---\ntitle: All packages\nlayout: page\n---\n")
    (tmp_path / "saved" / "about.md").write_text("# About\n")
    (tmp_path / "saved" / "picture.png").write_bytes(bytes(range(256)))
    os.mkfifo(tmp_path / "saved" / "pipe")
    report = Report()
    by_tag = snapshots(tmp_path, report=report)
    assert packages(by_tag) == {"develop": ["hdf5", "late", "mpich", "zlib"]}
    folder = tmp_path / "saved"
    passed_over = [f"{folder / name}: is not a cache page" for name in ("about.md", "index.md")]
    assert sorted(report.warnings) == [f"{path}, and is skipped" for path in passed_over]


@pytest.mark.parametrize("name", ["specs.md", "hdf5.md", "hdf5.txt"])
def test_truncated_page(name: str, write: Write, tmp_path: Path) -> None:
    """A truncated page ends the import: its package must not seem removed."""
    write("develop/zlib/specs.md", "1")
    bad = write(f"develop/hdf5/{name}", "2")
    bad.write_bytes(bad.read_bytes()[:60])
    with pytest.raises(SourceError, match="is cut") as caught:
        snapshots(tmp_path)
    assert caught.value.location == str(bad)
    if name != "hdf5.txt":  # which is a page by its beginning
        for data, reason in ((b"", "is empty"), (bytes(100), "does not begin")):
            bad.write_bytes(data)
            with pytest.raises(SourceError, match=reason):
                snapshots(tmp_path)


def states(*paths: Path, tags: tuple[str, ...] = ()) -> list[tuple[str, str, list[str]]]:
    """Return the tags, dates and packages of what is read, by date."""
    read = read_pages(paths, tags=tags, report=Report())
    return sorted(
        (page.tag, f"{page.taken_at:%Y-%m-%d}" if page.taken_at else "", [*page.content.packages])
        for page in read
    )


DATED = ("develop-2025-01-12", "develop-2025-01-05")


@pytest.fixture
def dated(write: Write, tmp_path: Path) -> Path:
    """Return a folder with two states of develop and a release, which share a hash."""
    for folder in DATED:
        write(f"{folder}/a/specs.md", "1", categories=["package", "develop"])
    write("develop-2025-01-12/b/specs.md", "2", categories=["package", "develop"])
    write("v0.22.0/a/specs.md", "1")
    return tmp_path


def test_dated_folders(dated: Path, write: Write) -> None:
    """Pages are states of the tag in the name of their folder, each with its date if it has one."""
    history = [("develop", "2025-01-05", ["a"]), ("develop", "2025-01-12", ["a", "b"])]
    assert states(dated / DATED[0]) == history[1:]
    assert states(dated / DATED[0], dated / DATED[1]) == history
    assert states(dated) == [*history, ("v0.22.0", "", ["a"])]
    assert states(dated, tags=("develop",)) == history
    assert states(dated / DATED[0] / "b" / "specs.md") == [("develop", "2025-01-12", ["b"])]
    write("develop/a/specs.md", "1")
    undated = ("develop", "", ["a"])
    assert states(*(dated / name for name in ("develop", *DATED))) == [undated, *history]


def test_tag_in_several_folders(write: Write, tmp_path: Path) -> None:
    """Folders of one tag are one state if it is requested, unless they have a spec twice."""
    write("one/a/specs.md", "1", tag="develop")
    second = write("two/b/specs.md", "2", tag="develop")
    for tags in ((), ("*",)):
        with pytest.raises(SourceError, match="in another folder; --tag TAG reads all") as caught:
            snapshots(tmp_path, tags=tags)
        assert caught.value.location == str(second)
    assert packages(snapshots(tmp_path, tags=("develop",))) == {"develop": ["a", "b"]}
    again = write("two/a/specs.md", "1", tag="develop")
    with pytest.raises(SourceError, match="one of them is of another state") as caught:
        snapshots(tmp_path, tags=("develop",))
    assert caught.value.location == str(again)


@pytest.mark.parametrize("kind", ["empty", "missing", "dangling"])
def test_nothing_to_read(kind: str, tmp_path: Path) -> None:
    """The error names a path without anything to read."""
    path = tmp_path / kind
    if kind == "empty":
        path.mkdir()
    if kind == "dangling":
        path.symlink_to(tmp_path / "missing")
    reason = "no cache pages, and is not a build cache" if kind == "empty" else "does not exist"
    with pytest.raises(SourceError, match=reason) as caught:
        snapshots(path)
    assert caught.value.location == str(path)


@pytest.mark.parametrize(
    ("opens", "closed"),
    [("open", "develop/b/specs.txt"), ("stat", "develop/b/specs.txt"), ("scandir", "develop/b")],
)
def test_unreadable_files(
    opens: str, closed: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unreadable file or folder is bad: its pages must not seem removed."""
    write("develop/a/specs.md", "1")
    write("develop/b/specs.txt", "2")
    function = getattr(os, opens)

    def refuse(path: str, *more: Any, **options: Any) -> Any:
        if path == str(tmp_path / closed):
            raise PermissionError(13, "Permission denied", path)
        return function(path, *more, **options)

    monkeypatch.setattr(os, opens, refuse)
    with pytest.raises(SourceError) as caught:
        snapshots(tmp_path)
    assert str(caught.value) == f"{tmp_path / closed}: cannot be read: Permission denied"
    report = Report(skip_bad=True)
    assert packages(snapshots(tmp_path, report=report)) == {"develop": ["a"]}
    assert [error.location for error in report.skipped] == [str(tmp_path / closed)]


def test_repeated_hash(write: Write, tmp_path: Path) -> None:
    """A hash is in a tag once; pages of one package are merged; no specs are no state."""
    first = write("develop/a/specs.md", "1", "2", "1")
    second = write("develop/b/specs.md", "3", "2")
    write("develop/c/specs.md", "4", title="b", categories=["package", "develop"])
    write("v0.22.0/b/specs.md", "2")
    empty = write("nothing/a/specs.md")
    report = Report(skip_bad=True)
    by_tag = snapshots(tmp_path, report=report)
    num_specs = {tag: len(snapshot.content) for tag, snapshot in by_tag.items()}
    assert num_specs == {"develop": 4, "v0.22.0": 1}
    assert list(by_tag["develop"].content.packages) == ["a", "b"]
    messages = list(map(str, report.skipped))
    assert messages == [
        f"{first}, a: the hash {hash_of('1')} appears twice (spec_details)",
        f"{second}, b: the hash {hash_of('2')} appears twice (in {first})",
    ]
    with pytest.raises(SourceError, match=re.escape(messages[0])):
        snapshots(tmp_path)
    assert snapshots(empty, report=report) == {}
    assert report.warnings[-1] == f"{empty}: no spec of nothing; nothing to publish"


def test_selected_tags(write: Write, tmp_path: Path) -> None:
    """Names and globs select tags of the pages, in order; the error of no match lists the tags."""
    for tag in ("develop", "develop-2025-03-23", "develop-2025-03-30", "v0.22.0"):
        write(f"{tag}/a/specs.md", "1")
    assert len(snapshots(tmp_path)) == 4
    assert list(snapshots(tmp_path, tags=("v*", "main", "develop"))) == ["develop", "v0.22.0"]
    dated = ["develop-2025-03-23", "develop-2025-03-30"]
    assert list(snapshots(tmp_path, tags=("develop-2025-03-??",))) == dated
    for patterns in (("Develop",), ("main", "x*"), ("",)):
        with pytest.raises(InvalidArgument) as caught:
            snapshots(tmp_path, tags=patterns)
        assert str(caught.value) == (
            f"--tag: {' '.join(patterns)} matches no tag of the pages "
            "(develop, develop-2025-03-23, develop-2025-03-30, v0.22.0)"
        )


def test_another_tag(write: Write) -> None:
    """Pages of one tag can be published under another name, with a warning, not under a glob."""
    page = write("develop/a/specs.md", "1", synthetic=True)
    report = Report()
    by_tag = snapshots(page, tags=("develop-2025-03-30",), report=report)
    assert list(by_tag) == ["develop-2025-03-30"]
    assert by_tag["develop-2025-03-30"].source.synthetic
    assert report.warnings == [f"{page}: says tag develop; published as develop-2025-03-30"]
    for tag, reason in (
        ("../x", "is not a tag"),
        ("", "is not a tag"),
        ("main*", "matches no tag of the"),
    ):
        with pytest.raises(InvalidArgument, match=reason):
            snapshots(page, tags=(tag,))


def test_pages_without_tag(write: Write, tmp_path: Path) -> None:
    """A page without a tag needs one, and does not get that of other pages."""
    page = write("b.md", "2", title="b")
    with pytest.raises(TagNeeded, match=r"b\.md: does not name a tag; name one with --tag"):
        snapshots(page)
    assert list(snapshots(page, tags=("v0.19.0",))) == ["v0.19.0"]
    write("develop/a/specs.md", "1")
    with pytest.raises(TagNeeded):
        snapshots(tmp_path)
    with pytest.raises(InvalidArgument):
        snapshots(tmp_path, tags=("develop",))


# -- unusual files are read in bounded time and memory, or refused


def imported(
    *locations: str | Path, tags: Sequence[str] = (), report: Report | None = None
) -> list[Snapshot]:
    """Read locations as an import does."""
    paths, report = [str(location) for location in locations], report or Report()
    return list(read_locations(paths, tags=tags, settings=ReadSettings(), report=report))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one page."""
    put(tmp_path / "develop/zlib/specs.md", page("zlib", "a", tag="develop"))
    return tmp_path


def pipe(path: Path) -> Path:
    """Create a pipe without a writer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


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
        imported(tmp_path / name)


def test_pages_and_an_index_in_one_import(folder: Path, tmp_path: Path) -> None:
    """Each location is read by its reader; pages of several folders are read together."""
    put(tmp_path / "other" / "v1.0" / "hdf5" / "specs.md", page("hdf5", "b", tag="v1.0"))
    index = put(tmp_path / "index.json", json.dumps(small_database()).encode())
    snapshots = imported(folder / "develop", index, tmp_path / "other", tags=["v1.0"])
    assert [
        (snapshot.tag, snapshot.source.kind, len(snapshot.content)) for snapshot in snapshots
    ] == [("v1.0", "index", 3), ("v1.0", "pages", 1)]
