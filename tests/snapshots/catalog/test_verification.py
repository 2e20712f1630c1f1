"""Verification: a sound catalog has no findings, and each kind of damage has one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.specs_table import SpecsTable
from snapshots.catalog.verification import Verified, verify
from snapshots.contents import Content, ContentRows
from snapshots.errors import CatalogError, EmptyCatalog
from tests.snapshots.catalog.expected_histories import TABLES, forget
from tests.snapshots.factories import a_snapshot, a_spec, day, full_spec
from tests.snapshots.importers import specs_of
from tests.snapshots.removal_catalogs import (
    drop,
    flip,
    publish,
    published,
    stored,
)

STATES = 4


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish states of develop, one per day, and one of a release, once for all tests."""
    folder = published(tmp_path_factory.mktemp("template"), STATES)
    publish(Catalog(str(folder)), 1, 9, "v1.0")
    return folder


def findings(catalog: Catalog) -> list[tuple[bool, str]]:
    """Return whether each finding is damage, and its text."""
    return [(finding.is_damage, str(finding)) for finding in verify(catalog.location).findings]


@pytest.mark.parametrize("jobs", [1, 2])
def test_sound_catalog(catalog: Catalog, jobs: int) -> None:
    """It has no findings, and all that was read is counted."""
    publish(catalog, 2, 20)
    outside = Content.of([], [full_spec("gcc"), a_spec(patches=(), dependencies=())])
    empty = a_snapshot([], "empty", day(3))
    catalog.publish([empty, replace(empty, content=outside, taken_at=day(4))])
    steps: list[tuple[str, int, int | None]] = []
    verified = verify(
        catalog.location, jobs=jobs, progress=lambda *arguments: steps.append(arguments)
    )
    assert verified == Verified(
        num_revisions=STATES + 4,
        num_contents=STATES + 2,
        num_specs=sum(len(specs_of(number)) for number in range(STATES)),
        num_pairs=7,
        findings=(),
    )
    assert verified.is_sound
    assert ("reading contents", STATES + 2, STATES + 2) in steps


def test_empty_catalog(catalog: Catalog) -> None:
    """A catalog whose revisions were all removed is sound."""
    drop(catalog, "v1.0", *(f"develop~{number}" for number in range(STATES)))
    assert verify(catalog.location).is_sound
    with pytest.raises(EmptyCatalog):
        catalog.require_history()


def test_catalog_without_history_tables(catalog: Catalog) -> None:
    """Its pairs are not compared yet."""
    forget(catalog, *TABLES)
    ((damaged, text),) = findings(catalog)
    assert not damaged
    assert "5 of 5 pairs of neighbours are not compared yet; 'cachelog upkeep'" in text


def rewrite_row(catalog: Catalog) -> None:
    """Add a row that contradicts an earlier row of the same content."""
    row = replace(catalog.history.resolve("develop"), taken_at=day(40), num_specs=7)
    RevisionsTable(catalog.storage).append([row])


def write_other_content(catalog: Catalog) -> None:
    """Write the rows of one content under the digest of another, with valid checksums."""
    digest = catalog.history.resolve("develop").digest
    other = a_snapshot(specs_of(50)).content
    SpecsTable(catalog.storage).write([ContentRows(digest, other.table())])


def content_file(catalog: Catalog) -> Path:
    """Return the file of the newest content of develop."""
    digest = catalog.history.resolve("develop").digest
    (name,) = (name for name in stored(catalog) if digest in name)
    return Path(catalog.location, "specs", name)


def table(catalog: Catalog, name: str) -> DeltaTable:
    """Open a table as other tools do."""
    return DeltaTable(f"{catalog.location}/{name}")


def file_of(catalog: Catalog, name: str) -> Path:
    """Return a file of a table."""
    return Path(table(catalog, name).file_uris()[0])


def break_log(catalog: Catalog) -> None:
    """Replace the last commit of the table of contents by invalid JSON."""
    commits = sorted(Path(catalog.location, "specs", "_delta_log").glob("*.json"))
    commits[-1].write_bytes(b"[1, 2]")


def commits_of_revisions(catalog: Catalog) -> list[Path]:
    """Return the commits of the table of revisions."""
    return sorted(Path(catalog.location, "revisions", "_delta_log").glob("*.json"))


def empty_commit(catalog: Catalog) -> None:
    """Leave the last commit without content, as a power cut can."""
    commits_of_revisions(catalog)[-1].write_bytes(b"")


def lose_log(catalog: Catalog) -> None:
    """Remove the log of the revisions."""
    for file in Path(catalog.location, "revisions", "_delta_log").iterdir():
        file.unlink()


@pytest.mark.parametrize(
    ("damage", "pattern"),
    [
        (lambda catalog: flip(content_file(catalog)), "does not have the bytes.*import the same"),
        (lambda catalog: content_file(catalog).unlink(), "content [0-9a-f]{12}: is missing.*same"),
        (write_other_content, "its rows have the digest [0-9a-f]{12}; remove its revisions"),
        (
            rewrite_row,
            r"develop@2025-02-14\.\w+ states num_specs 7, its content has 13; ",
        ),
        (
            lambda catalog: flip(file_of(catalog, "changes")),
            "changes: .* changes/.*cachelog upkeep",
        ),
        (break_log, "specs: the log of the table specs cannot be read: .*; restore it"),
        (
            empty_commit,
            r"revisions: .*\d+.json is empty; if it is the last one, .* delete it; else",
        ),
        (lose_log, "revisions: .*revisions/_delta_log is empty; restore it"),
        (lambda catalog: file_of(catalog, "revisions").unlink(), "revisions: .*No such.*; restore"),
    ],
)
def test_damage(catalog: Catalog, damage: Callable[[Catalog], None], pattern: str) -> None:
    """The finding describes the damage, and its remedy."""
    damage(catalog)
    verified = verify(catalog.location)
    assert not verified.is_sound
    texts = [str(finding) for finding in verified.findings if finding.is_damage]
    assert any(re.search(pattern, text) for text in texts), texts
    assert all(text.count("; 'cachelog upkeep'") <= 1 for text in texts)


@pytest.mark.parametrize("damage", [empty_commit, lose_log])
def test_import_after_a_lost_commit_is_refused(
    catalog: Catalog, damage: Callable[[Catalog], None]
) -> None:
    """It would hide the revisions that the log named, and a vacuum would delete their contents."""
    damage(catalog)
    before = commits_of_revisions(catalog)
    with pytest.raises(CatalogError, match="is empty"):
        publish(Catalog(catalog.location), 50, 50)
    assert commits_of_revisions(catalog) == before


def test_advice_repairs_the_damage(catalog: Catalog) -> None:
    """The revisions of a wrong content are removed, and imported again."""
    write_other_content(catalog)
    digest = catalog.history.resolve("develop").digest
    catalog.refresh()
    while digest in catalog.history.digests:
        drop(catalog, digest)
    publish(catalog, STATES - 1, STATES - 1)
    assert verify(catalog.location).is_sound


# -- one content
