"""Which content the next one is laid over, and when one is whole again."""

import pyarrow as pa
import pytest

from snapshots.catalog import overlays
from snapshots.catalog.overlays import (
    Base,
    Bases,
    base_of,
    by_owner,
    folder_of,
    own_files,
    with_bases,
)
from snapshots.contents import ContentRows
from snapshots.tables import StoredFile

WHOLE = 3_000_000
ROWS = ContentRows("", pa.table({"hash": [""] * 1_000}))


def file(content: str, size: int = WHOLE) -> StoredFile:
    """Describe a file with rows of a content."""
    return StoredFile(path=f"{folder_of(content)}{size}.parquet", size=size, checksum="0" * 16)


def laid(content: str, over: str, size: int) -> tuple[StoredFile, StoredFile]:
    """Return the files of a content that is laid over another."""
    return file(over), file(content, size)


def test_whose_rows_files_have() -> None:
    """Those of the content itself, or of its base; by their folder."""
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
    ("before", "num_rows", "expected"),
    [
        ("a", 1_000, WHOLE // 2),
        ("b", 1_000, WHOLE // 2),
        ("b", 300, 3 * WHOLE // 20),
        ("a", 100, WHOLE // 20),
        ("a", 10, None),
        ("small", 1_000, None),
        ("unknown", 1_000, None),
        ("of before", 1_000, None),
        (None, 1_000, None),
    ],
    ids=str,
)
def test_what_an_overlay_may_take(before: str | None, num_rows: int, expected: int | None) -> None:
    """Half of what the content would take whole."""
    files = {
        "a": (file("a"),),
        "b": laid("b", "c", 100_000),
        "small": (file("small", overlays.LEAST_BYTES - 1),),
        "of before": (),
    }
    below = Bases(files, lambda _: ROWS).below(before, num_rows)
    assert (below and below.most_bytes) == expected


def test_a_base_is_read_once() -> None:
    """While an import goes on; not at all where it was just written, or cannot be read."""
    read = []

    def rows_of(base: Base) -> ContentRows | None:
        read.append(base.digest)
        return None if base.digest == "damaged" else ROWS

    known = Bases({"a": (file("a"),), "damaged": (file("damaged"),)}, rows_of)
    known.take("new", (file("new"),), ROWS)
    for _ in range(3):
        assert known.below("a", 1_000)
        assert known.below("new", 1_000)
    assert known.below("damaged", 1_000) is None
    assert read == ["a", "damaged"]


def test_rows_that_were_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that memory has a bound, however many series an import has."""
    monkeypatch.setattr(overlays, "_KEPT_BYTES", 2 * ROWS.table.nbytes)
    read = []

    def rows_of(base: Base) -> ContentRows:
        read.append(base.digest)
        return ROWS

    known = Bases({it: (file(it),) for it in "abc"}, rows_of)
    for name in "ababcab":
        assert known.below(name, 1_000)
    assert read == ["a", "b", "c", "a", "b"]
