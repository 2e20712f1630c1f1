"""Fields that resolve many objects at once, from a single definition.

graphql-core resolves every field of every object separately. A field that is declared with
``for_many`` is one function of a list of objects. The executor calls it once for an entire list;
the resolver for a single object is derived from it, and calls it with a list of one.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar, overload

import msgspec
import numpy as np
import orjson
import strawberry
from graphql import GraphQLField, get_named_type, is_leaf_type
from strawberry.extensions import FieldExtension
from strawberry.types.field import StrawberryField

from schema.fields.cost import COST, Cost
from schema.fields.gql import described
from snapshots.arrays import Rows
from snapshots.frames.frame import Frame

FOR_MANY = "for_many"
"""The key of the function for many objects in a field's metadata."""

FIXED = "fixed"
"""The key in a field's metadata for whether its values depend only on a frame and arguments."""

Item = TypeVar("Item")
Columns = Mapping[str, Sequence[Any]]


COLUMN = "column"
"""The key in the metadata of a plain field of objects that is a column of every list of them."""


class LazyList(Sequence[Item], Generic[Item]):
    """A list of objects that are created only on access.

    ``columns`` may have the values of plain fields, which have no resolver, by the field's name in
    Python.
    """

    columns: Columns = MappingProxyType({})

    def origin(self) -> "Origin | None":
        """Return the rows of a frame that the objects are; None if they are not rows."""
        return None

    def taken(self, numbers: Rows) -> "LazyList[Item]":
        """Return the objects at some indices, of a list that has ``origin``."""
        raise NotImplementedError


class RowList(LazyList[Item], Generic[Item]):
    """Objects that are identified by numbers: for example, rows of a frame, or causes of a
    comparison.

    ``loaded`` is the owner of these objects. A subclass defines ``item``, which creates the object
    of a number.
    """

    def __init__(self, loaded: Any, numbers: Any) -> None:
        self.loaded = loaded
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: Any) -> Any:
        return self.item(int(self.numbers[place]))

    def item(self, number: int) -> Item:
        """Return the object of a number."""
        raise NotImplementedError

    def taken(self, numbers: Rows) -> Self:
        """Return the objects at some indices."""
        return type(self)(self.loaded, self.numbers[numbers])


class Origin(msgspec.Struct, frozen=True):
    """The positions of the objects of a list in a frame: ``rows`` of a table of ``size`` rows.

    ``table`` identifies it, with the digest of the frame's content.
    """

    table: tuple[str, str]
    size: int
    rows: Rows


class ColumnTable(LazyList[Item]):
    """Objects of a type, from columns of its plain fields; others are resolved as usual."""

    def __init__(self, kind: Callable[..., Item], columns: Columns) -> None:
        self.columns = columns
        self._kind = kind

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, place: Any) -> Any:
        return self._kind(**{name: values[place] for name, values in self.columns.items()})


@strawberry.type
class ListedRecord:
    """An object for a single record: the only one of its rows, which have ``records``."""

    rows: strawberry.Private[Any]

    def alone(self) -> Any:
        """Return a list of only this object."""
        return self.rows


class Sublists(msgspec.Struct, frozen=True):
    """The lists that a field returns for all parents, concatenated.

    ``counts`` has the number of items of each parent.
    """

    items: Sequence[Any]
    counts: Sequence[int]

    @classmethod
    def of(
        cls, lists: Sequence[Sequence[Any]], make: Callable[[list[Any]], Sequence[Any]] = list
    ) -> Self:
        """Return the lists of all parents; ``make`` turns their joined items into objects."""
        return cls(make([*chain.from_iterable(lists)]), list(map(len, lists)))


class NullableObjects(msgspec.Struct, frozen=True):
    """The objects that a field returns for some of the parents, with null for the others.

    ``choices`` has, for each parent, the index of the list that contains its object, or -1 for
    null. There are several lists if, for example, the objects belong to two revisions. Each list is
    in the order of the parents.
    """

    lists: Sequence[Sequence[Any]]
    choices: Sequence[int]

    @classmethod
    def of(cls, values: Sequence[Any], make: Callable[[Any], Any] = lambda value: value) -> Self:
        """Return ``make`` of each value that is not None, and null for the others."""
        present = [make(value) for value in values if value is not None]
        return cls([present], [-1 if value is None else 0 for value in values])

    @classmethod
    def at(cls, rows: Rows, make: Callable[[Rows], Sequence[Any]]) -> Self:
        """Return the objects that ``make`` creates for the rows; null for a row of -1."""
        return cls([make(rows[rows >= 0])], np.minimum(rows, 0).tolist())


