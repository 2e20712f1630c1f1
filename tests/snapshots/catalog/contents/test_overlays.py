"""Overlays: a content with a base is read as if all of its rows were stored."""

from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.catalog import overlays
from snapshots.catalog.parquet import from_parquet
from snapshots.contents import Content, ContentRows, SuccessiveTables
from snapshots.models import Spec
from snapshots.tables import SPEC_ROWS, SPECS, StoredFile, with_columns
from tests.snapshots.factories import SPECS as SOME_SPECS
from tests.snapshots.factories import a_spec, hash_of, random_facts, seeded

BASE = "b" * 64


def in_order(rows: pa.Table) -> list[dict[str, object]]:
    """Return rows sorted by in_cache, package and hash."""
    records: list[dict[str, object]] = rows.to_pylist()
    return sorted(records, key=lambda row: (row["in_cache"] is False, row["name"], row["hash"]))


def changed(random: Random, specs: list[Spec]) -> list[Spec]:
    """Return the specs after some were removed, added, or changed under the same hash."""
    result = []
    for spec in specs:
        draw = random.random()
        if draw < 0.4:
            result.append(spec)
        elif draw < 0.6:
            result.append(replace(spec, dependencies=None, stacks=("other",)))
        elif draw < 0.7:
            result.append(Spec(hash=spec.hash, **random_facts(random)))
    new = {hash_of(str(random.randrange(60))) for _ in range(random.randrange(4))}
    new -= {spec.hash for spec in result}
    return result + [Spec(hash=digest, **random_facts(random)) for digest in sorted(new)]


@given(
    first=SOME_SPECS,
    outside=SOME_SPECS,
    random=seeded(lambda random: random),
    columns=st.lists(st.sampled_from(SPEC_ROWS.names), unique=True, min_size=1),
)
def test_overlay_is_read_as_all_rows(
    first: list[Spec], outside: list[Spec], random: Random, columns: list[str]
) -> None:
    """Also with rows outside the cache, in any selection of columns."""
    inside = {spec.hash for spec in first}
    base = Content.of(first, [spec for spec in outside if spec.hash not in inside]).table()
    second = {spec.hash: spec for spec in changed(random, first)}
    moved = {spec.hash: spec for spec in changed(random, first + outside)}
    moved = {digest: spec for digest, spec in moved.items() if digest not in second}
    head = Content.of(second.values(), moved.values()).table()
    own = overlays.overlay(BASE, overlays.whole(base), head)
    assert own is not None
    assert own.schema.names == overlays.whole(base).schema.names
    assert set(own["base"].to_pylist()) <= {BASE}
    of_base, of_own = (
        with_columns(rows, [*dict.fromkeys([*columns, *more])])
        for rows, more in ((overlays.whole(base), overlays.OF_BASE), (own, overlays.OF_OVERLAY))
    )
    read = overlays.overlaid(of_base, of_own, [*columns])
    everything = overlays.overlaid(overlays.whole(base), own, SPEC_ROWS.names)
    assert in_order(everything) == in_order(head.select(SPEC_ROWS.names))
    assert read == everything.select(columns)


@given(first=SOME_SPECS, random=seeded(lambda random: random))
def test_overlay_has_only_differences(first: list[Spec], random: Random) -> None:
    """Equal rows remain in the base; a removed row is represented by its position in the base."""
    base, head = Content.of(first), Content.of(changed(random, first))
    own = overlays.overlay(BASE, overlays.whole(base.table()), head.table())
    assert own is not None
    below, above = (SuccessiveTables().rows(content) for content in (base, head))
    below = replace(below, table=overlays.whole(below.table))
    assert own == overlays.overlay(BASE, below.unlike(above), above.unlike(below))
    before = {spec.hash: spec for spec in base.specs()}
    after = {spec.hash: spec for spec in head.specs()}
    differ = {digest for digest, spec in after.items() if before.get(digest) != spec}
    is_row = pc.is_valid(own["hash"])
    assert set(own["hash"].drop_null().to_pylist()) == differ
    removed = own.filter(pc.invert(is_row))
    assert len(removed) == len(before.keys() - after.keys())
    for name in SPEC_ROWS.names:
        assert removed[name].null_count == len(removed)
    hashes = [spec.hash for spec in base.specs()]
    assert {hashes[place] for place in own["base_place"].drop_null().to_pylist()} == (
        before.keys() - after.keys()
    ) | (differ & before.keys())


def test_what_cannot_be_a_base() -> None:
    """Rows without positions, and duplicate hashes."""
    table = Content.of([a_spec("1"), a_spec("2")]).table()
    twice = pa.concat_tables([table, table])
    of_before = with_columns(table, SPECS.names)
    assert overlays.overlay(BASE, of_before, table) is None
    assert overlays.overlay(BASE, overlays.whole(twice), table) is None
    assert overlays.overlay(BASE, overlays.whole(table), twice) is None


def test_duplicate_rows_count_once() -> None:
    """Two imports may write the same rows; overlays are no duplicates."""
    table = overlays.whole(Content.of([a_spec("1"), a_spec("2"), a_spec("3")]).table())
    other = overlays.overlay(BASE, table, Content.of([a_spec("4")]).table())
    assert other is not None
    assert overlays.rows_without_base(table) == table
    result = overlays.rows_without_base(pa.concat_tables([table.slice(1), other, table]))
    assert in_order(result) == in_order(table)
    of_before = with_columns(table.drop_columns(["place"]), table.schema.names)
    assert overlays.rows_without_base(pa.concat_tables([of_before, of_before])).num_rows == 6


