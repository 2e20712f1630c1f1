"""Lists that are rendered instead of resolved.

graphql-core asks every object for every field, which costs some 5 microseconds each. Where a list
is a batch and every field selected below it has a batch form, ``BatchExecutor`` asks the batch once
for each field and joins the answers to one piece of JSON. In every other case, and where a batch
form raises, the stock executor completes the list; both give the same JSON.
"""

from itertools import accumulate, pairwise
from typing import Any

import orjson
from graphql import GraphQLError, get_named_type, get_nullable_type, is_list_type
from graphql.execution.collect_fields import FieldDetails
from graphql.execution.values import get_argument_values
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types.arguments import convert_arguments
from strawberry.types.field import StrawberryField

from schema.batches import BATCH, Batch, Children, Coded, Objects, Texts
from snapshots.errors import CachelogError


class _NoBatchForm(Exception):
    """A field of the selection has no batch form."""


class BatchExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor, with a short way for batches."""

    def complete_list_value(
        self,
        return_type: Any,
        field_details_list: list[FieldDetails],
        info: Any,
        path: Any,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Complete a list: a batch as one JSON fragment where that is possible."""
        if isinstance(result, Batch):
            item_type = get_named_type(return_type.of_type)
            try:
                objects = self._objects(item_type, field_details_list, result, len(result))
            except (_NoBatchForm, CachelogError, GraphQLError):
                pass
            else:
                return orjson.Fragment(objects.array(0, len(result)))
        return super().complete_list_value(
            return_type, field_details_list, info, path, result, position_context
        )

    def _objects(
        self, object_type: Any, parents: list[FieldDetails], batch: Any, size: int
    ) -> Objects:
        """Return the JSON of each object of a batch, with what is selected below it."""
        selected = self.collect_subfields(object_type, parents)
        if selected.new_defer_usages:
            raise _NoBatchForm
        objects = Objects(size)
        for name, details in selected.grouped_field_set.items():
            if details[0].node.name.value == "__typename":
                objects.add(name, f'"{object_type.name}"')
            else:
                objects.add(name, self._answer(object_type, details, batch, size))
        return objects

    def _answer(
        self, object_type: Any, details: list[FieldDetails], batch: Any, size: int
    ) -> Texts | Coded:
        """Return the JSON of one field of each object of a batch."""
        field = object_type.fields[details[0].node.name.value]
        declared: StrawberryField = field.extensions["strawberry-definition"]
        form = declared.metadata.get(BATCH)
        if form is None:
            raise _NoBatchForm
        if not size:
            # There is nothing to ask, but the fields below may still have no batch form, or
            # arguments that the stock executor would never look at.
            return []
        answer = form(batch, **self._arguments(field, declared, details[0]))
        if not isinstance(answer, Children):
            return answer  # type: ignore[no-any-return]
        children = self._objects(
            get_named_type(field.type), details, answer.batch, len(answer.batch)
        )
        if answer.counts is None:
            return children.each()
        if not is_list_type(get_nullable_type(field.type)):
            texts = iter(children.each())
            return [next(texts) if count else "null" for count in answer.counts]
        bounds = accumulate(answer.counts, initial=0)
        return [children.array(start, stop) for start, stop in pairwise(bounds)]

    def _arguments(
        self, field: Any, declared: StrawberryField, details: FieldDetails
    ) -> dict[str, Any]:
        """Return a field's arguments as its resolver would get them."""
        if not field.args:
            return {}
        values = get_argument_values(
            field, details.node, self.variable_values, details.fragment_variable_values
        )
        converter = self.schema._strawberry_schema.schema_converter  # type: ignore[attr-defined]  # noqa: SLF001
        return convert_arguments(
            values,
            declared.arguments,
            scalar_registry=converter.scalar_registry,
            config=converter.config,
        )
