"""The API as one object: documents in, results out."""

from collections.abc import AsyncIterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson
import strawberry
from graphql import ExecutionResult, GraphQLFormattedError, create_source_event_stream, execute_sync
from graphql.utilities.print_schema import print_schema_definition
from strawberry.schema.config import StrawberryConfig

from schema import errors
from schema.context import Context
from schema.documents.bounds import Refusal, refused_variables
from schema.documents.documents import KEPT_BYTES, Document, Documents
from schema.documents.estimates import NOTHING, Estimate, cost_extension, too_expensive
from schema.execution.budget import BudgetExceeded
from schema.execution.compiled import Declined
from schema.execution.executor import RenderingExecutor
from schema.execution.kept_rows import ROW_BYTES, KeptRows
from schema.fields.scalars import SCALARS
from schema.limits import Limits
from schema.query import Query, Subscription, root_of
from schema.revisions.package import Package, Stack
from schema.revisions.revision import Revision, Tag
from schema.revisions.spec import SpecType
from snapshots.models import RevisionInfo

SCHEMA_FILE = Path(__file__).with_name("schema.graphql")
"""The schema as it is committed; ``sdl()`` generates it."""

schema = strawberry.Schema(
    query=Query,
    subscription=Subscription,
    types=[Revision, Tag, Package, SpecType, Stack],
    execution_context_class=RenderingExecutor,
    config=StrawberryConfig(scalar_map=SCALARS),
)


graphql_schema = schema._schema  # noqa: SLF001 - graphql-core's own, which runs everything here
graphql_schema.description = (  # Strawberry takes no description of a schema
    "The contents of Spack build caches, revision by revision: what a cache held at each time, and "
    "what changed between two times, down to every spec's hash. It is read-only, and follows "
    "Relay's conventions: opaque ids, connections and node(id:). An answer about a digest is the "
    "same for ever."
)


LIGHT_UNITS, LIGHT_BYTES = 6_000, 2_500_000
"""Of a request that takes a few milliseconds."""

LIGHT_DOCUMENT, LIGHT_VARIABLES = 2_000, 2_000
"""Of a light request: characters of its document, and bytes of its variables as JSON."""


class OperationResult(msgspec.Struct, frozen=True):
    """The answer to a request.

    ``executed`` is False where the request was refused before there could be data. ``data`` may
    hold JSON fragments for orjson. ``estimate`` is the expected cost; it is part of the response
    where ``allowed`` is given.
    """

    data: dict[str, Any] | None
    errors: tuple[GraphQLFormattedError, ...]
    executed: bool
    estimate: Estimate = NOTHING
    allowed: Limits | None = None

    def body(self) -> dict[str, Any]:
        """Return the response as GraphQL has it."""
        body: dict[str, Any] = {"errors": self.errors} if self.errors else {}
        if self.executed:
            body["data"] = self.data
        if self.allowed is not None:
            body["extensions"] = {"cost": cost_extension(self.estimate, self.allowed)}
        return body


