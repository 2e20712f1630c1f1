"""The bytes of a content decode to the same frame as its records, with and without a base."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.locations import parse_location
from snapshots.catalog.overlays import Base, Bases, folder_of, whole
from snapshots.catalog.parquet import from_parquet, named_by_bytes, to_parquet
from snapshots.catalog.specs_table import (
    _CODED,
    _FRAME_COLUMNS,
    DamagedContent,
    SpecsTable,
    stored_content,
)
from snapshots.catalog.storage import Storage
from snapshots.contents import Content, ContentRows
from snapshots.frames.columns import Column
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.tables import SPEC_ROWS, StoredFile
from tests.snapshots.catalog.contents.test_overlays import changed
from tests.snapshots.factories import SPECS, a_spec, seeded
from tests.snapshots.overlays import laid_always


def stored(content: Content, data: pa.Buffer) -> tuple[StoredFile, pa.Buffer]:
    """Return a file of a content."""
    return named_by_bytes(folder_of(content.digest), data), data


def two_files(
    base: Content, head: Content, base_data: pa.Buffer | None = None
) -> list[tuple[StoredFile, pa.Buffer]]:
    """Return the files of an overlay: its own, then that of its base."""
    rows = ContentRows(base.digest, whole(base.table()))
    below = stored(base, to_parquet(rows.table) if base_data is None else base_data)
    with laid_always():
        bases = Bases({base.digest: [below[0]]}, lambda _: rows)
        kept = bases.packed(ContentRows(head.digest, head.table()), base.digest)
    if not len(head):  # which takes no space whole
        return [stored(head, kept.data)]
    assert kept.base == Base(base.digest, below[0])
    return [stored(head, kept.data), below]


def frame_of(content: Content, files: list[tuple[StoredFile, pa.Buffer]]) -> Frame:
    """Return the frame that is read from files."""
    read = stored_content("catalog", content.digest, files)
    return Frame(read(_FRAME_COLUMNS, _CODED), content.digest)


def assert_equal(first: Frame, second: Frame) -> None:
    """Compare the rows in order, and the distinct values of columns."""
    assert len(first) == len(second)
    assert [first.spec(row) for row in range(len(first))] == [
        second.spec(row) for row in range(len(second))
    ]
    for name in _CODED:
        one, other = first.columns[name], second.columns[name]
        assert isinstance(one, Column)
        assert isinstance(other, Column)
        assert one.values == other.values
        assert np.array_equal(one.codes, other.codes)
    assert {*first.stacks.values} == {*second.stacks.values}


@given(first=SPECS, random=seeded(lambda random: random))
def test_a_frame_is_what_the_content_is(first: list[Spec], random: Random) -> None:
    """Nothing of it tells how the content is kept: no order, and no value of rows that are gone."""
    base, head = Content.of(first), Content.of(changed(random, first))
    expected = Frame(head.table(), head.digest)
    for files in (
        two_files(base, head),
        [stored(head, to_parquet(whole(head.table())))],
    ):
        assert_equal(frame_of(head, files), expected)


@pytest.mark.parametrize("missing", ["namespace", "size", "patches", "spec_format", "in_cache"])
def test_a_base_that_is_older_than_a_column(missing: str) -> None:
    """Its rows do not know the fact; those of the content itself do."""
    old, new = a_spec("old", namespace="builtin", size=1), a_spec("new", namespace="own", size=2)
    base, head = Content.of([old]), Content.of([old, new])
    rows = whole(base.table()).drop_columns([missing])
    files = two_files(base, head, to_parquet(rows))
    frame = frame_of(head, files)
    assert {frame.hashes.at(row) for row in range(2)} == {old.hash, new.hash}
    read = stored_content("catalog", head.digest, files)([*SPEC_ROWS.names])
    facts = {row["hash"]: row[missing] for row in read.to_pylist()}
    assert facts[old.hash] is None
    assert facts[new.hash] == from_parquet("new", files[0][1])[missing].to_pylist()[0]


@pytest.mark.parametrize("damaged", [0, 1])
def test_whose_bytes_are_damaged(damaged: int) -> None:
    """The error names the content that cannot be read, and whose rows they are."""
    base, head = Content.of([a_spec("1")]), Content.of([a_spec("1"), a_spec("2")])
    files = two_files(base, head)
    read = files[damaged]
    files[damaged] = (read[0], read[1].slice(1))
    with pytest.raises(DamagedContent) as caught:
        stored_content("catalog", head.digest, files)(["hash"])
    assert f"the content {head.digest[:12]} is " in str(caught.value)
    assert (f"laid over {base.digest[:12]}, which is damaged" in str(caught.value)) == bool(damaged)


@given(st.lists(st.sampled_from(SPEC_ROWS.names), unique=True))
def test_columns_may_be_codes(columns: list[str]) -> None:
    """Their texts are the same."""
    base, head = Content.of([a_spec("1")]), Content.of([a_spec("1"), a_spec("2")])
    read = stored_content("catalog", head.digest, two_files(base, head))
    coded = [name for name in columns if name in _CODED]
    assert read(columns, coded).to_pylist() == read(columns).to_pylist()


@pytest.mark.parametrize(
    ("damage", "num_files"),
    [(Path.exists, 2), (Path.unlink, 1), (lambda file: file.write_bytes(b""), 1)],
    ids=["sound", "missing", "damaged"],
)
def test_a_base_that_cannot_be_read(
    tmp_path: Path, damage: Callable[[Path], object], num_files: int
) -> None:
    """Nothing is laid over it: what follows is whole."""
    base, head = (Content.of(map(a_spec, labels)) for labels in ("abc", "bcd"))
    specs = SpecsTable(Storage(parse_location(str(tmp_path))))
    with laid_always():
        files = specs.write([ContentRows(base.digest, base.table())], {})
        damage(tmp_path / "specs" / files[base.digest][0].path)
        rows = ContentRows(head.digest, head.table())
        written = specs.write([rows], files, {head.digest: base.digest}.get)
    assert len(written[head.digest]) == num_files
