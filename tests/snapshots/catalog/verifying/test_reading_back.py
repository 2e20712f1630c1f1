"""Records are made again from rows, as they were."""

import pyarrow as pa
from hypothesis import given

from snapshots.catalog.verification import content_of
from snapshots.contents import Content
from snapshots.models import Spec
from snapshots.tables import SPEC_ROWS
from tests.snapshots.factories import SPECS, a_spec


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


def test_rows_of_before() -> None:
    """Columns that are younger than the rows are null in them."""
    content = Content.of([a_spec("1"), a_spec("2", name="zlib")])
    rows = content.table()
    for name in ("in_cache", "patches", "dependencies", "provided_virtuals", "spec_format"):
        place = SPEC_ROWS.get_field_index(name)
        field = SPEC_ROWS.field(name)
        rows = rows.set_column(place, field, pa.nulls(len(rows), field.type))
    assert content_of(rows).digest == content.digest
