"""Files and folders of cache pages to snapshots: which are read, and under which tag."""

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snapshots.contents import Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.sources.reports import Report
from tests import real_data
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.page_trees import page
from tests.snapshots.sources.readings import read_pages

PAGES = Path(__file__).parent / "pages"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a page below a folder, with one spec a label."""

    def write(path: str, *labels: str, **keys: Any) -> Path:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(page(file.parent.name, *labels, **keys))
        return file

    return write


def snapshots(
    *paths: Path, tags: tuple[str, ...] = (), report: Report | None = None
) -> dict[str, Snapshot]:
    """Return what is read, by tag."""
    found = list(read_pages(paths, tags=tags, report=report or Report()))
    by_tag = {snapshot.tag: snapshot for snapshot in found}
    assert len(by_tag) == len(found)
    return by_tag


def packages(found: dict[str, Snapshot]) -> dict[str, list[str]]:
    """Return the packages of each tag."""
    return {tag: list(snapshot.content.packages) for tag, snapshot in found.items()}


def test_a_folder_of_tags() -> None:
    """Every page below a folder is read, each tag becomes a snapshot, and says its source."""
    found = snapshots(PAGES / "develop", PAGES / "v0.21.2")
    assert packages(found) == {"develop": ["compiler-wrapper", "kokkos"], "v0.21.2": ["kokkos"]}
    source = found["develop"].source
    assert source.kind == "pages"
    assert source.location == f"{PAGES / 'develop'}, {PAGES / 'v0.21.2'}"
    assert source.importer.startswith("cachelog ")
    assert not source.synthetic
    assert found["develop"].taken_at is None


def test_generations_have_one_content() -> None:
    """A page in the spelling of another year is the same content under another tag."""
    new = snapshots(PAGES / "develop" / "kokkos" / "specs.md")["develop"]
    old = snapshots(PAGES / "v0.21.2" / "kokkos" / "specs.md")["v0.21.2"]
    assert new.content.digest == old.content.digest


def test_progress_is_told() -> None:
    """An import says how many pages it has read of how many."""
    told: list[tuple[str, int, int | None]] = []
    snapshots(PAGES / "develop", report=Report(progress=lambda *step: told.append(step)))
    assert told == [("reading pages", done, 2) for done in range(3)]


def test_which_files_are_pages(write: Write, tmp_path: Path) -> None:
    """Hidden files and folders, READMEs and other endings are passed over; links count once."""
    write("develop/a/specs.md", "1")
    write(".git/b/specs.md", "2")
    write("develop/.hidden.md", "3")
    (tmp_path / "README.md").write_text("# Pages\n")
    (tmp_path / "develop" / "notes.txt").write_text("text")
    (tmp_path / "develop" / "folder.md").mkdir()
    (tmp_path / "again").symlink_to(tmp_path / "develop")
    found = snapshots(tmp_path, tmp_path / "develop", tmp_path / "again" / "a" / "specs.md")
    assert packages(found) == {"develop": ["a"]}


def test_pages_of_any_name(write: Write, tmp_path: Path) -> None:
    """A page is told by how it begins; what else lies beside it is passed over."""
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
    found = snapshots(tmp_path, report=report)
    assert packages(found) == {"develop": ["hdf5", "late", "mpich", "zlib"]}
    folder = tmp_path / "saved"
    passed_over = [f"{folder / name}: is no cache page" for name in ("about.md", "index.md")]
    assert sorted(report.warnings) == [f"{it}, and is passed over" for it in passed_over]


@pytest.mark.parametrize("name", ["specs.md", "hdf5.md", "hdf5.txt"])
def test_a_page_that_is_cut(name: str, write: Write, tmp_path: Path) -> None:
    """It ends the import: it is a page, and must not seem removed."""
    write("develop/zlib/specs.md", "1")
    cut = write(f"develop/hdf5/{name}", "2")
    cut.write_bytes(cut.read_bytes()[:60])
    with pytest.raises(SourceError, match="is cut") as caught:
        snapshots(tmp_path)
    assert caught.value.location == str(cut)


@pytest.mark.parametrize("name", ["specs.md", "hdf5.md"])
@pytest.mark.parametrize(("rest", "reason"), [(b"", "is empty"), (bytes(100), "does not begin")])
def test_what_a_crash_leaves_of_a_page(
    name: str, rest: bytes, reason: str, write: Write, tmp_path: Path
) -> None:
    """So does one that is named as a page and has nothing in it, or zeros."""
    write("develop/zlib/specs.md", "1")
    (tmp_path / "develop" / name).write_bytes(rest)
    with pytest.raises(SourceError, match=reason):
        snapshots(tmp_path)


def test_a_file_that_cannot_be_looked_into(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a page, so it is bad."""
    write("develop/zlib/specs.md", "1")
    closed = write("develop/hdf5/specs.txt", "2")
    opened = os.open

    def refuse(path: str, *more: Any) -> int:
        if path == str(closed):
            raise PermissionError(13, "Permission denied")
        return opened(path, *more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SourceError, match="Permission denied"):
        snapshots(tmp_path)
    report = Report(skip_bad=True)
    assert packages(snapshots(tmp_path, report=report)) == {"develop": ["zlib"]}
    assert [error.location for error in report.skipped] == [str(closed)]


