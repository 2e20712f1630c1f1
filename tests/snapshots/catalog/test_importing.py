"""Imports from locations: the same result in one process or several, in parts or as a whole."""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.pairs import changes_of_pairs
from snapshots.catalog.parallel_import import _read, _Sent, packing, publish_locations
from snapshots.catalog.publication import Publication
from snapshots.contents import PackedSnapshot, Snapshot
from snapshots.errors import CachelogError, NothingToPublish, SourceError
from snapshots.sources.pages.folders import PagesPart, read_apart
from snapshots.sources.reports import Asked, PartReader, Report
from snapshots.sources.settings import ReadSettings
from tests.expensive import examples
from tests.snapshots.sources.buildcache.folders import put
from tests.snapshots.sources.page_trees import TAGS, page, tree
from tests.snapshots.sources.readings import read_locations

MOMENT = datetime(2025, 2, 1, tzinfo=UTC)
READ = ReadSettings(proof=False)


def published(
    catalog: Path,
    *locations: Path,
    jobs: int | None = None,
    report: Report | None = None,
    tags: Sequence[str] = (),
) -> list[Publication]:
    """Publish the snapshots at locations."""
    opened = Catalog(str(catalog))
    return publish_locations(
        [*map(str, locations)],
        lambda found: opened.publish(
            found, taken_at=MOMENT, make_pairs=partial(changes_of_pairs, jobs=jobs)
        ),
        catalog=opened,
        tags=tags,
        settings=READ,
        report=Report() if report is None else report,
        jobs=jobs,
    )


def held(catalog: Path) -> tuple[set[str], set[tuple[Any, ...]], set[Any]]:
    """Return the files of contents, all rows of revisions, and the stored pairs."""
    opened = Catalog(str(catalog))
    opened.refresh(missing_ok=True)
    files = {file.path for digest in opened.history.digests for file in opened.files_of(digest)}
    rows = {
        (it.tag, it.digest, it.taken_at, it.num_packages, it.num_specs, it.num_stacks, it.source)
        for it in opened.history.revisions
    }
    return files, rows, set(opened.counts)


@pytest.mark.usefixtures("processes")
def test_the_same_whoever_reads(tmp_path: Path) -> None:
    """Digests, rows, the very bytes of files, and what changed between neighbours."""
    pages = tree(tmp_path / "pages")
    alone = published(tmp_path / "alone", pages)
    others = published(tmp_path / "others", pages, jobs=2)
    assert [it.revision.tag for it in alone] == [it.revision.tag for it in others] == [*TAGS]
    assert all(it.is_new and it.unkept is None for it in others)
    assert held(tmp_path / "alone") == held(tmp_path / "others")
    assert len(held(tmp_path / "others")[2]) == len(TAGS)


@pytest.mark.usefixtures("processes")
def test_states_of_one_tag_are_read_apart(tmp_path: Path) -> None:
    """Each date is a part of its own, and nothing is read twice."""
    for tag in TAGS:
        put(tmp_path / "pages" / tag / "zlib" / "specs.md", page("zlib", "z", tag, tag="develop"))
    steps: list[int | None] = []
    report = Report(progress=lambda _task, _done, total: steps.append(total))
    made = published(tmp_path / "catalog", tmp_path / "pages", jobs=2, report=report)
    days = [f"develop-{it.revision.taken_at:%Y-%m-%d}" for it in made]
    assert days == [*TAGS]
    assert steps == [3, 3, 3, 3]


def test_what_a_worker_sends(tmp_path: Path) -> None:
    """Contents come back as they were, with their rows if they are new, and what was skipped."""
    catalog = Catalog(str(tmp_path / "catalog"))
    files = [str(it) for it in sorted(tree(tmp_path / "pages").rglob("specs.md"))]
    bad = put(tmp_path / "bad" / "specs.md", b"no page")
    part = PagesPart([*files, str(bad)], str(tmp_path), (), 0, len(files) + 1)
    for is_known in (False, True):
        catalog.refresh(missing_ok=True)
        work = partial(_read, catalog.reader(), READ, True)
        sent: _Sent = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(work))(part)))  # noqa: S301
        received = sent.part
        expected = PartReader(READ, Report(skip_bad=True), Snapshot.summary).here(part)
        assert received.states == expected.states == {(tag, None) for tag in TAGS}
        assert [it.summary() for it in received.snapshots] == expected.snapshots
        assert [it.location for it in sent.skipped] == [str(bad)]
        for found in received.snapshots:
            assert (found.rows is None) is is_known
        catalog.publish(received.snapshots)
    assert {it.tag for it in catalog.history.revisions} == {*TAGS}


