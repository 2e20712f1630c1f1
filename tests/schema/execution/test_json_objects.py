"""The JSON of many objects: every field is there, whatever can be rendered together."""

from collections.abc import Callable

import numpy as np
import orjson
import pytest

from schema.execution import json_objects
from schema.execution.budget import Budget
from schema.execution.json_objects import JsonObjects
from schema.fields.many import ColumnSlice
from snapshots.frames import columns
from snapshots.frames.frame import Frame
from tests.snapshots.factories import a_spec
from tests.snapshots.records import frame_of


@pytest.fixture(autouse=True)
def _combine_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_objects, "COMBINED_ROWS", 0)


ROWS = np.array([3, 0, 3, 1], np.int32)
NAMES = {"name": "package", "version": "version", "hash": "hashes", "stacks": "stacks"}


def a_frame() -> Frame:
    """Return a frame of four specs that differ in version and stacks."""
    versions = ("1.0", "1.1", "1.1", "2.0")
    return frame_of(
        [
            a_spec(hash=letter * 32, version=version, stacks=("e4s", f"only-{letter}"))
            for letter, version in zip("abcd", versions, strict=True)
        ]
    )


def rendered(frame: Frame, keys: dict[str, str]) -> list[dict[str, object]]:
    """Return the objects at ROWS; ``keys`` has the field for each key of the response."""
    objects = JsonObjects(len(ROWS), Budget())
    for key, name in keys.items():
        if name == "constant":
            objects.add(key, name, "true")
        elif name == "texts":
            objects.add(key, name, list(map(str, range(len(ROWS)))))
        else:
            objects.add(key, name, ColumnSlice(frame, NAMES[name], ROWS))
    whole: list[dict[str, object]] = orjson.loads(objects.array(0, len(ROWS)))
    assert [orjson.loads(text) for text in objects.each()] == whole
    assert orjson.loads(objects.array(1, 3)) == whole[1:3]
    assert objects.array(2, 2) == "[]"
    return whole


def expected(frame: Frame, keys: dict[str, str]) -> list[dict[str, object]]:
    """Return the same, value by value."""

    def value(name: str, place: int) -> object:
        if name in NAMES:
            found = getattr(frame, NAMES[name]).at(int(ROWS[place]))
            return list(found) if isinstance(found, tuple) else found
        return True if name == "constant" else place

    return [{key: value(name, place) for key, name in keys.items()} for place in range(len(ROWS))]


FIELDS: dict[str, Callable[[], dict[str, str]]] = {
    "neighbours": lambda: {"name": "name", "version": "version", "stacks": "stacks"},
    "aliases": lambda: {"a": "name", "b": "version", "stacks": "stacks"},
    "one column twice": lambda: {"version": "version", "again": "version"},
    "hashes between": lambda: {"name": "name", "hash": "hash", "version": "version"},
    "others between": lambda: {"a": "constant", "name": "name", "b": "texts", "version": "version"},
    "constants alone": lambda: {"a": "constant", "b": "constant"},
    "nothing": dict,
}


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_every_field_is_rendered(fields: Callable[[], dict[str, str]]) -> None:
    """Columns side by side, with other fields and texts for all between them; twice the same."""
    frame, keys = a_frame(), fields()
    for _ in range(2):
        assert rendered(frame, keys) == expected(frame, keys)


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_columns_with_too_many_values_are_rendered_one_by_one(
    fields: Callable[[], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No column is lost where none can be combined, or none with another."""
    for most in (0, 1, 2):
        monkeypatch.setattr(columns, "MAX_COMBINATIONS", most)
        frame, keys = a_frame(), fields()
        assert rendered(frame, keys) == expected(frame, keys)


def test_columns_that_can_no_longer_be_combined_are_rendered_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever becomes of a combination between two looks at it, its columns stay."""
    frame, keys = a_frame(), FIELDS["neighbours"]()
    answers = iter([object(), object(), None])
    monkeypatch.setattr(frame.combinations, "of", lambda _names: next(answers))
    assert rendered(frame, keys) == expected(frame, keys)
