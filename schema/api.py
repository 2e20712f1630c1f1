"""The API as one object: documents in, results out."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import strawberry
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLFormattedError,
    OperationType,
    execute_sync,
    get_operation_ast,
    parse,
    specified_rules,
    validate,
)
from strawberry.schema.config import StrawberryConfig

from schema import errors
from schema.context import Context
from schema.cost import Sizes, estimate, sizes_in
from schema.executor import RenderingExecutor
from schema.package import Package
from schema.query import Query
from schema.revision import Revision, Tag
from schema.scalars import SCALARS
from schema.spec import Spec
from schema.stack import Stack

MAX_LENGTH = 64_000
"""How many characters a document may have."""

MAX_TOKENS = 2_000
"""How many tokens a document may have; GraphiQL's introspection query has some 500.

Validation takes time in the square of it.
"""

MAX_OBJECTS = 2_000_000
"""How many objects a query may ask for, as ``schema.cost`` estimates them."""

MAX_DOCUMENTS = 512
"""How many parsed and validated documents are kept."""

SCHEMA_FILE = Path(__file__).with_name("schema.graphql")
"""The schema as it is committed; ``sdl()`` generates it."""

schema = strawberry.Schema(
    query=Query,
    types=[Revision, Tag, Package, Spec, Stack],
    execution_context_class=RenderingExecutor,
    config=StrawberryConfig(scalar_map=SCALARS),
)


class Document(NamedTuple):
    """A request's document: what could be parsed of it, and the errors that make it invalid."""

    node: DocumentNode | None
    errors: tuple[GraphQLFormattedError, ...]


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


@lru_cache(maxsize=MAX_DOCUMENTS)
def document(query: str) -> Document:
    """Parse and validate a document; the latest ones are kept."""
    try:
        if len(query) > MAX_LENGTH:
            raise GraphQLError(f"The document has more than {MAX_LENGTH:,} characters.")
        node = parse(query, max_tokens=MAX_TOKENS)
    except GraphQLError as error:
        return Document(None, (errors.formatted(error, default_code=errors.PARSE_FAILED),))
    except RecursionError:
        too_deep = GraphQLError("The document nests too deeply.")
        return Document(None, (errors.formatted(too_deep, default_code=errors.PARSE_FAILED),))
    found = validate(schema._schema, node, specified_rules)  # noqa: SLF001
    shown = (errors.formatted(it, default_code=errors.VALIDATION_FAILED) for it in found)
    return Document(node, tuple(shown))


@lru_cache(maxsize=MAX_DOCUMENTS)
def _estimate(query: str, operation_name: str | None, sizes: Sizes) -> int:
    node, found = document(query)
    return 0 if node is None or found else estimate(schema._schema, node, operation_name, sizes)  # noqa: SLF001


def objects_asked(
    query: str, operation_name: str | None, variables: Mapping[str, Any] | None
) -> int:
    """Return about how many objects a request asks for; 0 for a document that is not valid."""
    return _estimate(query, operation_name, sizes_in(variables))


def operation_type(query: Document, operation_name: str | None) -> OperationType | None:
    """Return whether an operation is a query, mutation or subscription; None if there is none."""
    operation = get_operation_ast(query.node, operation_name) if query.node else None
    return operation.operation if operation else None


def execute(
    query: str,
    variables: Mapping[str, Any] | None = None,
    operation_name: str | None = None,
    *,
    context: Context,
    executor: type[Any] = RenderingExecutor,
) -> Answer:
    """Answer a request.

    Raises NotLoaded where something has to be read first and the context may not wait for it.
    """
    asked = document(query)
    if asked.node is None or asked.errors:
        return Answer(None, asked.errors, executed=False)
    if (objects := objects_asked(query, operation_name, variables)) > MAX_OBJECTS:
        return Answer(None, (_too_large(objects),), executed=False)
    result = execute_sync(
        schema._schema,  # noqa: SLF001 - Strawberry's own way costs more than a small query does
        asked.node,
        context_value=context,
        variable_values=dict(variables or {}),
        operation_name=operation_name,
        executor_class=executor,
    )
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
    return schema.as_str() + "\n"
