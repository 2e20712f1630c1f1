"""The choice of bases: the base of the next content, and when a content gets all rows again."""

import pytest

from snapshots.catalog import overlays
from snapshots.catalog.overlays import (
    Base,
    Bases,
    base_of,
    by_owner,
    folder_of,
    own_files,
    whole,
    with_bases,
)
from snapshots.catalog.parquet import from_parquet
from snapshots.contents import Content, ContentRows
from snapshots.tables import StoredFile
from tests.snapshots.factories import a_spec

WHOLE = 3_000_000
SPECS = [a_spec(f"{number}") for number in range(20)]
ROWS = ContentRows("a", whole(Content.of(SPECS).table()))
AFTER = ContentRows("after", Content.of(SPECS[1:]).table())


def file(content: str, size: int = WHOLE) -> StoredFile:
    """Describe a file with rows of a content."""
    return StoredFile(path=f"{folder_of(content)}{size}.parquet", size=size, checksum="0" * 16)


def laid(content: str, over: str, size: int) -> tuple[StoredFile, StoredFile]:
    """Return the files of a content that is an overlay."""
    return file(over), file(content, size)


def test_owners_of_files() -> None:
    """The folder of a file names the content or the base to which its rows belong."""
    files = {"a": (file("a"),), "b": laid("b", "gone", 9), "c": (), "d": laid("d", "a", 5)}
    assert own_files("b", files["b"]) == (file("b", 9),)
    assert with_bases(files) == files | {"gone": (file("gone"),)}
    assert by_owner(files) == {
        "a": (file("a"),),
        "b": (file("b", 9),),
        "c": (),
        "d": (file("d", 5),),
        "gone": (file("gone"),),
    }
    assert base_of("a", files["a"]) == Base("a", file("a"))
    assert base_of("b", files["b"]) == Base("gone", file("gone"))
    assert base_of("c", ()) is None
    assert base_of("x", (file("a"), file("b"), file("x"))) is None


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
    packed = Bases(files, lambda _: ROWS).packed(AFTER, before)
    assert packed.base == (Base("a", file("a")) if is_laid else None)
    assert len(packed.rows) == (1 if is_laid else len(AFTER.table))
    assert from_parquet("file", packed.data)["base"].to_pylist() == packed.rows["base"].to_pylist()


def test_bases_are_replaced_when_overlays_grow() -> None:
    """An overlay is no larger than the average overlay of its base."""
    size = Bases({"a": (file("a"),)}, lambda _: ROWS).packed(AFTER, "a").data.size
    files = {"a": (file("a", 3 * overlays.LEAST_BYTES),)}
    bases = Bases(files, lambda _: ROWS)
    assert bases.packed(AFTER, "a").base is not None
    for number in range(1_000):
        bases.take(f"{number}", (*files["a"], file(f"{number}", size // 2)))
    assert bases.packed(AFTER, "a").base is None


def test_recently_used_rows_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is bounded, however many series an import has.

    A base that was just written is not read; one that cannot be read is tried each time.
    """
    monkeypatch.setattr(overlays, "_MAX_CACHED_BYTES", 2 * ROWS.table.nbytes)
    read = []

    def rows_of(base: Base) -> ContentRows | None:
        read.append(base.digest)
        return None if base.digest == "damaged" else ROWS

    bases = Bases({name: (file(name),) for name in ("a", "b", "damaged")}, rows_of)
    bases.take("new", (file("new"),), ROWS)
    for name in ("new", "a", "new", "b", "a", "damaged", "damaged"):
        assert (bases.packed(AFTER, name).base is None) == (name == "damaged")
    assert read == ["a", "b", "a", "damaged", "damaged"]
