"""The JSON text of many objects, joined from each field's values for all of them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import msgspec
import numpy as np
import orjson

from schema.execution.budget import Budget
from schema.fields.many import ColumnSlice
from snapshots.frames.columns import Part

Texts = list[str]

JOINED_PIECES = 10_000
"""At most this many pieces are joined before the resulting text is counted."""

COUNTED_BYTES = 1_000_000
"""Small texts are counted each time that they reach this many bytes."""

COMBINED_ROWS = 200
"""For fewer rows than these, to combine columns takes longer than it ever saves."""


def json_text(value: Any) -> str:
    """Return the JSON text of a value."""
    return orjson.dumps(value).decode()


def json_texts(values: Iterable[Any]) -> Texts:
    """Return the JSON text of each value."""
    return [orjson.dumps(value).decode() for value in values]


class Member(msgspec.Struct, frozen=True):
    """A field of all objects: the key in the response, and the field's own name.

    ``values`` are one JSON text an object, or a column, or one text for all of them.
    """

    key: str
    name: str
    values: Texts | ColumnSlice | str


class JsonObjects:
    """The JSON objects of a list, as pieces of text that are joined once, at the end.

    Every object has the same number of pieces, and its first one begins with a comma, so that an
    array of any of them is a single join. ``budget`` counts the bytes. Bytes of nested lists, which
    were counted since this object was created, become part of the text and are not counted twice.
    """

    def __init__(self, size: int, budget: Budget) -> None:
        self._size = size
        self._budget = budget
        self._bytes_before = budget.num_bytes
        self._bytes_made = 0
        self._members: list[Member] = []

    def add(self, key: str, name: str, values: Texts | ColumnSlice | str) -> None:
        """Add a field of all objects; see Member."""
        self._members.append(Member(key, name, values))

    def set_texts(self, texts: Texts) -> None:
        """Have objects whose whole text is there, each with a comma in front."""
        self.__dict__["_pieces"] = texts, 1

    def array(self, start: int, stop: int) -> str:
        """Return the JSON array of the objects from ``start`` up to and without ``stop``."""
        _, width = self._pieces
        objects = max(1, JOINED_PIECES // width)
        parts = []
        for place in range(start, max(stop, start + 1), objects):
            part = self._joined(place, min(stop, place + objects))
            self._count(len(part))
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        return "[" + ",".join([part[1:-1] for part in parts]) + "]"

    def _joined(self, start: int, stop: int) -> str:
        """Return an array of a number of objects that is small enough for a single join."""
        if start == stop:
            return "[]"
        pieces, width = self._pieces
        part = pieces[start * width : stop * width]
        part[0] = "[" + part[0][1:]
        part.append("]")
        return "".join(part)

    def arrays(self, counts: Iterable[int]) -> Texts:
        """Return JSON arrays of consecutive objects; ``counts`` are their lengths."""
        _, width = self._pieces
        texts: Texts = []
        num_bytes = 0
        for start, stop in pairwise(accumulate(counts, initial=0)):
            if (stop - start) * width > JOINED_PIECES:
                texts.append(self.array(start, stop))
                continue
            text = self._joined(start, stop)
            texts.append(text)
            num_bytes += len(text)
            if num_bytes > COUNTED_BYTES:
                self._count(num_bytes)
                num_bytes = 0
        self._count(num_bytes)
        return texts

    def each(self) -> Texts:
        """Return the JSON text of each object."""
        pieces, width = self._pieces
        starts = range(0, len(pieces), width)
        objects = max(1, JOINED_PIECES // width)
        texts: Texts = []
        for place in range(0, self._size, objects):
            some = starts[place : place + objects]
            joined = ["".join(pieces[start : start + width])[1:] for start in some]
            self._count(sum(map(len, joined)))
            texts += joined
        return texts

    def _count(self, num_bytes: int) -> None:
        """Count text, which includes that of nested lists."""
        self._bytes_made += num_bytes
        total = self._bytes_before + self._bytes_made
        if total > self._budget.num_bytes:
            self._budget.reach(total)

    @cached_property
    def _pieces(self) -> tuple[Texts, int]:
        """The pieces of all objects, one object after the other, and how many each has."""
        columns: list[Texts | str] = []
        constant = ",{"
        for key, texts in self._texts():
            constant += key
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

    def _texts(self) -> Iterator[tuple[str, Texts | str]]:
        """Yield what each member begins with, and its texts; neighbouring columns as one."""
        run = _Run()
        for member in self._members:
            values = member.values
            if not isinstance(values, ColumnSlice) or not run.takes(values):
                yield from run.texts()
                run = _Run()
            if isinstance(values, ColumnSlice):
                run.add(member, values)
            else:
                yield f'"{member.key}":', values
        yield from run.texts()


class _Run:
    """Neighbouring columns that have few enough values in common to be rendered as one."""

    def __init__(self) -> None:
        self._members: list[Member] = []
        self._slices: list[ColumnSlice] = []

    def takes(self, values: ColumnSlice) -> bool:
        """Tell whether a further column can be rendered with those that are there."""
        if not self._slices or len(values) < COMBINED_ROWS:
            return not self._slices
        names = [values_before.column for values_before in self._slices]
        return values.frame.combinations.of((*names, values.column)) is not None

    def add(self, member: Member, values: ColumnSlice) -> None:
        """Add a column that ``takes`` allowed."""
        self._members.append(member)
        self._slices.append(values)

    def texts(self) -> Iterator[tuple[str, Texts]]:
        """Yield the run as one; column by column where they can not be rendered together."""
        if not self._slices:
            return
        if len(self._slices) > 1 and (together := self._together()) is not None:
            yield "", together
            return
        for member, values in zip(self._members, self._slices, strict=True):
            yield f'"{member.key}":', column_texts(values)

    def _together(self) -> Texts | None:
        frame, rows = self._slices[0].frame, self._slices[0].rows
        columns = tuple(values.column for values in self._slices)
        combination = frame.combinations.of(columns)
        if combination is None:
            return None
        keys = tuple(member.key for member in self._members)
        parts = [combination.parts[name] for name in columns]
        codes = combination.codes[rows]
        if keys != tuple(member.name for member in self._members):
            # Aliases are a client's choice: no cache may grow with them.
            distinct, places = np.unique(codes, return_inverse=True)
            texts = _members(keys, [(column, values[distinct]) for column, values in parts])
            return list(map(texts.__getitem__, places.tolist()))
        texts = frame.combinations.kept((columns, keys), lambda: _members(keys, parts))
        return list(map(texts.__getitem__, codes.tolist()))


def _members(keys: Sequence[str], parts: Sequence[Part]) -> Texts:
    """Return for each combination the members of a JSON object: each key with its value."""
    template = ",".join(f'"{key}":%s' for key in keys)
    values = [map(column.mapped(json_text).__getitem__, codes.tolist()) for column, codes in parts]
    return [template % combination for combination in zip(*values, strict=True)]


def column_texts(values: ColumnSlice) -> Texts:
    """Return the JSON texts of a column at some rows."""
    texts: Texts = getattr(values.frame, values.column).mapped_at(json_text, values.rows)
    return texts