@pytest.mark.usefixtures("processes")
def test_the_first_error_of_the_input_is_raised(tmp_path: Path) -> None:
    """With place and reason, whichever worker was first; nothing is published."""
    pages = tree(tmp_path / "pages")
    bad = put(pages / TAGS[1] / "zlib" / "specs.md", b"---\ntitle: zlib\nspec_details: [\n---\n")
    put(pages / TAGS[2] / "hdf5" / "specs.md", b"no page")
    with pytest.raises(SourceError) as caught:
        published(tmp_path / "catalog", pages, jobs=2)
    assert caught.value.location == str(bad)
    assert held(tmp_path / "catalog") == (set(), set(), set())


@pytest.mark.usefixtures("processes")
def test_skipped_files_are_reported_in_their_order(tmp_path: Path) -> None:
    """And what is odd; a tag that has nothing else is left out."""
    pages = tree(tmp_path / "pages")
    for tag in TAGS[1:]:
        for file in (pages / tag).rglob("*.md"):
            file.write_bytes(b"no page")
    odd = page("hdf5", "a", tag=TAGS[0], meta={"num_specs": 7})
    put(pages / TAGS[0] / "hdf5" / "specs.md", odd)
    reports = [Report(skip_bad=True), Report(skip_bad=True)]
    found = [
        published(tmp_path / str(number), pages, jobs=number + 1, report=report)
        for number, report in enumerate(reports)
    ]
    assert [[it.revision.tag for it in some] for some in found] == [[TAGS[0]]] * 2
    assert [str(it) for it in reports[0].skipped] == [str(it) for it in reports[1].skipped]
    assert len(reports[0].skipped) == 6
    assert reports[0].warnings == reports[1].warnings
    assert ["num_specs says 7" in it for it in reports[0].warnings] == [True]


def test_what_the_catalog_has_comes_without_rows(tmp_path: Path) -> None:
    """Unless it is damaged there: then it is replaced."""
    pages = tree(tmp_path / "pages")
    published(tmp_path / "catalog", pages)
    catalog = Catalog(str(tmp_path / "catalog"))
    catalog.refresh()
    digest = catalog.history.resolve(TAGS[1]).digest
    (damaged,) = (tmp_path / "catalog" / "specs" / f"digest={digest}").glob("*.parquet")
    whole = damaged.read_bytes()

    def rows() -> list[bool]:
        with packing(catalog, READ, Report()) as reader:
            found = read_apart([str(pages)], Asked(), reader)
            return [it.rows is not None for it in found]

    assert rows() == [False, False, False]
    damaged.write_bytes(whole[::-1])
    assert rows() == [False, True, False]
    again = published(tmp_path / "catalog", pages)
    assert [(it.is_new, it.is_mended) for it in again] == [
        (False, False),
        (False, True),
        (False, False),
    ]


def test_nothing_is_nothing(tmp_path: Path) -> None:
    """Where all was skipped, that is said instead of a success."""
    file = put(tmp_path / "pages" / "develop" / "a" / "specs.md", b"no page")
    report = Report(skip_bad=True)
    with pytest.raises(NothingToPublish):
        published(tmp_path / "catalog", file, report=report)
    assert len(report.skipped) == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_tags_that_are_mixed_in_folders(tmp_path: Path, jobs: int) -> None:
    """Only all pages together say what a tag has, so they are read again as one part."""
    for folder, tags in {"one": ("develop", "main"), "two": ("main", "develop")}.items():
        for name, tag in zip("ab", tags, strict=True):
            file = tmp_path / "pages" / folder / name / "specs.md"
            put(file, page(f"{folder}-{name}", f"{folder}-{name}", tag=tag, meta={"num_specs": 9}))
    report = Report()
    found = published(tmp_path / "catalog", tmp_path / "pages", jobs=jobs, report=report)
    assert {it.revision.tag: it.revision.num_packages for it in found} == {"develop": 2, "main": 2}
    assert len(report.warnings) == 4


