"""Lists that are rendered instead of resolved.

graphql-core asks every object for every field, which costs some 5 microseconds each. Where a list
is a batch and every field selected below it has a batch form, ``BatchExecutor`` asks the batch once
for each field and joins the answers to one piece of JSON. In every other case, and where a batch
form raises, the stock executor completes the list; both give the same JSON.
"""

from typing import Any

import orjson
from graphql import get_named_type
from graphql.execution.collect_fields import FieldDetails
from graphql.execution.values import get_argument_values
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types.arguments import convert_arguments
from strawberry.types.field import StrawberryField

from schema.batches import BATCH, Batch, Children
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
                texts = self._texts(item_type, field_details_list, result, len(result))
            except (_NoBatchForm, CachelogError):
                pass
            else:
                return orjson.Fragment("[" + ",".join(texts) + "]")
        return super().complete_list_value(
            return_type, field_details_list, info, path, result, position_context
        )

    def _texts(
        self, object_type: Any, parents: list[FieldDetails], batch: Any, size: int
    ) -> list[str]:
        """Return the JSON text of each object of a batch, with what is selected below it."""
        if not size:
            return []
        selected = self.collect_subfields(object_type, parents)
        if selected.new_defer_usages:
            raise _NoBatchForm
        columns = []
        for details in selected.grouped_field_set.values():
            if details[0].node.name.value == "__typename":
                columns.append([f'"{object_type.name}"'] * size)
            else:
                columns.append(self._column(object_type, details, batch))
        names = ",".join(f'"{name}":%s' for name in selected.grouped_field_set)
        template = f"{{{names}}}"
        return [template % values for values in zip(*columns, strict=True)]

    def _column(self, object_type: Any, details: list[FieldDetails], batch: Any) -> list[str]:
        """Return the JSON text of one field of each object of a batch."""
        field = object_type.fields[details[0].node.name.value]
        declared: StrawberryField = field.extensions["strawberry-definition"]
        form = declared.metadata.get(BATCH)
        if form is None:
            raise _NoBatchForm
        answer = form(batch, **self._arguments(field, declared, details[0]))
        if not isinstance(answer, Children):
            texts: list[str] = answer
            return texts
        children = self._texts(get_named_type(field.type), details, answer.batch, len(answer.batch))
        if answer.counts is None:
            return children
        remaining = iter(children)
        return [
            "[" + ",".join(next(remaining) for _ in range(count)) + "]" for count in answer.counts
        ]

    def _arguments(
        self, field: Any, declared: StrawberryField, details: FieldDetails
    ) -> dict[str, Any]:
        """Return a field's arguments as its resolver would get them."""
        if not field.args:
            return {}
        values = get_argument_values(
            field, details.node, self.variable_values, details.fragment_variable_values
        )
        converter = self._converter
        return convert_arguments(
            values,
            declared.arguments,
            scalar_registry=converter.scalar_registry,
            config=converter.config,
        )

    @property
    def _converter(self) -> Any:
        return self.schema._strawberry_schema.schema_converter  # type: ignore[attr-defined]  # noqa: SLF001
