"""The bytes of a content decode to the same frame as its records, with and without a base."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.catalog.locations import parse_location
from snapshots.catalog.overlays import Base, Bases, folder_of, whole
from snapshots.catalog.parquet import from_parquet, named_by_bytes, to_parquet
from snapshots.catalog.specs_table import (
    _CODED,
    _FRAME_COLUMNS,
    DamagedContent,
    SpecsTable,
    how_to_mend,
    stored_content,
)
from snapshots.catalog.storage import Storage
from snapshots.contents import Content, ContentRows
from snapshots.frames.columns import Column
from snapshots.frames.frame import Frame
from snapshots.history import History
from snapshots.models import RevisionInfo, Source, Spec
from snapshots.tables import SPEC_ROWS, StoredFile
from tests.snapshots.catalog.contents.test_overlays import changed
from tests.snapshots.factories import SPECS, a_revision, a_spec, digest_of, seeded
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
        packed = bases.packed(ContentRows(head.digest, head.table()), base.digest)
    if packed.base is None:
        assert not len(head)
        return [stored(head, packed.data)]
    assert packed.base == Base(base.digest, below[0])
    return [stored(head, packed.data), below]


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
def test_frame_does_not_depend_on_storage(first: list[Spec], random: Random) -> None:
    """It has the same order, and no values of removed rows."""
    base, head = Content.of(first), Content.of(changed(random, first))
    expected = Frame(head.table(), head.digest)
    assert_equal(frame_of(head, two_files(base, head)), expected)
    assert_equal(frame_of(head, [stored(head, to_parquet(whole(head.table())))]), expected)


@pytest.mark.parametrize("missing", ["namespace", "size", "patches", "spec_format", "in_cache"])
def test_base_without_a_column(missing: str) -> None:
    """In rows of the base the fact is unknown; in those of the content itself it is known."""
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
def test_damaged_file(damaged: int) -> None:
    """The error names the content, and the base if its file is damaged."""
    base, head = Content.of([a_spec("1")]), Content.of([a_spec("1"), a_spec("2")])
    files = two_files(base, head)
    read = files[damaged]
    files[damaged] = (read[0], read[1].slice(1))
    with pytest.raises(DamagedContent) as caught:
        stored_content("catalog", head.digest, files)(["hash"])
    assert f"the content {head.digest[:12]} is " in str(caught.value)
    assert (f"laid over {base.digest[:12]}, which is damaged" in str(caught.value)) == bool(damaged)


@given(st.lists(st.sampled_from(SPEC_ROWS.names), unique=True))
def test_dictionary_columns(columns: list[str]) -> None:
    """Their texts are the same."""
    base, head = Content.of([a_spec("1")]), Content.of([a_spec("1"), a_spec("2")])
    read = stored_content("catalog", head.digest, two_files(base, head))
    coded = [name for name in columns if name in _CODED]
    assert read(columns, coded).to_pylist() == read(columns).to_pylist()


def revision(number: int, label: str, kind: str) -> RevisionInfo:
    """Return a row of develop with a kind of source."""
    source = Source(kind=kind, location="pages.git", version=f"{number}f" * 20, importer="x 1")
    return replace(a_revision("develop", number, label), source=source)


SAME = "import the same again to replace it"


@pytest.mark.parametrize(
    ("kinds", "advice"),
    [
        ([("a", "pages"), ("b", "index")], SAME),
        (
            [("a", "git"), ("a", "git"), ("b", "git")],
            f"to replace it, check out the commit {'2f' * 20} of pages.git, and import its folder "
            "of pages with --tag develop --taken-at 2025-01-07T00:00:00Z",
        ),
        ([("a", "git"), ("a", "index")], SAME),
    ],
    ids=["imported once", "git", "both"],
)
def test_advice_for_a_damaged_content(kinds: list[tuple[str, str]], advice: str) -> None:
    """The same import replaces it; one with --git continues later, so the commit is named."""
    rows = [revision(number, label, kind) for number, (label, kind) in enumerate(kinds, 1)]
    assert how_to_mend(History(rows), rows[0].digest) == advice
    assert how_to_mend(History(rows), digest_of("of no revision")) == SAME


@pytest.mark.parametrize(
    ("damage", "num_files"),
    [(Path.exists, 2), (Path.unlink, 1), (lambda file: file.write_bytes(b""), 1)],
    ids=["sound", "missing", "damaged"],
)
def test_unreadable_base(tmp_path: Path, damage: Callable[[Path], object], num_files: int) -> None:
    """The next content is no overlay of it."""
    base, head = (Content.of(map(a_spec, labels)) for labels in ("abc", "bcd"))
    specs = SpecsTable(Storage(parse_location(str(tmp_path))))
    with laid_always():
        files = specs.write([ContentRows(base.digest, base.table())], {})
        damage(tmp_path / "specs" / files[base.digest][0].path)
        rows = ContentRows(head.digest, head.table())
        written = specs.write([rows], files, {head.digest: base.digest}.get)
    assert len(written[head.digest]) == num_files
