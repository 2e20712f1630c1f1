"""Fields that answer for many objects: each one function, from which both ways follow."""

from collections.abc import Sequence
from typing import Any

import pytest
import strawberry
from strawberry.types.field import StrawberryField

from schema.fields.connections import PageArguments, Paged
from schema.fields.many import (
    ColumnTable,
    Each,
    LazyList,
    NotForMany,
    Sublists,
    for_many,
    function_for_many,
)


class Numbers(LazyList[Any]):
    """Some numbers, as objects."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: Any) -> Any:
        return Number(self.numbers[place])


class Number:
    """One of them."""

    def __init__(self, number: int) -> None:
        self.number = number

    def alone(self) -> Numbers:
        """Return the list of this number alone."""
        return Numbers([self.number])


def times(numbers: Numbers, factor: int = 2) -> list[int]:
    """Return the products."""
    return [number * factor for number in numbers.numbers]


def below(numbers: Numbers) -> Sublists:
    """Return for each number all that are smaller."""
    return Sublists([it for n in numbers.numbers for it in range(n)], numbers.numbers)


def resolve(field: StrawberryField, owner: Any, **arguments: Any) -> Any:
    """Return what the derived resolver returns for one object."""
    assert field.base_resolver is not None
    return field.base_resolver(owner, **arguments)


def test_one_object_is_a_list_of_one() -> None:
    """The derived resolver asks the same function, with the same arguments."""
    field = for_many(times, "Products.")
    assert function_for_many(field, is_leaf=True)(Numbers([1, 2, 3]), factor=5) == [5, 10, 15]
    assert [resolve(field, Number(n), factor=5) for n in (1, 2, 3)] == [5, 10, 15]
    assert resolve(field, Number(4)) == 8


def test_a_list_of_one_object_has_all_items() -> None:
    """Where a field leads to lists, a single object gets the whole of the only one."""
    field = for_many(below, "Smaller ones.")
    assert function_for_many(field, is_leaf=True)(Numbers([2, 0, 1])) == Sublists(
        [0, 1, 0], [2, 0, 1]
    )
    assert [list(resolve(field, Number(n))) for n in (2, 0, 1)] == [[0, 1], [], [0]]


def test_a_plain_field_is_a_column_of_a_table_or_read_from_each() -> None:
    """Objects are never guessed: a plain field that leads to one must be a column."""
    field = strawberry.field(description="A number.")
    field.python_name = "number"
    table = ColumnTable(lambda number: Number(number), {"number": [5, 6]})
    assert function_for_many(field, is_leaf=False)(table) == [5, 6]
    assert [len(table), table[1].number] == [2, 6]
    plain = function_for_many(field, is_leaf=True)
    assert plain(Numbers([7, 8])) == plain([Number(7), Number(8)]) == [7, 8]
    with pytest.raises(NotForMany):
        function_for_many(field, is_leaf=False)(Numbers([7]))


def test_a_field_with_a_resolver_alone_is_not_for_many() -> None:
    """Nothing says how it would answer for many."""
    field: Any = strawberry.field(resolver=lambda: 1, description="One.")
    with pytest.raises(NotForMany):
        function_for_many(field, is_leaf=True)


def test_each_is_a_lazy_sequence() -> None:
    """A place, a place from the end, a slice; no item beyond the size."""
    squares = Each(4, lambda place: place * place)
    assert [squares[2], squares[-1], squares[1:3], [*squares]] == [4, 9, [1, 4], [0, 1, 4, 9]]
    with pytest.raises(IndexError):
        squares[4]


def test_a_connection_has_four_arguments_that_its_resolver_gets_as_one() -> None:
    """They follow the field's own, however often the extension is applied."""

    def items(self: Any, search: str = "", *, page: PageArguments) -> int:
        raise NotImplementedError

    paged = Paged()
    field: Any = strawberry.field(resolver=items, description="Items.", extensions=[paged])
    for _ in range(2):
        paged.apply(field)
        names = [argument.python_name for argument in field.arguments]
        assert names == ["search", "first", "after", "last", "before"]
    mapped = paged.map_arguments({"search": "a", "first": 7, "before": "b"})
    assert mapped == {"search": "a", "page": PageArguments(7, None, None, "b")}
