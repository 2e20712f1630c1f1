"""Comparisons of the most recent contents of an import, from memory where that is sufficient."""

from random import Random
from unittest import mock

import pytest
from hypothesis import given
from msgspec.structs import replace

from snapshots.catalog import recent_rows
from snapshots.catalog.recent_rows import RecentRows, deciding_rows
from snapshots.catalog.specs_table import ContentReader, SpecsTable
from snapshots.changes.stored_changes import changes_to_store
from snapshots.contents import Content, ContentRows, SuccessiveTables
from snapshots.history import History, Pair
from snapshots.models import Dependency, Spec
from tests.snapshots.catalog.contents.test_overlays import changed
from tests.snapshots.factories import NAMES, SPECS, a_spec, hash_of, seeded


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
