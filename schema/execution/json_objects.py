"""The JSON of lists of objects: pieces of text that are joined once."""

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import orjson
from graphql import is_leaf_type, is_specified_scalar_type

from schema.execution.budget import Budget
from schema.fields import many

Texts = list[str]

COUNTED_BYTES = 1_000_000
"""Texts are counted when they reach this number of bytes."""


def json_texts(values: Iterable[Any]) -> Texts:
    """Return the JSON text of each value."""
    return [orjson.dumps(value).decode() for value in values]


class JsonObjects:
    """The JSON objects of a list, as pieces of text that are joined at the end.

    Every object has the same number of pieces, and its first one begins with a comma, so that an
    array of any of them is a single join. ``budget`` counts the bytes. Bytes of nested lists, which
    were counted since this object was created, become part of the text and are not counted twice.
    """

    def __init__(self, size: int, budget: Budget) -> None:
        self._size = size
        self._budget = budget
        self._bytes_before = budget.num_bytes
        self._bytes_made = 0
        self._members: list[tuple[str, Texts | str]] = []

    def add(self, key: str, texts: Texts | str) -> None:
        """Add a field by its key: one JSON text for each object, or one for all of them."""
        self._members.append((key, texts))

    def set_texts(self, texts: Texts) -> None:
        """Set the complete texts of the objects, each with a leading comma."""
        self.__dict__["_pieces"] = texts, 1

    def array(self) -> str:
        """Return the JSON array of all objects."""
        return self.arrays([self._size])[0]

    def arrays(self, counts: Iterable[int]) -> Texts:
        """Return JSON arrays of consecutive objects; ``counts`` are their lengths."""
        places = pairwise(accumulate(counts, initial=0))
        return self._counted(self._joined(start, stop) for start, stop in places)

    def _joined(self, start: int, stop: int) -> str:
        if start == stop:
            return "[]"
        pieces, width = self._pieces
        part = pieces[start * width : stop * width]
        part[0] = "[" + part[0][1:]
        part.append("]")
        return "".join(part)

    def each(self) -> Texts:
        """Return the JSON text of each object."""
        pieces, width = self._pieces
        starts = range(0, len(pieces), width)
        return self._counted("".join(pieces[start : start + width])[1:] for start in starts)

    def _counted(self, texts: Iterable[str]) -> Texts:
        """Return texts as a list, and count their bytes, which include those of nested lists."""
        counted, num_bytes = [], 0
        for text in texts:
            counted.append(text)
            num_bytes += len(text)
            if num_bytes > COUNTED_BYTES:
                self._count(num_bytes)
                num_bytes = 0
        self._count(num_bytes)
        return counted

    def _count(self, num_bytes: int) -> None:
        self._bytes_made += num_bytes
        total = self._bytes_before + self._bytes_made
        if total > self._budget.num_bytes:
            self._budget.reach(total)

    @cached_property
    def _pieces(self) -> tuple[Texts, int]:
        """The pieces of all objects in turn, and the number of pieces of each object."""
        columns: list[Texts | str] = []
        constant = ",{"
        for key, texts in self._members:
            constant += f'"{key}":'
            if isinstance(texts, str):
                constant += texts
            else:
                columns += [constant, texts]
                constant = ""
            constant += ","
        columns.append(constant.removesuffix(",") + "}")
        width = len(columns)
        pieces = [""] * (self._size * width)
        for place, texts in enumerate(columns):
            pieces[place::width] = [texts] * self._size if isinstance(texts, str) else texts
        return pieces, width


STRUCTURE = 5
"""The bytes of the quotes, colon and comma of a member of a JSON object; also used for items of
lists.
"""


def rendered_values(answer: Any, item_type: Any, render: Callable[[Any], JsonObjects]) -> Texts:
    """Return the JSON of the result of a field for each object of a list.

    ``render`` is called for objects, and renders the selection below the field.
    """
    if isinstance(answer, many.ColumnSlice):
        return answer.texts()
    if isinstance(answer, many.Sublists):
        return render(answer.items).arrays(answer.counts)
    if isinstance(answer, many.NullableObjects):
        lists = [iter(render(items).each()) for items in answer.lists]
        return [next(lists[choice]) if choice >= 0 else "null" for choice in answer.choices]
    if is_leaf_type(item_type):
        return json_texts(_serialized(item_type, answer))
    return render(answer).each()


def _serialized(leaf: Any, answer: Any) -> Any:
    """Return values in their JSON form: members of enums by name, also in lists."""
    if is_specified_scalar_type(leaf):
        return answer
    return [_serialized_value(leaf, value) for value in answer]


def _serialized_value(leaf: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_serialized_value(leaf, item) for item in value]
    return None if value is None else leaf.serialize(value)
