"""How a field answers for many objects at once, as JSON text.

The stock executor asks each object for each field. A field that declares a batch form is asked
once for a whole list instead. Its answer is one JSON text an object, or a reference to a column of
a frame, or the children of all objects as one batch more. ``Objects`` joins the answers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from snapshots.frames.columns import Rows
from snapshots.frames.frame import Frame

BATCH = "batch"

_JOINED_ROWS = 200
"""For fewer rows than these, to join columns takes longer than it ever saves."""

Item = TypeVar("Item")
Texts = list[str]


class Batch(Sequence[Item], Generic[Item]):
    """A list whose items are made only where somebody asks for one."""


class Children(NamedTuple):
    """The objects that a field leads to, those of all parents in one batch.

    ``counts`` says how many of them belong to each parent, for a field that is a list, and for one
    that can be null whether a parent has one (1) or none (0); without it each parent has one.
    ``batch`` is whatever the batch forms of its type's fields understand.
    """

    batch: Any
    counts: Sequence[int] | None = None


class Coded(NamedTuple):
    """A column of a frame at some rows, left as codes so that neighbours can be joined."""

    frame: Frame
    column: str
    rows: Rows


Answer = Texts | Coded | Children


def batched(form: Callable[..., Answer]) -> Mapping[str, Any]:
    """Return the metadata that gives a Strawberry field its batch form.

    ``form`` gets the batch of parents, and the field's arguments by keyword. Where it raises, the
    stock executor takes over and reports the error at each place it belongs to.
    """
    return {BATCH: form}


def json_texts(values: Iterable[Any]) -> Texts:
    """Return the JSON text of each value."""
    return [orjson.dumps(value).decode() for value in values]


class Objects:
    """The JSON objects of a batch, as pieces of text that are joined once, at the end.

    Every object has the same number of pieces, and its first one begins with a comma, so that an
    array of any of them is a single join.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._fields: list[tuple[str, Texts | Coded | str]] = []

    def add(self, key: str, texts: Texts | Coded | str) -> None:
        """Add a field: one JSON text an object, or a column, or one text for all of them."""
        self._fields.append((key, texts))

    def array(self, start: int, stop: int) -> str:
        """Return the JSON array of the objects from ``start`` up to and without ``stop``."""
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
        return ["".join(pieces[start : start + width])[1:] for start in starts]

    @cached_property
    def _pieces(self) -> tuple[Texts, int]:
        """The pieces of all objects, one object after the other, and how many each has."""
        columns: list[Texts | str] = []
        constant = ",{"
        for key, texts in self._joined_fields():
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

    def _joined_fields(self) -> Iterator[tuple[str, Texts | str]]:
        """Yield the fields with their keys in JSON; neighbouring columns as one where they fit."""
        run: list[tuple[str, Coded]] = []
        for key, texts in self._fields:
            if isinstance(texts, Coded) and _fits(run, texts):
                run.append((key, texts))
                continue
            yield from _of_run(run)
            run = []
            if isinstance(texts, Coded):
                run.append((key, texts))
            else:
                yield f'"{key}":', texts
        yield from _of_run(run)


def _fits(run: Sequence[tuple[str, Coded]], texts: Coded) -> bool:
    """Tell whether a column can be joined to those before it."""
    if not run or len(texts.rows) < _JOINED_ROWS:
        return not run
    names = (*(coded.column for _, coded in run), texts.column)
    return texts.frame.joint(names) is not None


def _of_run(run: Sequence[tuple[str, Coded]]) -> Iterator[tuple[str, Texts | str]]:
    if not run:
        return
    key, (frame, column, rows) = run[0]
    if len(run) == 1:
        yield f'"{key}":', getattr(frame, column).texts_at(rows)
    elif joint := frame.joint(tuple(coded.column for _, coded in run)):
        yield "", joint.texts_at(rows, tuple(key for key, _ in run))