def states(*paths: Path, tags: tuple[str, ...] = ()) -> list[tuple[str, str, list[str]]]:
    """Return what is read: tags, dates and packages."""
    return [
        (it.tag, f"{it.taken_at:%Y-%m-%d}" if it.taken_at else "", [*it.content.packages])
        for it in read_pages(paths, tags=tags, report=Report())
    ]


DATED = ("develop-2025-01-12", "develop-2025-01-05")


@pytest.fixture
def dated(write: Write, tmp_path: Path) -> Path:
    """Return a folder with two states of develop and a release, each hash in all of them."""
    for folder in DATED:
        write(f"{folder}/a/specs.md", "1", categories=["package", "develop"])
    write("develop-2025-01-12/b/specs.md", "2", categories=["package", "develop"])
    write("v0.22.0/a/specs.md", "1")
    return tmp_path


def test_folders_that_are_named_by_dates(dated: Path) -> None:
    """Their pages are states of the tag that they name, however the folders are given."""
    history = [("develop", "2025-01-05", ["a"]), ("develop", "2025-01-12", ["a", "b"])]
    assert states(dated / DATED[0]) == history[1:]
    assert states(dated / DATED[0], dated / DATED[1]) == history
    assert states(dated) == [*history, ("v0.22.0", "", ["a"])]
    assert states(dated, tags=("develop",)) == history
    assert states(dated / DATED[0] / "b" / "specs.md") == [("develop", "2025-01-12", ["b"])]


def test_a_date_beside_none(dated: Path, write: Write) -> None:
    """A folder without a date has the newest state, whose moment is left to the import."""
    write("develop/a/specs.md", "1")
    found = states(*(dated / name for name in ("develop", *DATED)))
    assert [date for _, date, _ in found] == ["2025-01-05", "2025-01-12", ""]


@pytest.mark.parametrize(
    ("folder", "tag"),
    [
        ("develop-2025-01-12", "main"),
        ("develop-2025-13-12", "develop"),
        ("develop-2025-01-12-copy", "develop"),
        ("develop-e4s-2025-01-12", "develop"),
        ("develop-2025-01-12", "develop-2025-01-12"),
    ],
)
def test_folders_whose_date_is_not_that_of_the_tag(write: Write, folder: str, tag: str) -> None:
    """Nothing is read into names of other tags, and a dated tag has its own date."""
    page = write(f"{folder}/a/specs.md", "1", categories=["package", tag])
    assert states(page) == [(tag, "", ["a"])]


def test_dates_under_another_tag(dated: Path) -> None:
    """Another tag has the same dates, unless its own name has one."""
    both = [dated / name for name in DATED]
    assert [it[:2] for it in states(*both, tags=("main",))] == [
        ("main", "2025-01-05"),
        ("main", "2025-01-12"),
    ]
    assert states(both[0], tags=("x-2025-02-01",)) == [("x-2025-02-01", "", ["a", "b"])]
    with pytest.raises(InvalidArgument, match="x-2025-02-01 has one date"):
        states(*both, tags=("x-2025-02-01",))


