"""What is written of a content: whole, or laid over another where that is less."""

import pytest

from snapshots.catalog.overlays import Base, Underlay, whole
from snapshots.catalog.parquet import from_parquet
from snapshots.catalog.specs_table import packed
from snapshots.contents import Content, ContentRows
from snapshots.tables import SPEC_ROWS, StoredFile, with_columns
from tests.snapshots.factories import digest_of, full_spec, hash_of

BASE = Base(digest_of("base"), StoredFile(path="base.parquet", size=1, checksum="0" * 16))
SPECS = [full_spec(label) for label in "abcdef"]
BEFORE = whole(Content.of(SPECS[:-1]).table())
AFTER = Content.of(SPECS[1:]).table()
PLACELESS = with_columns(AFTER, [*SPEC_ROWS.names, "place"])


@pytest.mark.parametrize(
    ("below", "is_laid"),
    [
        (None, False),
        (Underlay(BASE, ContentRows(BASE.digest, BEFORE), 1_000_000), True),
        (Underlay(BASE, ContentRows(BASE.digest, BEFORE), 100), False),
        (Underlay(BASE, ContentRows(BASE.digest, PLACELESS), 1_000_000), False),
    ],
    ids=["no base", "little differs", "too much differs", "a base without places"],
)
def test_what_is_kept(below: Underlay | None, is_laid: bool) -> None:
    """An overlay has what came, and the places of what went; else all rows are there."""
    kept = packed(ContentRows(digest_of("after"), AFTER), below)
    assert kept.base == (BASE if is_laid else None)
    written = from_parquet("file", kept.data, ["hash", "base", "base_place"])
    hashes = [hash_of("f"), None] if is_laid else AFTER["hash"].to_pylist()
    assert written["hash"].to_pylist() == kept.rows["hash"].to_pylist() == hashes
    assert set(written["base"].to_pylist()) == {BASE.digest if is_laid else None}
    place = BEFORE["hash"].to_pylist().index(hash_of("a"))
    assert written["base_place"].to_pylist() == ([None, place] if is_laid else [None] * 5)
