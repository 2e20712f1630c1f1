"""graphql-core's executor within a budget, for operations that are not compiled."""

from typing import Any

from graphql import GraphQLError, is_non_null_type
from graphql.execution.collect_fields import FieldDetails
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from schema.execution.budget import Budget
from schema.execution.json_objects import STRUCTURE


class BudgetedExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor within the context's budget."""

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


def _items_length(items: list[Any]) -> int:
    """Return the approximate number of bytes that a list adds to a response, without those of its
    fields.
    """
    texts = [len(item) for item in items if type(item) is str]
    return STRUCTURE * len(items) + sum(texts)