@pytest.mark.parametrize("name", ["{}/a/specs.md", "{}/a.txt"])
def test_two_states_without_dates(write: Write, tmp_path: Path, name: str) -> None:
    """What is meant cannot be known; how to say it is said once a page."""
    keys = {"title": "a", "categories": ["package", "develop"]}
    first = write(name.format("old"), "1", "2", **keys)
    second = write(name.format("young"), "1", "2", **keys)
    with pytest.raises(SourceError) as caught:
        snapshots(tmp_path)
    assert str(caught.value) == (
        f"{second}, a: {first} is a page of the same package and tag: one of them is of another "
        "state. Import them one by one, each with --taken-at DATE, or from folders named by tag "
        "and date, such as develop-2025-01-05"
    )
    report = Report(skip_bad=True)
    assert len(snapshots(tmp_path, report=report)["develop"].content) == 2
    assert len(report.skipped) == 1


def test_two_states_without_a_tag(write: Write, tmp_path: Path) -> None:
    """Nothing can be said of folders' names where no tag is known."""
    write("old/a.txt", "1", title="a")
    write("young/a.txt", "1", title="a")
    with pytest.raises(SourceError, match=r"Import them one by one, each with --taken-at DATE$"):
        snapshots(tmp_path, tags=("develop",))


def test_real_pages_of_several_tags() -> None:
    """Real pages of all years, each under its tag."""
    found = snapshots(real_data.folder() / "pages-more", real_data.folder() / "pages")
    assert packages(found) == {
        "develop": ["py-safetensors", "py-tokenizers"],
        "develop-2025-03-23": ["rocblas"],
        "develop-2025-03-30": ["cp2k", "rocblas"],
        "develop-2025-07-13": ["cp2k"],
        "v0.18.1": ["aml"],
    }


def test_folders_however_deep_they_stand(write: Write, tmp_path: Path) -> None:
    """Deeper than Python's stack goes: made small here, as such folders are hard to remove."""
    write(f"{'in/' * 150}develop/a/specs.md", "1")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 100)
    try:
        found = snapshots(tmp_path)
    finally:
        sys.setrecursionlimit(limit)
    assert packages(found) == {"develop": ["a"]}


@pytest.mark.parametrize("kind", ["empty", "missing", "dangling"])
def test_nothing_to_read(kind: str, tmp_path: Path) -> None:
    """A path with nothing to read at it is named."""
    path = tmp_path / kind
    if kind == "empty":
        path.mkdir()
    if kind == "dangling":
        path.symlink_to(tmp_path / "missing")
    reason = "no cache pages, and is no build cache" if kind == "empty" else "does not exist"
    with pytest.raises(SourceError, match=reason) as caught:
        snapshots(path)
    assert caught.value.location == str(path)


BAD = {
    "empty": b"",
    "cut": b'---\ntitle: "x"\nspec_details: [{"hash": "',
    "no opening": b"title: x\n---\n",
    "not UTF-8": b'---\ntitle: "x\xff"\nspec_details: []\n---\n',
    "not YAML": b"---\ntitle: [x\nspec_details: []\n---\n",
    "no details": b"---\ntitle: x\nlayout: cache\n---\n",
    "2022": b"---\ntitle: x\nspec_names:\n - x@1\n---\n",
    "aliases": b"---\ntitle: x\na: &a [1]\nspec_details: *a\n---\n",
    "object": b"---\ntitle: !!python/object:os.system {}\nspec_details: []\n---\n",
    "bomb": b"---\ntitle: x\nspec_details: " + b"[" * 60 + b"]" * 60 + b"\n---\n",
    "no hash": b'---\ntitle: x\nspec_details: [{"versions": ["1"]}]\n---\n',
    "bad tag": b"---\ntitle: x\ncategories: [package, ../../etc]\nspec_details: []\n---\n",
}


