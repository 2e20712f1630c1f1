"""The bytes of a content decode to the same frame as its records, with and without a base."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from msgspec.structs import replace

from snapshots.catalog import recent_rows
from snapshots.catalog.locations import parse_location
from snapshots.catalog.overlays import Base, Bases, folder_of, whole
from snapshots.catalog.parquet import from_parquet, named_by_bytes, to_parquet
from snapshots.catalog.recent_rows import RecentRows, deciding_rows
from snapshots.catalog.specs_table import (
    _CODED,
    _FRAME_COLUMNS,
    ContentReader,
    DamagedContent,
    SpecsTable,
    how_to_mend,
    stored_content,
)
from snapshots.catalog.storage import Storage
from snapshots.changes.stored_changes import changes_to_store
from snapshots.contents import Content, ContentRows, SuccessiveTables
from snapshots.frames.columns import Column
from snapshots.frames.frame import Frame
from snapshots.history import History, Pair
from snapshots.models import Dependency, RevisionInfo, Source, Spec
from snapshots.tables import SPEC_ROWS, StoredFile
from tests.snapshots.catalog.contents.test_overlays import changed
from tests.snapshots.factories import (
    NAMES,
    SPECS,
    a_revision,
    a_spec,
    digest_of,
    hash_of,
    seeded,
)
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
    assert (f"is based on {base.digest[:12]}, which is damaged" in str(caught.value)) == bool(
        damaged
    )


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


# -- recent contents of an import


def rows_of(*specs: Spec, outside: tuple[Spec, ...] = ()) -> ContentRows:
    """Return the rows of a content."""
    return SuccessiveTables().rows(Content.of(specs, outside))


def reader_of(base: ContentRows, head: ContentRows) -> ContentReader:
    """Return a reader of two contents that were written one after the other."""
    recent = RecentRows({head.digest: base.digest}.get)
    assert [*recent.noted([base, head])] == [base, head]
    return ContentReader("", mock.create_autospec(SpecsTable), {}, History(), recent)


@given(specs=SPECS, random=seeded(lambda random: random))
def test_deciding_rows_are_sufficient(specs: list[Spec], random: Random) -> None:
    """The stored changes equal those of all rows, including stacks and unknown facts."""
    before = [replace(spec, dependencies=None) for spec in specs]
    names = {name for name in NAMES if random.random() < 0.5}
    equal = [spec for spec in before if spec.name not in names]
    hashes = {spec.hash for spec in equal}
    edited = changed(random, [spec for spec in before if spec.name in names])
    after = equal + [replace(spec, dependencies=None) for spec in edited if spec.hash not in hashes]
    base, head = rows_of(*before), rows_of(*after)
    reader = reader_of(base, head)
    sides = reader.narrow_sides(Pair(base.digest, head.digest))
    if base.digest == head.digest or not before or not after:
        return
    assert sides is not None
    kept = changes_to_store(*sides)
    assert kept == changes_to_store(reader.side(base.digest), reader.side(head.digest))
    assert kept.rows.num_rows <= sum(len(side.frame) for side in sides)


DEPENDENCY = Dependency(name="zlib", hash=hash_of("z"), types=("link",), virtuals=())
ONE, OTHER = a_spec("a"), a_spec("b", name="zlib")


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (replace(rows_of(ONE), packages={}), rows_of(ONE, OTHER)),
        (rows_of(ONE), replace(rows_of(ONE, OTHER), packages={})),
        (rows_of(ONE), rows_of(ONE, a_spec("c", dependencies=(DEPENDENCY,)))),
        (rows_of(ONE), rows_of(ONE, replace(OTHER, hash=ONE.hash))),
    ],
    ids=["packages of base", "packages of head", "dependencies", "a hash in two packages"],
)
def test_all_rows_are_needed(base: ContentRows, head: ContentRows) -> None:
    """If packages are not known, or depend on each other."""
    assert deciding_rows(base, head) is None
    assert reader_of(base, head).narrow_sides(Pair(base.digest, head.digest)) is None


def test_few_rows_are_needed() -> None:
    """Of an equal package, one row per stack and per combination of stated facts."""
    alike = [a_spec(f"a{place}", name="zlib", size=place or None) for place in range(9)]
    alike.append(a_spec("s", name="zlib", stacks=("hep", "root"), size=1))
    base, head = rows_of(*alike, ONE), rows_of(*alike, a_spec("n"))
    tables = deciding_rows(base, head)
    assert tables is not None
    before, after = (table["hash"].to_pylist() for table in tables)
    assert (before[0], after[0]) == (ONE.hash, hash_of("n"))
    assert before[1:] == after[1:]
    assert len(before) <= 5
    assert {hash_of("a0"), hash_of("s")} <= {*before}
    reader = reader_of(base, head)
    sides = reader.narrow_sides(Pair(base.digest, head.digest))
    assert sides is not None
    whole = changes_to_store(reader.side(base.digest), reader.side(head.digest))
    assert changes_to_store(*sides) == whole


@pytest.mark.parametrize(("most", "cached"), [(3, "bcd"), (1, "cd"), (0, "cd")])
def test_last_contents_are_cached(monkeypatch: pytest.MonkeyPatch, most: int, cached: str) -> None:
    """Up to a limit in bytes, and always two of them, so that they need not be read."""
    rows = {label: rows_of(a_spec(label)) for label in "abcd"}
    monkeypatch.setattr(recent_rows, "_MAX_BYTES", most * rows["a"].table.nbytes)
    digests = [of_label.digest for of_label in rows.values()]
    recent = RecentRows(dict(zip(digests[1:], digests, strict=False)).get)
    assert [*recent.noted(rows.values())] == [*rows.values()]
    assert [*recent.contents] == [rows[label].digest for label in cached]
    assert 1 <= len(recent.pairs) <= 1 + most


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
