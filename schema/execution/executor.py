"""graphql-core's executor, extended to render lists instead of resolving them.

graphql-core resolves every field of every object, which takes some 5 microseconds each. If every
field selected below a list can resolve many objects at once, ``RenderingExecutor`` compiles the
selection and renders the list as a whole. In all other cases, and if a field raises, graphql-core
completes the list. Both produce the same JSON.
"""

from functools import cached_property
from typing import Any

import orjson
from graphql import GraphQLError, get_named_type, is_non_null_type
from graphql.execution.collect_fields import FieldDetails
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.execution.budget import Budget
from schema.execution.compiled import CompiledSelection, Compiler, NotCompilable, Run
from schema.execution.json_objects import STRUCTURE
from schema.fields import many
from snapshots.errors import CachelogError


class RenderingExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor, with rendering of lazy lists, within the context's budget."""

    def execute_field(
        self,
        parent_type: Any,
        source: Any,
        field_details_list: list[FieldDetails],
        path: Any,
        position_context: Any,
    ) -> Any:
        """Execute a field, and count the bytes that it adds; raises BudgetExceeded."""
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
        """Collect an error; errors beyond the maximum of a response are only counted.

        Finding the location of an error takes time in proportion to the length of the document.
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
        """Complete a list: a lazy one as a single JSON fragment if possible."""
        if isinstance(result, many.LazyList):
            budget: Budget = self.context_value.budget
            bytes_before = budget.num_bytes
            try:
                selection = self._selection(get_named_type(return_type.of_type), field_details_list)
                objects = selection.many(
                    result, Run(self.context_value, self.variable_values, None)
                )
            except (many.NotVectorized, NotCompilable, CachelogError, GraphQLError):
                budget.num_bytes = bytes_before  # the rendered text is discarded
            else:
                return orjson.Fragment(objects.array())
        return super().complete_list_value(
            return_type, field_details_list, info, path, result, position_context
        )

    @cached_property
    def _selections(self) -> dict[tuple[str, int], CompiledSelection]:
        """The selections below lists by type and field; graphql-core retains lists of fields."""
        return {}

    def _selection(self, item_type: Any, details: list[FieldDetails]) -> CompiledSelection:
        key = item_type.name, id(details)
        if key not in self._selections:
            self._selections[key] = Compiler(self).below(item_type, details)
        return self._selections[key]


def _items_length(items: list[Any]) -> int:
    """Return the approximate number of bytes that a list adds to a response, without those of its
    fields.
    """
    texts = [len(item) for item in items if type(item) is str]
    return STRUCTURE * len(items) + sum(texts)