@pytest.mark.parametrize("what", BAD)
def test_bad_pages(what: str, write: Write, tmp_path: Path) -> None:
    """A bad page ends the import and is named; or it is listed, and the others are read."""
    good = write("develop/a/specs.md", "1")
    bad = write("develop/x/specs.md")
    bad.write_bytes(BAD[what])
    with pytest.raises(SourceError) as caught:
        snapshots(tmp_path)
    assert caught.value.location == str(bad)
    report = Report(skip_bad=True)
    found = snapshots(good, bad, report=report)
    assert packages(found) == {"develop": ["a"]}
    assert [error.location for error in report.skipped] == [str(bad)]


def test_unreadable_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the system does not give is a bad page like any other."""

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    page = write("develop/a/specs.md", "1")
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SourceError) as caught:
        snapshots(page)
    assert str(caught.value) == f"{page}: cannot be read: Permission denied"
    report = Report(skip_bad=True)
    assert not snapshots(page, report=report)
    assert len(report.skipped) == 1


def test_unreadable_folder(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that the system does not list is bad, not empty: its pages must not seem removed."""
    page = write("develop/a/specs.md", "1")
    closed = write("develop/b/specs.md", "2").parent
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if path == str(closed):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SourceError) as caught:
        snapshots(tmp_path)
    assert str(caught.value) == f"{closed}: cannot be read: Permission denied"
    report = Report(skip_bad=True)
    assert packages(snapshots(page.parents[1], report=report)) == {"develop": ["a"]}
    assert [error.location for error in report.skipped] == [str(closed)]


def test_a_hash_twice_on_a_page(write: Write) -> None:
    """A hash names one spec: the second on a page is bad."""
    page = write("develop/a/specs.md", "1", "2", "1")
    with pytest.raises(SourceError) as caught:
        snapshots(page)
    reason = f"the hash {hash_of('1')} stands there already (spec_details)"
    assert str(caught.value) == f"{page}, a: {reason}"
    report = Report(skip_bad=True)
    assert len(snapshots(page, report=report)["develop"].content) == 2
    assert [error.reason for error in report.skipped] == [reason]


def test_a_hash_on_two_pages(write: Write, tmp_path: Path) -> None:
    """A hash stands in a tag once; in another tag it may stand again."""
    first = write("develop/a/specs.md", "1", "2")
    second = write("develop/b/specs.md", "3", "2")
    write("v0.22.0/b/specs.md", "2")
    with pytest.raises(SourceError) as caught:
        snapshots(tmp_path)
    assert str(caught.value).startswith(f"{second}, b: the hash {hash_of('2')} stands there")
    assert caught.value.reason.endswith(f"(in {first})")
    report = Report(skip_bad=True)
    found = snapshots(tmp_path, report=report)
    assert {tag: len(it.content) for tag, it in found.items()} == {"develop": 3, "v0.22.0": 1}
    assert len(report.skipped) == 1


def test_a_package_on_two_pages(write: Write, tmp_path: Path) -> None:
    """Pages that name the same package add their specs up."""
    write("develop/a/specs.md", "1")
    write("develop/b/specs.md", "2", title="a", categories=["package", "develop"])
    found = snapshots(tmp_path)["develop"]
    assert (list(found.content.packages), len(found.content)) == (["a"], 2)


def test_a_page_without_specs(write: Write) -> None:
    """A tag whose pages hold no spec is no mistake, but nothing to publish; a warning says so."""
    report = Report()
    page = write("develop/a/specs.md")
    assert packages(snapshots(page, report=report)) == {}
    assert report.warnings == [f"{page}: no spec of develop; nothing to publish"]


def test_a_tag_of_bad_pages_alone(write: Write, tmp_path: Path) -> None:
    """A tag none of whose specs can be read is left out rather than published empty."""
    write("develop/a/specs.md", "1")
    write("main/a/specs.md", spec_details=[{"hash": "bad"}])
    report = Report(skip_bad=True)
    assert packages(snapshots(tmp_path, report=report)) == {"develop": ["a"]}
    assert len(report.skipped) == 1


