"""The API as a single object, which executes documents."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import orjson
import strawberry
from graphql import ExecutionResult, GraphQLFormattedError, execute_sync
from graphql.utilities.print_schema import print_schema_definition
from strawberry.schema.config import StrawberryConfig

from schema import errors
from schema.context import Context
from schema.documents.bounds import Refusal, refused_variables
from schema.documents.documents import MAX_CACHED_BYTES, Document, Documents
from schema.documents.estimates import NOTHING, Estimate, too_expensive
from schema.execution.budget import BudgetExceeded
from schema.execution.compiled import Fallback
from schema.execution.executor import BudgetedExecutor
from schema.execution.row_cache import ROW_BYTES, RowCache
from schema.fields import gql
from schema.fields.cost import Sizes
from schema.limits import Limits
from schema.query import Query
from schema.revisions.package import RevisionPackage, Stack
from schema.revisions.revision import Revision, Tag
from schema.revisions.spec import SpecType

SCHEMA_FILE = Path(__file__).with_name("schema.graphql")
"""The committed schema, which ``sdl()`` generates."""

schema = strawberry.Schema(
    query=Query,
    types=[Revision, Tag, RevisionPackage, SpecType, Stack],
    execution_context_class=BudgetedExecutor,
    config=StrawberryConfig(scalar_map=gql.SCALARS),
)


graphql_schema = schema._schema  # noqa: SLF001 - graphql-core's own, which runs everything here
graphql_schema.description = (  # Strawberry takes no description of a schema
    "The contents of Spack build caches, revision by revision: the specs that a cache had at "
    "each time, and the changes between any two revisions, down to the hash of every spec. The "
    "API is read-only and follows Relay's conventions: opaque ids, connections and node(id:). A "
    "response about single revisions, named by their `ref`, never changes."
)


LIGHT_UNITS = 20_000
"""The maximum cost of a request that may take a few milliseconds; if it takes longer, it is
interrupted.
"""

LIGHT_VARIABLES = 2_000
"""Maximum size of the variables of a light request, as JSON in bytes."""


class OperationResult(msgspec.Struct, frozen=True):
    """The result of a request.

    ``executed`` is False if the request was refused before its execution. ``data`` may contain JSON
    fragments for orjson. ``cost``, if it was requested, is ``extensions.cost`` of the response.
    """

    data: dict[str, Any] | None
    errors: tuple[GraphQLFormattedError, ...]
    executed: bool
    cost: dict[str, int] | None = None

    def body(self) -> dict[str, Any]:
        """Return the response in the form that GraphQL defines."""
        body: dict[str, Any] = {"errors": self.errors} if self.errors else {}
        if self.executed:
            body["data"] = self.data
        if self.cost is not None:
            body["extensions"] = {"cost": self.cost}
        return body


class API:
    """The executable schema of a server.

    ``limits`` apply to documents and costs; those of a context's budget apply to execution. Without
    ``introspection``, documents may not query the schema, and errors do not suggest similar names
    of it. ``documents`` caches parsed documents, and ``rows`` rendered rows, each within a size in
    bytes.
    """

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008 - a frozen record
        *,
        introspection: bool = True,
        document_bytes: int = MAX_CACHED_BYTES,
        row_bytes: int = ROW_BYTES,
    ) -> None:
        self.limits = limits
        self.rows = RowCache(row_bytes)
        self.fallbacks: Counter[Fallback] = Counter()
        """The number of operations that graphql-core executed, by reason."""
        self._hide_suggestions = not introspection
        self._lock = Lock()
        self.documents = Documents(
            graphql_schema,
            limits,
            introspection=introspection,
            max_bytes=document_bytes,
        )

    def pop_fallbacks(self) -> Counter[Fallback]:
        """Return the number of operations by reason in ``fallbacks``, and begin again at zero."""
        with self._lock:
            counted, self.fallbacks = self.fallbacks, Counter()
        return counted

    def cost(
        self,
        query: str,
        operation_name: str | None,
        variables: Mapping[str, Any] | None,
        sizes: Sizes = Sizes(),  # noqa: B008 - a frozen record
    ) -> Estimate:
        """Return the cost of a request in a catalog of some sizes, by default of a large one.

        NOTHING if it is refused before its execution.
        """
        return self._priced(self.documents.get(query), operation_name, variables, sizes)[2]

    def allows(self, cost: Estimate) -> bool:
        """Return whether a cost is within the limits and not NOTHING."""
        return cost is not NOTHING and too_expensive(cost, self.limits) is None

    def is_light(self, variables: Mapping[str, Any] | None, cost: Estimate) -> bool:
        """Return whether a request may take only a few milliseconds if all data is in memory: its
        variables are short, and its cost is small.
        """
        if variables and not is_small(variables):
            return False
        return cost.units - cost.shared_units <= LIGHT_UNITS

    def execute(
        self,
        query: str,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        *,
        context: Context,
        executor: type[Any] | None = None,
        include_cost: bool = False,
        cost: Estimate | None = None,
    ) -> OperationResult:
        """Execute a request; with ``include_cost``, the response contains its cost: the requested
        and the actual one, and the limit.

        If ``cost`` is given, which the API ``allows``, the variables are the declared ones, and the
        cost is not estimated again. With ``executor``, graphql-core executes the request by it,
        even if it can be compiled.

        The response to a request that exceeds the context's budget is only an error. Raises
        NotLoaded if data has to be loaded first and the context may not wait for it.
        """
        admitted = self._admitted(query, variables, operation_name, context, cost)
        if isinstance(admitted, OperationResult):
            return admitted
        try:
            result = self._executed(query, admitted, operation_name, context, executor)
        except BudgetExceeded as exceeded:
            shown: tuple[GraphQLFormattedError, ...] = (errors.exceeded(exceeded),)
            return OperationResult(
                None,
                shown,
                executed=True,
                cost=self._shown_cost(admitted.cost, context) if include_cost else None,
            )
        finally:
            context.release()
        shown = errors.shown(
            result.errors or (),
            self.limits,
            further=context.further_errors,
        )
        # Variables of a wrong type are the request's fault: nothing was executed.
        executed = result.data is not None or not shown or any("path" in error for error in shown)
        shown_cost = self._shown_cost(admitted.cost, context) if include_cost else None
        return OperationResult(result.data, shown, executed, shown_cost)

    def _shown_cost(self, cost: Estimate, context: Context) -> dict[str, int]:
        """Return ``extensions.cost`` of a response."""
        actual = context.actual_units()
        return {"requested": cost.units, "actual": actual, "limit": self.limits.max_cost}

    def _executed(
        self,
        query: str,
        admitted: "_Admitted",
        operation_name: str | None,
        context: Context,
        executor: type[Any] | None,
    ) -> ExecutionResult:
        """Return the result of an operation, which is compiled if possible."""
        document, variables = admitted.document, admitted.variables
        if executor is None:
            num_bytes = document.num_bytes
            result = document.execute(graphql_schema, operation_name, variables, context, self.rows)
            if document.num_bytes != num_bytes:
                self.documents.count(query, document)
            if not isinstance(result, Fallback):
                return result
            with self._lock:
                self.fallbacks[result] += 1
        assert document.node is not None  # noqa: S101 - it was admitted
        return execute_sync(
            graphql_schema,
            document.node,
            context_value=context,
            variable_values=variables,
            operation_name=operation_name,
            executor_class=executor or BudgetedExecutor,
            max_coercion_errors=self.limits.max_errors,
            hide_suggestions=self._hide_suggestions,
        )

    def _admitted(
        self,
        query: str,
        variables: Mapping[str, Any] | None,
        operation_name: str | None,
        context: Context,
        cost: Estimate | None,
    ) -> "_Admitted | OperationResult":
        """Return the request to execute, or the result if it is refused."""
        document = self.documents.get(query)
        if document.node is None or document.errors:
            return OperationResult(None, document.errors, executed=False)
        if cost is not None:
            return _Admitted(document, dict(variables or ()), cost)
        sizes = Sizes.of(context.history)
        declared, refusal, cost = self._priced(document, operation_name, variables, sizes)
        refusal = refusal or too_expensive(cost, self.limits)
        if refusal is None:
            return _Admitted(document, declared, cost)
        return OperationResult(None, (refusal,), executed=False)

    def _priced(
        self,
        document: Document,
        operation_name: str | None,
        variables: Mapping[str, Any] | None,
        sizes: Sizes,
    ) -> tuple[dict[str, Any], Refusal, Estimate]:
        """Return the declared variables, the error if they are refused, and the cost of the
        operation.
        """
        declared = document.declared_variables(operation_name, variables) or {}
        if (refusal := refused_variables(declared, self.limits)) is not None:
            return declared, refusal, NOTHING
        return declared, None, document.estimate(graphql_schema, operation_name, declared, sizes)


class _Admitted(msgspec.Struct, frozen=True):
    """A request within the limits: its document, variables, and expected cost."""

    document: Document
    variables: dict[str, Any]
    cost: Estimate


def is_small(variables: Mapping[str, Any]) -> bool:
    """Return whether variables are few and short."""
    try:
        return len(orjson.dumps(variables)) <= LIGHT_VARIABLES
    except orjson.JSONEncodeError:
        return False  # the limits refuse them


def sdl() -> str:
    """Return the schema in GraphQL's schema definition language."""
    about = print_schema_definition(graphql_schema)
    return f"{about}\n\n{schema.as_str()}\n"