@pytest.mark.parametrize("other", [None, "develop-2025-01-19"])
def test_one_tag_under_another_name(tmp_path: Path, other: str | None) -> None:
    """Also where the pages of a second folder cannot be read, so that one tag alone is stated."""
    put(tmp_path / "pages" / "a" / "x" / "specs.md", page("x", "x", tag="develop"))
    put(tmp_path / "pages" / "b" / "y" / "specs.md", b"no page" if other is None else page("y"))
    report = Report(skip_bad=True)
    if other is None:
        (found,) = published(tmp_path / "catalog", tmp_path / "pages", tags=["mine"], report=report)
        assert found.revision.tag == "mine"
        assert [it.rpartition(": ")[2] for it in report.warnings] == [
            "says tag develop; published as mine"
        ]
        return
    with pytest.raises(CachelogError, match="mine fits no tag of the pages"):
        published(tmp_path / "catalog", tmp_path / "pages", tags=["mine"], report=report)


NAMES = st.sampled_from(["a", "b", "c"])
FOLDERS = st.tuples(st.sampled_from(["x", "y", "."]), st.sampled_from(["develop", "main", "t"]))
PAGES = st.one_of(
    st.just(b"no page"),
    st.builds(
        lambda name, labels, tag: page(name, *labels, tag=tag),
        NAMES,
        st.lists(st.sampled_from("abcdef"), max_size=3),
        st.sampled_from(["develop", "main", "v1.0", None]),
    ),
)
TREES = st.dictionaries(st.tuples(FOLDERS, NAMES), PAGES, min_size=1, max_size=6)


Outcome = tuple[set[tuple[str, str, int]], list[str]] | str


def outcome(publish: Callable[[Report], Iterator[Any]], *, skip_bad: bool) -> Outcome:
    """Return the contents by tag and the skipped places, or the error."""
    report = Report(skip_bad=skip_bad)
    try:
        found = {(it.tag, it.summary().digest, it.summary().num_specs) for it in publish(report)}
    except CachelogError as error:
        return str(error)
    return found, sorted(map(str, report.skipped))


@examples(60)
@given(TREES, st.sampled_from([(), ("develop",), ("mine",), ("*",)]), st.booleans())
def test_part_by_part_as_all_at_once(
    pages: dict[tuple[tuple[str, str], str], bytes], tags: tuple[str, ...], skip_bad: bool
) -> None:
    """Whatever the folders are, and whatever the pages say: the same snapshots, or an error."""
    with TemporaryDirectory() as text_of_folder:
        folder = Path(text_of_folder)
        for ((above, tag), name), data in pages.items():
            put(folder / "pages" / above / tag / name / "specs.md", data)
        locations = [str(folder / "pages")]

        def whole(report: Report) -> Iterator[Any]:
            return read_locations(locations, tags=tags, settings=READ, report=report)

        def apart(report: Report) -> Iterator[PackedSnapshot]:
            catalog = Catalog(str(folder / "catalog"))
            found = publish_locations(
                locations, list, catalog=catalog, tags=tags, settings=READ, report=report
            )
            return iter(found)

        expected, found = outcome(whole, skip_bad=skip_bad), outcome(apart, skip_bad=skip_bad)
        if isinstance(expected, str) and "fits no tag" not in expected:
            assert isinstance(found, str)
        elif isinstance(expected, tuple) and not expected[0]:
            assert found == str(NothingToPublish())
        else:
            assert found == expected


def test_workers_far_away_receive_whole_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their folders are others than that of the importer."""
    tree(tmp_path / "pages")
    monkeypatch.chdir(tmp_path)
    paths: list[str] = []

    def mapping(_read: object, _location: str, parts: Sequence[Any], **_how: object) -> Any:
        paths.extend(file for part in parts for file in part.files)
        raise CachelogError("far enough")

    monkeypatch.setattr("snapshots.catalog.parallel_import.mapping", mapping)
    opened = Catalog(str(tmp_path / "catalog"))
    with pytest.raises(CachelogError, match="far enough"):
        publish_locations(
            ["pages"],
            list,
            catalog=opened,
            settings=READ,
            report=Report(),
            cluster="ray://127.0.0.1:10001",
        )
    assert paths
    assert all(map(os.path.isabs, paths))
