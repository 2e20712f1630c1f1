"""Verification of a content: one finding describes the damage, regardless of its kind."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from snapshots.catalog.locations import parse_location
from snapshots.catalog.specs_table import SpecsTable
from snapshots.catalog.storage import Storage
from snapshots.catalog.verification import (
    Read,
    ToRead,
    content_of,
    read_content,
    read_contents,
    sum_of,
)
from snapshots.contents import Content, ContentRows
from snapshots.models import NOTHING, Spec
from snapshots.tables import StoredFile
from tests.snapshots.factories import SPECS, a_spec

CONTENT = Content.of([a_spec("a"), a_spec("b", name="zlib")])
PLACE = f"content {CONTENT.digest[:12]}"
AGAIN = "restore it"


@pytest.fixture
def specs(tmp_path: Path) -> SpecsTable:
    """Return a table of contents that does not exist yet."""
    return SpecsTable(Storage(parse_location(str(tmp_path))))


def written(specs: SpecsTable, rows: pa.Table, digest: str = CONTENT.digest) -> ToRead:
    """Write rows as a content, and return the content to read."""
    files = specs.write([ContentRows(digest, rows)], {})
    return ToRead(digest, files[digest], (), AGAIN)


def values(read: Read) -> list[Any]:
    """Return the fields of a result, with sums as numbers."""
    fields = msgspec.structs.astuple(read)
    return [it.tolist() if isinstance(it, np.ndarray) else it for it in fields]


def texts_of(read: Read) -> Sequence[str]:
    """Return the findings about an unreadable content."""
    assert (read.digest, read.hashes, read.num_specs) == (CONTENT.digest, None, 0)
    return [str(it) for it in read.findings]


def test_a_sound_content(specs: SpecsTable) -> None:
    """Nothing is found; its specs are counted, and their hashes summed up."""
    hashes = sum_of(it.hash for it in CONTENT.specs()).tolist()
    assert values(read_content(specs, written(specs, CONTENT.table()))) == [
        CONTENT.digest,
        [],
        hashes,
        2,
    ]


@pytest.mark.usefixtures("processes")
def test_processes_find_what_one_finds(specs: SpecsTable, tmp_path: Path) -> None:
    """In the order of the contents, also where one is missing."""
    missing = ToRead("f" * 64, (StoredFile(path="none", size=1, checksum="0" * 16),), (), AGAIN)
    contents = [missing, written(specs, CONTENT.table())]
    with read_contents(str(tmp_path), contents, 2) as found:
        by_two = list(found)
    assert [len(it.findings) for it in by_two] == [1, 0]
    with read_contents(str(tmp_path), contents) as found:
        assert list(map(values, by_two)) == list(map(values, found))


def test_nothing_needs_no_file(specs: SpecsTable) -> None:
    """A content without specs is known without being read; another one is missing."""
    nothing = values(read_content(specs, ToRead(NOTHING, None, (), AGAIN)))
    assert nothing == [NOTHING, (), [0, 0], 0]
    missing = read_content(specs, ToRead(CONTENT.digest, None, (), AGAIN))
    assert texts_of(missing) == [f"{PLACE}: is missing; {AGAIN}"]


def test_what_the_store_cannot_give_is_no_damage_of_rows(specs: SpecsTable, tmp_path: Path) -> None:
    """It may do so the next time."""
    content = written(specs, CONTENT.table())
    assert content.files
    file = tmp_path / "specs" / content.files[0].path
    file.unlink()
    file.mkdir()
    assert texts_of(read_content(specs, content)) == [f"{PLACE}: {file}: is not a file; try again"]


@pytest.mark.parametrize("fact", ["hash", "name"])
def test_rows_that_are_no_specs(specs: SpecsTable, fact: str) -> None:
    """The bytes are those that were written, but a fact that every spec has is missing."""
    rows = CONTENT.table()
    number = rows.schema.get_field_index(fact)
    rows = rows.set_column(number, fact, pa.array([None, "x" * 32], pa.string()))
    (text,) = texts_of(read_content(specs, written(specs, rows)))
    assert text.startswith(f"{PLACE}: its rows are not specs: ")
    assert "import the same again" in text


def test_hashes_that_stand_in_it_twice(specs: SpecsTable) -> None:
    """Its digest is right, as of such a content."""
    twice = Content.of([a_spec("a"), a_spec("a"), a_spec("b")])
    read = read_content(specs, written(specs, twice.table(), twice.digest))
    (finding,) = read.findings
    assert "1 hashes appear in it twice; remove its revisions" in str(finding)
    assert read.num_specs == 3


@given(inside=SPECS, outside=SPECS)
def test_records_and_digest_are_those_that_were_written(
    inside: list[Spec], outside: list[Spec]
) -> None:
    """Of specs in the cache and outside it, whatever is known of them, in any order of rows."""
    content = Content.of(inside, outside)
    rows = content.table()
    rows = pa.concat_tables([rows.slice(len(rows) // 2), rows.slice(0, len(rows) // 2)])
    again = content_of(rows)
    assert list(again.specs()) == list(content.specs())
    assert again.outside.specs == content.outside.specs
    assert again.digest == content.digest