def test_made_up_pages_are_marked(write: Write) -> None:
    """What one page says of being made up holds for all that is read with it."""
    page = write("develop/a/specs.md", "1", synthetic=True)
    assert snapshots(page)["develop"].source.synthetic


@pytest.fixture
def tags(write: Write, tmp_path: Path) -> Path:
    """Return a folder with pages of four tags."""
    for tag in ("develop", "develop-2025-03-23", "develop-2025-03-30", "v0.22.0"):
        write(f"{tag}/a/specs.md", "1")
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ((), ["develop", "develop-2025-03-23", "develop-2025-03-30", "v0.22.0"]),
        (("develop",), ["develop"]),
        (("v*", "develop"), ["develop", "v0.22.0"]),
        (("develop-2025-03-??",), ["develop-2025-03-23", "develop-2025-03-30"]),
        (("*",), ["develop", "develop-2025-03-23", "develop-2025-03-30", "v0.22.0"]),
        (("develop", "main"), ["develop"]),
    ],
)
def test_choice_of_tags(wanted: tuple[str, ...], chosen: list[str], tags: Path) -> None:
    """Names and globs choose among the tags that the pages state, each once, in order."""
    assert list(snapshots(tags, tags=wanted)) == chosen


@pytest.mark.parametrize("wanted", [("main",), ("Develop",), ("main", "x*")])
def test_unknown_tags(wanted: tuple[str, ...], tags: Path) -> None:
    """A choice that fits nothing names what there is to choose from."""
    with pytest.raises(InvalidArgument) as caught:
        snapshots(tags, tags=wanted)
    assert str(caught.value) == (
        f"--tag: {' '.join(wanted)} fits no tag of the pages "
        "(develop, develop-2025-03-23, develop-2025-03-30, v0.22.0)"
    )


def test_another_tag(write: Write) -> None:
    """Pages of one tag can be published under another, which is told."""
    page = write("develop/a/specs.md", "1")
    report = Report()
    assert list(snapshots(page, tags=("develop-2025-03-30",), report=report)) == [
        "develop-2025-03-30"
    ]
    assert report.warnings == [f"{page}: says tag develop; published as develop-2025-03-30"]


@pytest.mark.parametrize("wanted", ["../x", ""])
def test_another_tag_that_is_none(wanted: str, write: Write) -> None:
    """What cannot be a tag is not published under."""
    with pytest.raises(InvalidArgument, match="is no tag"):
        snapshots(write("develop/a/specs.md", "1"), tags=(wanted,))


def test_another_tag_that_is_a_glob(write: Write) -> None:
    """A glob chooses among the tags of the pages, and names none of its own."""
    with pytest.raises(InvalidArgument, match=r"main\* fits no tag of the pages \(develop\)"):
        snapshots(write("develop/a/specs.md", "1"), tags=("main*",))


def test_pages_without_tag(write: Write) -> None:
    """Pages that state no tag, nor lie below one, need one from the caller."""
    page = write("a.md", "1", title="a")
    with pytest.raises(TagNeeded, match=r"a\.md: says no tag of its own; name one with --tag"):
        snapshots(page)
    assert list(snapshots(page, tags=("v0.19.0",))) == ["v0.19.0"]


def test_tag_in_the_path() -> None:
    """A page that states no tag has that of the folder it lies below."""
    assert packages(snapshots(PAGES / "untagged")) == {"e4s-23.05": ["kokkos"]}


def test_tag_on_the_page_counts_before_the_path(write: Write) -> None:
    """A page says its tag itself, wherever it lies."""
    page = write("copy/a/specs.md", "1", categories=["package", "develop"])
    assert list(snapshots(page)) == ["develop"]


def test_pages_with_and_without_tag(write: Write, tmp_path: Path) -> None:
    """Pages without a tag are not published under that of others."""
    write("develop/a/specs.md", "1")
    write("b.md", "2", title="b")
    with pytest.raises(TagNeeded):
        snapshots(tmp_path)
    with pytest.raises(InvalidArgument):
        snapshots(tmp_path, tags=("develop",))