LISTS = st.none() | st.lists(
    st.none()
    | st.fixed_dictionaries(
        {
            "a": st.none() | st.sampled_from("xy"),
            "b": st.none() | st.lists(st.integers(0, 1), max_size=2),
        }
    ),
    max_size=2,
)


@given(rows=st.lists(st.tuples(LISTS, LISTS), max_size=6), start=st.integers(0, 2))
def test_nested_values_are_compared_as_python_does(
    rows: list[tuple[object, object]], start: int
) -> None:
    """Null equals only null, also in slices of tables."""
    kind = pa.list_(pa.struct([("a", pa.string()), ("b", pa.list_(pa.int64()))]))
    first, second = (
        pa.table({"value": pa.array([row[side] for row in rows], kind)}).slice(start)
        for side in (0, 1)
    )
    expected = [one == other for one, other in rows[start:]]
    assert np.asarray(overlays.equal_rows(first, second)).tolist() == expected


# -- the choice of bases


WHOLE = 3_000_000
TWENTY = [a_spec(f"{number}") for number in range(20)]
ROWS = ContentRows("a", overlays.whole(Content.of(TWENTY).table()))
AFTER = ContentRows("after", Content.of(TWENTY[1:]).table())


def file(content: str, size: int = WHOLE) -> StoredFile:
    """Describe a file with rows of a content."""
    return StoredFile(
        path=f"{overlays.folder_of(content)}{size}.parquet", size=size, checksum="0" * 16
    )


def laid(content: str, over: str, size: int) -> tuple[StoredFile, StoredFile]:
    """Return the files of a content that is an overlay."""
    return file(over), file(content, size)


def test_owners_of_files() -> None:
    """The folder of a file names the content or the base to which its rows belong."""
    files = {"a": (file("a"),), "b": laid("b", "gone", 9), "c": (), "d": laid("d", "a", 5)}
    assert overlays.own_files("b", files["b"]) == (file("b", 9),)
    assert overlays.with_bases(files) == files | {"gone": (file("gone"),)}
    assert overlays.by_owner(files) == {
        "a": (file("a"),),
        "b": (file("b", 9),),
        "c": (),
        "d": (file("d", 5),),
        "gone": (file("gone"),),
    }
    assert overlays.base_of("a", files["a"]) == overlays.Base("a", file("a"))
    assert overlays.base_of("b", files["b"]) == overlays.Base("gone", file("gone"))
    assert overlays.base_of("c", ()) is None
    assert overlays.base_of("x", (file("a"), file("b"), file("x"))) is None


@pytest.mark.parametrize(
    ("before", "share", "is_laid"),
    [
        ("a", 0.5, True),
        ("a", 0.001, False),
        ("b", 0.5, True),
        ("short", 0.5, False),
        ("small", 0.5, False),
        ("unknown", 0.5, False),
        ("no files", 0.5, False),
        (None, 0.5, False),
    ],
)
def test_choice_of_overlays(
    before: str | None, share: float, is_laid: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overlay must be much smaller than all rows, unless these are few."""
    monkeypatch.setattr(overlays, "MAX_SHARE", share)
    files = {
        "a": (file("a"),),
        "b": laid("b", "a", 100_000),
        "short": (file("short", overlays.LEAST_BYTES),),
        "small": (file("small", overlays.LEAST_BYTES - 1),),
        "no files": (),
    }
    packed = overlays.Bases(files, lambda _: ROWS).packed(AFTER, before)
    assert packed.base == (overlays.Base("a", file("a")) if is_laid else None)
    assert len(packed.rows) == (1 if is_laid else len(AFTER.table))
    assert from_parquet("file", packed.data)["base"].to_pylist() == packed.rows["base"].to_pylist()


def test_bases_are_replaced_when_overlays_grow() -> None:
    """An overlay is no larger than the average overlay of its base."""
    size = overlays.Bases({"a": (file("a"),)}, lambda _: ROWS).packed(AFTER, "a").data.size
    files = {"a": (file("a", 3 * overlays.LEAST_BYTES),)}
    bases = overlays.Bases(files, lambda _: ROWS)
    assert bases.packed(AFTER, "a").base is not None
    for number in range(1_000):
        bases.take(f"{number}", (*files["a"], file(f"{number}", size // 2)))
    assert bases.packed(AFTER, "a").base is None


def test_recently_used_rows_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is bounded and has bases just written; unreadable ones are tried each time."""
    monkeypatch.setattr(overlays, "_MAX_CACHED_BYTES", 2 * ROWS.table.nbytes)
    read = []

    def rows_of(base: overlays.Base) -> ContentRows | None:
        read.append(base.digest)
        return None if base.digest == "damaged" else ROWS

    bases = overlays.Bases({name: (file(name),) for name in ("a", "b", "damaged")}, rows_of)
    bases.take("new", (file("new"),), ROWS)
    for name in ("new", "a", "new", "b", "a", "damaged", "damaged"):
        assert (bases.packed(AFTER, name).base is None) == (name == "damaged")
    assert read == ["a", "b", "a", "damaged", "damaged"]
