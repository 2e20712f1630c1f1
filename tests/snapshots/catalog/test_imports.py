"""Imports from locations: the same result in one process or several."""

import pickle
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.parallel_import import publish_locations
from snapshots.catalog.publication import Publication
from snapshots.errors import NothingToPublish, SourceError
from snapshots.models import RevisionInfo
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.sources.buildcache.folders import put
from tests.snapshots.sources.page_trees import TAGS, page, tree

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
        partial(opened.publish, taken_at=MOMENT, jobs=jobs),
        catalog=opened,
        tags=tags,
        settings=READ,
        report=Report() if report is None else report,
        jobs=jobs,
    )


def stored(catalog: Path) -> tuple[set[str], set[RevisionInfo], set[Any]]:
    """Return the checksums of contents, all rows of revisions, and the stored pairs."""
    opened = Catalog(str(catalog))
    opened.refresh(missing_ok=True)
    opened.specs.refresh()
    files = {file.path[-29:] for files in opened.specs.files.values() for file in files}
    rows = {replace(row, published_at=MOMENT) for row in opened.history.revisions}
    return files, rows, set(opened.changes.counts)


def mapping_here(
    read: Callable[[Any], Any], _location: str, parts: Sequence[Any], **_options: object
) -> Any:
    """Read the parts in this process, as workers do."""
    return nullcontext(map(pickle.loads(pickle.dumps(read)), parts))  # noqa: S301


@pytest.mark.usefixtures("processes")
def test_same_result_in_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests, rows, the bytes of files, and the changes between neighbours are equal."""
    pages = tree(tmp_path / "pages")
    alone = published(tmp_path / "alone", pages)
    others = published(tmp_path / "others", pages, jobs=2)
    assert (
        [publication.revision.tag for publication in alone]
        == [publication.revision.tag for publication in others]
        == [*TAGS]
    )
    assert all(publication.is_new and publication.not_stored is None for publication in others)
    assert stored(tmp_path / "alone") == stored(tmp_path / "others")
    assert len(stored(tmp_path / "others")[2]) == len(TAGS)
    monkeypatch.setattr("snapshots.catalog.parallel_import.mapping", mapping_here)
    published(tmp_path / "here", pages, jobs=2)
    assert stored(tmp_path / "here") == stored(tmp_path / "alone")


@pytest.mark.usefixtures("processes")
def test_states_of_one_tag_are_separate_parts(tmp_path: Path) -> None:
    """Each date is a part, and nothing is read twice."""
    for tag in TAGS:
        put(tmp_path / "pages" / tag / "zlib" / "specs.md", page("zlib", "z", tag, tag="develop"))
    steps: list[int | None] = []
    report = Report(progress=lambda _task, _done, total: steps.append(total))
    publications = published(tmp_path / "catalog", tmp_path / "pages", jobs=2, report=report)
    days = [f"develop-{publication.revision.taken_at:%Y-%m-%d}" for publication in publications]
    assert days == [*TAGS]
    assert steps == [3, 3, 3, 3]


@pytest.mark.usefixtures("processes")
def test_first_error_of_the_input_is_raised(tmp_path: Path) -> None:
    """It has location and reason, whichever worker failed first; nothing is published."""
    pages = tree(tmp_path / "pages")
    bad = put(pages / TAGS[1] / "zlib" / "specs.md", b"---\ntitle: zlib\nspec_details: [\n---\n")
    put(pages / TAGS[2] / "hdf5" / "specs.md", b"no page")
    with pytest.raises(SourceError) as caught:
        published(tmp_path / "catalog", pages, jobs=2)
    assert caught.value.location == str(bad)
    assert stored(tmp_path / "catalog") == (set(), set(), set())


@pytest.mark.usefixtures("processes")
def test_skipped_files_are_reported_in_order(tmp_path: Path) -> None:
    """Warnings are, too; a tag without other files is not published."""
    pages = tree(tmp_path / "pages")
    for tag in TAGS[1:]:
        for file in (pages / tag).rglob("*.md"):
            file.write_bytes(b"no page")
    put(pages / "v9" / "hdf5" / "specs.md", page("hdf5", tag="v9"))
    reports = [Report(skip_bad=True), Report(skip_bad=True)]
    for number, report in enumerate(reports):
        folder = tmp_path / str(number)
        (publication,) = published(folder, pages, jobs=number + 1, report=report)
        assert publication.revision.tag == TAGS[0]
    assert [*map(str, reports[0].skipped)] == [*map(str, reports[1].skipped)]
    assert len(reports[0].skipped) == 6
    (warning,) = reports[0].warnings
    assert "no spec of v9" in warning
    assert reports[1].warnings == [warning]


def test_nothing_to_publish(tmp_path: Path) -> None:
    """If all files are skipped, the import fails."""
    file = put(tmp_path / "pages" / "develop" / "a" / "specs.md", b"no page")
    with pytest.raises(NothingToPublish):
        published(tmp_path / "catalog", file, report=Report(skip_bad=True))