class API:
    """The schema, as a server offers it.

    ``limits`` apply to documents and costs; those of a context's budget apply to execution. Without
    ``introspection`` no document may query the schema; without ``suggestions`` no error suggests
    similar names. ``document_bytes`` is the size of the cache of documents, ``row_bytes`` that of
    rendered rows.
    """

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008 - a frozen record
        *,
        introspection: bool = True,
        suggestions: bool = True,
        document_bytes: int = KEPT_BYTES,
        row_bytes: int = ROW_BYTES,
    ) -> None:
        self.limits = limits
        self.rows = KeptRows(row_bytes)
        self._suggestions = suggestions
        self._documents = Documents(
            graphql_schema,
            limits,
            introspection=introspection,
            suggestions=suggestions,
            max_bytes=document_bytes,
        )

    @property
    def num_bytes(self) -> int:
        """About how many bytes the kept documents take, with their texts and estimates."""
        return self._documents.num_bytes

    def document(self, query: str) -> Document:
        """Return a document, parsed and validated; the latest ones are kept."""
        return self._documents.get(query)

    def is_known(self, query: str) -> bool:
        """Tell whether a document is kept, so that nothing has to be parsed."""
        return self._documents.is_known(query)

    def cost(
        self, query: str, operation_name: str | None, variables: Mapping[str, Any] | None
    ) -> Estimate:
        """Return what a request costs; NOTHING for one that is refused before it is executed."""
        return self._priced(self.document(query), operation_name, variables)[2]

    def allows(self, cost: Estimate) -> bool:
        """Tell whether a cost, other than NOTHING, is within the limits."""
        return cost is not NOTHING and too_expensive(cost, self.limits) is None

    def is_weighed(
        self, query: str, operation_name: str | None, variables: Mapping[str, Any] | None
    ) -> bool:
        """Tell whether a request's document and cost are cached."""
        return self.is_known(query) and self.document(query).is_estimated(operation_name, variables)

    def is_light(self, query: str, variables: Mapping[str, Any] | None, cost: Estimate) -> bool:
        """Tell whether a request takes a few milliseconds at most, if all is in memory.

        Its document is short or cached, and its cost is small: that of long filters, of
        ``matching`` and of comparisons never is.
        """
        if len(query) > LIGHT_DOCUMENT and not self.is_known(query):
            return False
        if variables and not is_small(variables):
            return False
        units = cost.units - cost.kept_units
        return units <= LIGHT_UNITS and cost.num_bytes <= LIGHT_BYTES

    def execute(
        self,
        query: str,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        *,
        context: Context,
        executor: type[Any] = RenderingExecutor,
        tell_cost: bool = False,
        event: RevisionInfo | None = None,
        cost: Estimate | None = None,
    ) -> OperationResult:
        """Answer a request; with ``tell_cost`` the answer says what it was expected to cost.

        With ``cost``, which the API ``allows``, the variables are the declared ones, and nothing is
        estimated again.

        A subscription is answered for one ``event`` of its own. An answer that takes more than the
        context's budget is an error alone. Raises NotLoaded where something has to be read first
        and the context may not wait for it.
        """
        admitted = self._admitted(query, variables, operation_name, tell_cost=tell_cost, cost=cost)
        if isinstance(admitted, OperationResult):
            return admitted
        allowed = self.limits if tell_cost else None
        try:
            result = self._executed(query, admitted, operation_name, context, executor, event)
        except BudgetExceeded as exceeded:
            shown: tuple[GraphQLFormattedError, ...] = (errors.exceeded(exceeded),)
            return OperationResult(
                None, shown, executed=True, estimate=admitted.cost, allowed=allowed
            )
        finally:
            context.release()
        shown = errors.shown(
            [*(result.errors or ()), *errors.left_out_errors(context.left_out)],
            self.limits,
            further=context.further_errors,
            suggestions=self._suggestions,
        )
        # Variables of a wrong type are the request's fault: nothing was executed.
        executed = result.data is not None or not shown or any("path" in error for error in shown)
        return OperationResult(
            result.data, shown, executed, estimate=admitted.cost, allowed=allowed
        )

    def _executed(
        self,
        query: str,
        admitted: "_Admitted",
        operation_name: str | None,
        context: Context,
        executor: type[Any],
        event: RevisionInfo | None,
    ) -> ExecutionResult:
        """Return the result of an operation: of a compiled one, where it came before."""
        document, variables = admitted.document, admitted.variables
        if executor is RenderingExecutor and event is None:
            num_bytes = document.num_bytes
            try:
                return ExecutionResult(
                    document.execute(graphql_schema, operation_name, variables, context, self.rows)
                )
            except Declined:
                pass
            finally:
                if document.num_bytes != num_bytes:
                    self._documents.count(query, document)
        assert document.node is not None  # noqa: S101 - it was admitted
        return execute_sync(
            graphql_schema,
            document.node,
            root_of(event),
            context_value=context,
            variable_values=variables,
            operation_name=operation_name,
            executor_class=executor,
            max_coercion_errors=self.limits.max_errors,
            hide_suggestions=not self._suggestions,
        )

    def subscribe(
        self,
        query: str,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        *,
        context: Context,
    ) -> OperationResult | None:
        """Have a subscription's events come from ``context.follow``; return why it has none.

        Each event is then executed by itself: that is how GraphQL defines a subscription.
        """
        admitted = self._admitted(query, variables, operation_name, tell_cost=False)
        if isinstance(admitted, OperationResult):
            return admitted
        assert admitted.document.node is not None  # noqa: S101 - it was admitted
        built = RenderingExecutor.build(
            graphql_schema,
            admitted.document.node,
            context_value=context,
            raw_variable_values=admitted.variables,
            operation_name=operation_name,
            max_coercion_errors=self.limits.max_errors,
            hide_suggestions=not self._suggestions,
        )
        if not isinstance(built, list):
            stream: Any = create_source_event_stream(built)
            if isinstance(stream, AsyncIterable):
                return None
            built = stream.errors
        shown = errors.shown(built, self.limits, suggestions=self._suggestions)
        return OperationResult(None, shown, executed=False)

    def _admitted(
        self,
        query: str,
        variables: Mapping[str, Any] | None,
        operation_name: str | None,
        *,
        tell_cost: bool,
        cost: Estimate | None = None,
    ) -> "_Admitted | OperationResult":
        """Return what is to be executed, or the answer where the request is refused before."""
        document = self.document(query)
        if document.node is None or document.errors:
            return OperationResult(None, document.errors, executed=False)
        if cost is not None:
            return _Admitted(document, dict(variables or ()), cost)
        declared, refusal, cost = self._priced(document, operation_name, variables)
        refusal = refusal or too_expensive(cost, self.limits)
        if refusal is None:
            return _Admitted(document, declared, cost)
        allowed = self.limits if tell_cost else None
        return OperationResult(None, (refusal,), executed=False, estimate=cost, allowed=allowed)

    def _priced(
        self, document: Document, operation_name: str | None, variables: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], Refusal, Estimate]:
        """Return the declared variables; why they are refused, or what the operation costs."""
        declared = document.declared_variables(operation_name, variables) or {}
        if (refusal := refused_variables(declared, self.limits)) is not None:
            return declared, refusal, NOTHING
        return declared, None, document.estimate(graphql_schema, operation_name, declared)


class _Admitted(msgspec.Struct, frozen=True):
    """A request that keeps within the limits: its document, variables, and expected cost."""

    document: Document
    variables: dict[str, Any]
    cost: Estimate


def is_small(variables: Mapping[str, Any]) -> bool:
    """Tell whether variables are few and short."""
    try:
        return len(orjson.dumps(variables)) <= LIGHT_VARIABLES
    except orjson.JSONEncodeError:
        return False  # the limits refuse them


def sdl() -> str:
    """Return the schema in GraphQL's own language."""
    about = print_schema_definition(graphql_schema)
    return f"{about}\n\n{schema.as_str()}\n"
