"""The API as one object: documents in, results out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import strawberry
from graphql import ExecutionResult, GraphQLFormattedError, OperationType, execute_sync
from graphql.utilities.print_schema import print_schema_definition
from strawberry.schema.config import StrawberryConfig

from schema import errors
from schema.budget import BudgetExceeded
from schema.context import Context
from schema.documents import Document, Documents
from schema.executor import RenderingExecutor
from schema.package import Package
from schema.query import Query
from schema.revision import Revision, Tag
from schema.scalars import SCALARS
from schema.spec import Spec
from schema.stack import Stack

MAX_OBJECTS = 2_000_000
"""How many objects a query may ask for, as ``schema.cost`` estimates them."""

SCHEMA_FILE = Path(__file__).with_name("schema.graphql")
"""The schema as it is committed; ``sdl()`` generates it."""

schema = strawberry.Schema(
    query=Query,
    types=[Revision, Tag, Package, Spec, Stack],
    execution_context_class=RenderingExecutor,
    config=StrawberryConfig(scalar_map=SCALARS),
)


schema._schema.description = (  # noqa: SLF001 - Strawberry takes no description of a schema
    "The contents of Spack build caches, revision by revision: what a cache held at each time, and "
    "what changed between two times, down to every spec's hash. It is read-only, and follows "
    "Relay's conventions: opaque ids, connections and node(id:). An answer about a digest is the "
    "same for ever."
)


_documents = Documents(schema._schema)  # noqa: SLF001


class Answer(NamedTuple):
    """What a request is answered with.

    Without ``executed`` the request never got so far as to have data. ``data`` may hold JSON
    fragments for orjson.
    """

    data: dict[str, Any] | None
    errors: tuple[GraphQLFormattedError, ...]
    executed: bool

    def body(self) -> dict[str, Any]:
        """Return the response as GraphQL has it."""
        body: dict[str, Any] = {"errors": self.errors} if self.errors else {}
        return body | {"data": self.data} if self.executed else body


def document(query: str) -> Document:
    """Return a document, parsed and validated; the latest ones are kept."""
    return _documents.get(query)


def is_known(query: str) -> bool:
    """Tell whether a document is kept, so that nothing has to be parsed."""
    return _documents.is_known(query)


def declared_variables(
    query: str, operation_name: str | None, variables: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return those variables that an operation declares; nothing else depends on the others."""
    return document(query).declared_variables(operation_name, variables)


def objects_asked(
    query: str, operation_name: str | None, variables: Mapping[str, Any] | None
) -> int:
    """Return about how many objects a request asks for; 0 for a document that is not valid."""
    return document(query).objects_asked(schema._schema, operation_name, variables)  # noqa: SLF001


def operation_type(query: Document, operation_name: str | None) -> OperationType | None:
    """Return whether an operation is a query, mutation or subscription; None if there is none."""
    return query.operation_type(operation_name)


def execute(
    query: str,
    variables: Mapping[str, Any] | None = None,
    operation_name: str | None = None,
    *,
    context: Context,
    executor: type[Any] = RenderingExecutor,
) -> Answer:
    """Answer a request.

    An answer that takes more than the context's budget is an error alone. Raises NotLoaded where
    something has to be read first and the context may not wait for it.
    """
    asked = document(query)
    if asked.node is None or asked.errors:
        return Answer(None, asked.errors, executed=False)
    objects = asked.objects_asked(schema._schema, operation_name, variables)  # noqa: SLF001
    if objects > MAX_OBJECTS:
        return Answer(None, (_too_large(objects),), executed=False)
    try:
        result = execute_sync(
            schema._schema,  # noqa: SLF001 - Strawberry's own way costs more than small queries do
            asked.node,
            context_value=context,
            variable_values=dict(variables or {}),
            operation_name=operation_name,
            executor_class=executor,
        )
    except BudgetExceeded as exceeded:
        return Answer(None, (errors.exceeded(exceeded),), executed=True)
    return _answer(result)


def _too_large(objects: int) -> GraphQLFormattedError:
    message = (
        f"The query asks for up to {objects:,} objects; {MAX_OBJECTS:,} are allowed. "
        "Take smaller pages, or fewer of them within each other."
    )
    return {"message": message, "extensions": {"code": errors.QUERY_TOO_LARGE}}


def _answer(result: ExecutionResult) -> Answer:
    found = tuple(errors.formatted(error) for error in result.errors or ())
    # Variables of a wrong type are the request's fault: nothing was executed.
    executed = result.data is not None or any("path" in error for error in found)
    return Answer(result.data, found, executed)


def sdl() -> str:
    """Return the schema in GraphQL's own language."""
    about = print_schema_definition(schema._schema)  # noqa: SLF001 - Strawberry prints none
    return f"{about}\n\n{schema.as_str()}\n"
