"""Lists that are rendered instead of resolved.

graphql-core asks every object for every field, which costs some 5 microseconds each. Where every
field selected below a list answers for many objects at once, ``RenderingExecutor`` asks the list
once for each field and joins the answers to one piece of JSON. In every other case, and where a
field raises, the stock executor completes the list; both give the same JSON.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import orjson
from graphql import (
    GraphQLError,
    GraphQLSchema,
    get_named_type,
    is_leaf_type,
    is_non_null_type,
    is_specified_scalar_type,
)
from graphql.execution.collect_fields import FieldDetails
from graphql.execution.values import get_argument_values
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types.arguments import convert_arguments
from strawberry.types.field import StrawberryField

from schema.execution.budget import Budget
from schema.fields.many import (
    ColumnSlice,
    LazyList,
    NotForMany,
    Sublists,
    WhereKnown,
    function_for_many,
)
from snapshots.errors import CachelogError

# -- JSON texts


Texts = list[str]

JOINED_PIECES = 10_000
"""At most this many pieces are joined before the resulting text is counted."""

COUNTED_BYTES = 1_000_000
"""Small texts are counted each time that they reach this many bytes."""


def json_texts(values: Iterable[Any]) -> Texts:
    """Return the JSON text of each value."""
    return [orjson.dumps(value).decode() for value in values]


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
        self._members: list[tuple[str, Texts | str]] = []

    def add(self, key: str, texts: Texts | str) -> None:
        """Add a field by its key: one JSON text for each object, or one for all of them."""
        self._members.append((key, texts))

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


# -- the executor


class RenderingExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor, with a short way for lazy lists, within the context's budget."""

    def execute_field(
        self,
        parent_type: Any,
        source: Any,
        field_details_list: list[FieldDetails],
        path: Any,
        position_context: Any,
    ) -> Any:
        """Execute a field, and count what it adds; raises BudgetExceeded."""
        value = super().execute_field(
            parent_type, source, field_details_list, path, position_context
        )
        length = STRUCTURE + len(path.key)
        if type(value) is str:
            length += len(value)
        elif type(value) is list:
            length += _items_length(value)
        self.context_value.budget.spend(length)
        return value

    def handle_field_error(
        self,
        raw_error: Exception,
        return_type: Any,
        field_details_list: list[FieldDetails],
        path: Any,
    ) -> None:
        """Collect an error; those beyond what an answer shows are only counted.

        To find an error's place in the document takes time in proportion to its text.
        """
        budget: Budget = self.context_value.budget
        if len(self.collected_errors.errors) <= budget.limits.max_errors:
            super().handle_field_error(raw_error, return_type, field_details_list, path)
        elif self.error_propagation and is_non_null_type(return_type):
            raise GraphQLError("", original_error=raw_error)
        else:
            self.context_value.further_errors += 1

    def complete_list_value(
        self,
        return_type: Any,
        field_details_list: list[FieldDetails],
        info: Any,
        path: Any,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Complete a list: a lazy one as one JSON fragment where that is possible."""
        if isinstance(result, LazyList):
            budget: Budget = self.context_value.budget
            bytes_before = budget.num_bytes
            item_type = get_named_type(return_type.of_type)
            try:
                objects = self._render(item_type, field_details_list, result)
            except (NotForMany, CachelogError, GraphQLError):
                budget.num_bytes = bytes_before  # the rendered text is discarded
            else:
                return orjson.Fragment(objects.array(0, len(result)))
        return super().complete_list_value(
            return_type, field_details_list, info, path, result, position_context
        )

    def _render(self, object_type: Any, parents: list[FieldDetails], objects: Any) -> JsonObjects:
        """Return the JSON of each object of a list, with what is selected below it."""
        selected = self.collect_subfields(object_type, parents)
        if selected.new_defer_usages:
            raise NotForMany
        rendered = JsonObjects(len(objects), self.context_value.budget)
        for key, details in selected.grouped_field_set.items():
            name = details[0].node.name.value
            if name == "__typename":
                rendered.add(key, f'"{object_type.name}"')
            else:
                rendered.add(key, self._answers(object_type, name, details, objects))
        return rendered

    def _answers(
        self, object_type: Any, name: str, details: list[FieldDetails], objects: Any
    ) -> Texts:
        """Return the JSON of one field of each object."""
        self.context_value.budget.check()
        field = object_type.fields[name]
        declared: StrawberryField = field.extensions["strawberry-definition"]
        item_type = get_named_type(field.type)
        function = function_for_many(declared, is_leaf=is_leaf_type(item_type))
        if not len(objects):
            # No object has an answer, and fields below may be for single objects, or have arguments
            # that the stock executor would never read.
            return []
        answer = function(objects, **self._arguments(field, declared, details[0]))
        return rendered_values(
            answer, item_type, lambda items: self._render(item_type, details, items)
        )

    def _arguments(
        self, field: Any, declared: StrawberryField, details: FieldDetails
    ) -> dict[str, Any]:
        """Return a field's arguments as its resolver would get them."""
        if not field.args:
            return {}
        values = get_argument_values(
            field, details.node, self.variable_values, details.fragment_variable_values
        )
        return resolver_arguments(self.schema, declared, values)


def resolver_arguments(
    schema: GraphQLSchema, declared: StrawberryField, values: dict[str, Any]
) -> dict[str, Any]:
    """Return the coerced arguments of a field as Strawberry gives them to its resolver."""
    converter = schema._strawberry_schema.schema_converter  # type: ignore[attr-defined]  # noqa: SLF001
    arguments = convert_arguments(
        values,
        declared.arguments,
        scalar_registry=converter.scalar_registry,
        config=converter.config,
    )
    for extension in declared.extensions:
        arguments = extension.map_arguments(arguments)
    return arguments


STRUCTURE = 5
"""The quotes, colon and comma of a member of a JSON object, or an item's and what is in it."""


def _items_length(items: list[Any]) -> int:
    """Return about how many bytes a list adds to an answer that its own fields did not add."""
    texts = [len(item) for item in items if type(item) is str]
    return STRUCTURE * len(items) + sum(texts)


def rendered_values(answer: Any, item_type: Any, render: Callable[[Any], JsonObjects]) -> Texts:
    """Return the JSON of what a field answered for each object of a list.

    ``render`` is called for objects, with what is selected below the field.
    """
    if isinstance(answer, ColumnSlice):
        return answer.texts()
    if isinstance(answer, Sublists):
        return render(answer.items).arrays(answer.counts)
    if isinstance(answer, WhereKnown):
        lists = [iter(render(items).each()) for items in answer.lists]
        return [next(lists[choice]) if choice >= 0 else "null" for choice in answer.choices]
    if is_leaf_type(item_type):
        return json_texts(_serialized(item_type, answer))
    return render(answer).each()


def _serialized(leaf: Any, answer: Any) -> Any:
    """Return values as JSON has them: members of an enum by their names, also in lists."""
    if is_specified_scalar_type(leaf):
        return answer
    return [_serialized_value(leaf, value) for value in answer]


def _serialized_value(leaf: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_serialized_value(leaf, item) for item in value]
    return None if value is None else leaf.serialize(value)
