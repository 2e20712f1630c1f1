"""The tail of a content's file: which files have one, and what is in it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snapshots.catalog import parquet
from snapshots.catalog.overlays import whole
from snapshots.catalog.parquet import named_by_bytes, to_parquet
from snapshots.catalog.specs_table import first_columns_first, has_all_of, packed, with_tail
from snapshots.catalog.storage import checksum
from snapshots.contents import Content, ContentRows
from snapshots.models import Dependency
from snapshots.tables import SPECS, FileTail
from tests.snapshots.factories import a_spec, hash_of

FEW, MANY = 10, 2_000


def rows_of(number: int) -> pa.Table:
    """Return so many specs, each of which depends on some others."""
    return Content.of(
        a_spec(
            str(row),
            dependencies=tuple(
                Dependency("zlib", hash_of(f"{row} {edge}"), ("link",)) for edge in range(3)
            ),
        )
        for row in range(number)
    ).table()


def tail_of(data: pa.Buffer) -> FileTail | None:
    """Return the tail of a file with such bytes."""
    return with_tail(named_by_bytes("", data), data).tail


def test_a_tail_begins_behind_the_dependencies() -> None:
    """Their pages end where it starts, and its checksum is that of the rest of the bytes."""
    data = packed(ContentRows("", rows_of(MANY)), None).data
    tail = tail_of(data)
    assert tail is not None
    assert tail.checksum == checksum(data.slice(tail.start))
    group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    ends = {
        (it.dictionary_page_offset or it.data_page_offset) + it.total_compressed_size
        for it in columns
        if it.path_in_schema.startswith("dependencies.")
    }
    assert len(ends) == len(Dependency.__struct_fields__)
    assert max(ends) == tail.start >= parquet.LEAST_SPARED


def test_a_small_file_is_read_whole() -> None:
    """Its tail would spare little."""
    assert tail_of(packed(ContentRows("", rows_of(FEW)), None).data) is None


@pytest.mark.parametrize("kept", ["the order of before", "two parts", "no dependencies"])
def test_a_file_without_a_tail(kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where other columns stand before the dependencies, no end of it has all of them."""
    monkeypatch.setattr(parquet, "LEAST_SPARED", 1)
    rows = whole(rows_of(FEW))
    assert tail_of(to_parquet(first_columns_first(rows))) is not None
    data = {
        "the order of before": to_parquet(rows),
        "two parts": to_parquet(first_columns_first(rows), rows_at_once=FEW // 2),
        "no dependencies": to_parquet(rows.drop_columns(["dependencies"])),
    }
    assert tail_of(data[kept]) is None


def test_which_columns_a_tail_has() -> None:
    """All but one."""
    others = [name for name in SPECS.names if name != "dependencies"]
    assert has_all_of(others)
    assert not has_all_of(SPECS.names)
    assert not has_all_of(["dependencies"])
