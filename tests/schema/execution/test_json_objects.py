"""The JSON of many objects: every field is included, and any part of the list can be joined."""

import numpy as np
import orjson
import pytest

from schema.execution.budget import Budget
from schema.execution.json_objects import JsonObjects
from schema.fields.many import ColumnSlice, ListedColumn
from tests.snapshots.factories import a_spec
from tests.snapshots.records import frame_of

FRAME = frame_of(
    [
        a_spec(hash=letter * 32, version=version, stacks=("e4s", f"only-{letter}"))
        for letter, version in zip("abcd", ("1.0", "1.1", "1.1", "2.0"), strict=True)
    ]
)
ROWS = np.array([3, 0, 3, 1], np.int32)
SLICES = {
    "version": ColumnSlice(FRAME, "version", ROWS),
    "versions": ListedColumn(FRAME, "version", ROWS),
    "hash": ColumnSlice(FRAME, "hashes", ROWS),
    "stacks": ColumnSlice(FRAME, "stacks", ROWS),
}


@pytest.mark.parametrize(
    "keys",
    [
        ("version", "hash", "stacks", "versions"),
        ("constant", "version", "other constant", "hash"),
        ("version", "constant"),
        ("constant",),
        (),
    ],
    ids=", ".join,
)
def test_every_field_is_rendered(keys: tuple[str, ...]) -> None:
    """Columns and texts of all objects, in any part of the list."""
    objects = JsonObjects(len(ROWS), Budget())
    for key in keys:
        objects.add(key, SLICES[key].texts() if key in SLICES else "true")
    expected = [
        {key: SLICES[key][place] if key in SLICES else True for key in keys}
        for place in range(len(ROWS))
    ]
    expected = orjson.loads(orjson.dumps(expected))
    assert orjson.loads(objects.array(0, len(ROWS))) == expected
    assert [orjson.loads(text) for text in objects.each()] == expected
    assert orjson.loads(objects.array(1, 3)) == expected[1:3]
    assert objects.array(2, 2) == "[]"