class ComputedList(LazyList[Item]):
    """A list of ``size`` items, each computed from its index on every access."""

    def __init__(self, size: int, make: Callable[[int], Item]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> list[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | list[Item]:
        places = range(self._size)[place]
        return self._make(places) if isinstance(places, int) else list(map(self._make, places))


class ColumnSlice(Sequence[Any]):
    """The values of a frame's column at some rows."""

    def __init__(self, frame: Frame, column: str, rows: Rows) -> None:
        self.frame = frame
        self.column = column
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        return getattr(self.frame, self.column).at(int(self.rows[place]))

    def texts(self) -> list[str]:
        """Return the JSON of each value, created once for each distinct value."""
        texts: list[str] = getattr(self.frame, self.column).mapped_at(json_text, self.rows)
        return texts


def json_text(value: Any) -> str:
    """Return the JSON text of a value."""
    return orjson.dumps(value).decode()


Answer = Sequence[Any] | NullableObjects | Sublists
"""The result of a field for many objects: a value, an object or null, or a list for each."""

ForMany = Callable[..., Answer]
"""A function of a list of objects, and of the field's arguments by keyword."""


def for_many(
    function: ForMany,
    description: str | None = None,
    *,
    cost: Cost | None = None,
    extensions: Sequence[FieldExtension] = (),
    is_fixed: bool = False,
) -> Any:
    """Declare a field by a function of many objects, described by ``description`` or its docstring.

    Objects of its type have ``alone``, which returns a list of only the object. The parameters of
    the function after the first are the arguments of the field. With ``is_fixed``, its values
    depend only on the rows of a frame that the objects are, and on the arguments. If it raises for
    a list, it is called for each object of the list, and the error is reported at each of its
    paths.
    """

    def resolve(self: Any, **arguments: Any) -> Any:
        answer = function(self.alone(), **arguments)
        if isinstance(answer, NullableObjects):
            choice = answer.choices[0]
            return None if choice < 0 else answer.lists[choice][0]
        return answer.items if isinstance(answer, Sublists) else answer[0]

    signature = inspect.signature(function)
    _, *arguments = signature.parameters.values()
    owner = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    resolve.__signature__ = inspect.Signature([owner, *arguments])  # type: ignore[attr-defined]
    resolve.__module__ = function.__module__  # the namespace of the arguments' annotations
    return strawberry.field(
        resolver=resolve,
        description=description or described(function),
        metadata={FOR_MANY: function, FIXED: is_fixed} | ({COST: cost} if cost else {}),
        extensions=[*extensions],
    )


def attribute(
    path: str,
    graphql_type: Any,
    cost: Cost | None = None,
    *,
    make: Callable[[Any], Any] | None = None,
    is_for_many: bool = False,
) -> Any:
    """Declare a field that is an attribute of its object, for example ``info.tag``, or computed
    from it.

    The docstring of its type describes it. None remains None; ``make`` is called for other values.
    With ``is_for_many``, it resolves many objects at once.
    """
    value = attrgetter(path)

    def one(self: Any) -> Any:
        part = value(self)
        return part if make is None or part is None else make(part)

    def many(objects: Any) -> list[Any]:
        return list(map(value, objects))

    return strawberry.field(
        resolver=one,
        graphql_type=graphql_type,
        metadata=({FOR_MANY: many} if is_for_many else {}) | ({COST: cost} if cost else {}),
    )


def of_record(path: str, cost: Cost | None = None, *, is_fixed: bool = False) -> Any:
    """Declare a field of a ListedRecord that is an attribute of its record.

    The docstring of its type describes it.
    """
    value = attrgetter(path)
    return for_many(lambda rows: list(map(value, rows.records)), cost=cost, is_fixed=is_fixed)


def is_for_many(field: GraphQLField) -> bool:
    """Return whether a field of the schema can resolve many objects at once."""
    declared: StrawberryField | None = field.extensions.get("strawberry-definition")
    is_leaf = is_leaf_type(get_named_type(field.type))
    return declared is not None and function_for_many(declared, is_leaf=is_leaf) is not None


def function_for_many(field: StrawberryField, *, is_leaf: bool) -> ForMany | None:
    """Return the function of a field for many objects; None if it has none.

    A plain field, which has no resolver, is a column of the list. If the list has no such column,
    the field is read from each object; if it can be an object, each list must have it as a COLUMN.
    """
    function: ForMany | None = field.metadata.get(FOR_MANY)
    if function is not None:
        return function
    if not field.is_basic_field or not (is_leaf or field.metadata.get(COLUMN)):
        return None
    name = field.python_name

    def values(objects: Sequence[Any]) -> Sequence[Any]:
        if isinstance(objects, LazyList) and name in objects.columns:
            return objects.columns[name]
        return [getattr(item, name) for item in objects]

    return values
