"""Documents: parsed, validated and cached, with the costs of their operations."""

from collections.abc import Mapping
from hashlib import sha256
from threading import Lock
from typing import Any

import graphql
from cachetools import LRUCache

from schema import errors
from schema.documents import bounds
from schema.documents.estimates import NOTHING, Estimate, estimate
from schema.execution.compiled import Fallback, Operations
from schema.execution.row_cache import RowCache
from schema.fields.cost import Sizes
from schema.limits import Limits

MAX_CACHED_BYTES = 32_000_000
"""Maximum size of the cached documents in bytes, including their texts and estimates."""

# Measured: 500 to 700 bytes per token, including its node and location.
_BYTES, _BYTES_A_TOKEN, _BYTES_AN_ERROR = 20_000, 800, 1_500
_ESTIMATES = 32

_LOCK = Lock()
"""The lock for the estimates of all documents; it is only held briefly."""

_COMPARISONS = 12_000
"""Maximum work, in graphql-core's units, for comparing fields of the same name."""


class _FewOverlappingFields(graphql.OverlappingFieldsCanBeMergedRule):
    """The rule that compares all pairs of fields with the same name, limited to some 20 ms."""

    def __init__(self, context: graphql.ValidationContext) -> None:
        super().__init__(context)
        self.rule_context.remaining_complexity_budget = _COMPARISONS


_RULES = tuple(
    _FewOverlappingFields if rule is graphql.OverlappingFieldsCanBeMergedRule else rule
    for rule in graphql.specified_rules
)


class Document:
    """The document of a request: the parsed document, if it could be parsed, and its errors."""

    def __init__(
        self,
        text: str,
        node: graphql.DocumentNode | None,
        shown: tuple[graphql.GraphQLFormattedError, ...],
        tokens: int = 0,
    ) -> None:
        self.node = node
        self.errors = shown
        messages = sum(_BYTES_AN_ERROR + 2 * len(error["message"]) for error in shown)
        # A text takes up to 4 bytes per character, both here and in the parser's source.
        self._num_bytes = _BYTES + 8 * len(text) + _BYTES_A_TOKEN * tokens + messages
        self._operations = _operations_of(node) if node else {}
        self._compiled: Operations | None = None
        self._estimates: LRUCache[bytes, Estimate] = LRUCache(_ESTIMATES)

    @property
    def num_bytes(self) -> int:
        """Approximate size of the document in bytes, including its compiled operations."""
        return self._num_bytes + (self._compiled.num_bytes if self._compiled else 0)

    def operation_type(self, name: str | None) -> graphql.OperationType | None:
        """Return the type of an operation; None if there is no such operation.

        ``name`` may be None for the only operation of a document.
        """
        operation = self._operations.get(name)
        return operation.operation if operation else None

    def execute(
        self,
        schema: graphql.GraphQLSchema,
        name: str | None,
        variables: Mapping[str, Any],
        context: Any,
        rows: RowCache,
    ) -> graphql.ExecutionResult | Fallback:
        """Return the result of a compiled operation, or why graphql-core has to execute it."""
        operation = self._operations.get(name)
        if self.node is None or operation is None:
            return Fallback.OPERATION
        if self._compiled is None:
            self._compiled = Operations(schema, self.node)
        return self._compiled.execute(operation, variables, context, rows)

    def declared_variables(
        self, name: str | None, variables: Mapping[str, Any] | None
    ) -> dict[str, Any] | None:
        """Return the variables that an operation declares; none if there is no such operation."""
        if variables is None:
            return None
        operation = self._operations.get(name)
        declared = operation.variable_definitions if operation else ()
        names = (definition.variable.name.value for definition in declared or ())
        return {name: variables[name] for name in names if name in variables}

    def estimate(
        self,
        schema: graphql.GraphQLSchema,
        name: str | None,
        variables: Mapping[str, Any] | None,
        sizes: Sizes,
    ) -> Estimate:
        """Return the cost of an operation in a catalog of some sizes; NOTHING if it cannot be
        executed.

        ``variables`` are those that it declares, within the limits. The latest estimates are
        cached.
        """
        operation = self._operations.get(name)
        if self.node is None or operation is None or self.errors:
            return NOTHING
        coerced = _coerced(schema, operation, variables)
        if coerced is None:
            return NOTHING  # the executor reports the error
        # A digest, because variables can be long.
        key = sha256(repr((name, sorted(coerced.items()), sizes)).encode()).digest()
        with _LOCK:
            estimated: Estimate | None = self._estimates.get(key)
        if estimated is None:
            estimated = estimate(schema, self.node, operation, coerced, sizes)
            with _LOCK:
                self._estimates[key] = estimated
        return estimated


def _coerced(
    schema: graphql.GraphQLSchema,
    operation: graphql.OperationDefinitionNode,
    variables: Mapping[str, Any] | None,
) -> Mapping[str, Any] | None:
    """Return the coerced variables; None if they do not have the declared types."""
    if not operation.variable_definitions:
        return {}
    values = graphql.get_variable_values(
        schema, operation.variable_definitions, dict(variables or {}), max_errors=1
    )
    return None if isinstance(values, list) else values.coerced


def _operations_of(node: graphql.DocumentNode) -> dict[str | None, graphql.OperationDefinitionNode]:
    """Return a document's operations by name; a single one also by None."""
    operations: dict[str | None, graphql.OperationDefinitionNode] = {
        definition.name.value if definition.name else None: definition
        for definition in node.definitions
        if isinstance(definition, graphql.OperationDefinitionNode)
    }
    if len(operations) == 1:
        operations[None] = next(iter(operations.values()))
    return operations


class Documents:
    """Parses and validates documents for a schema, and caches the latest, within ``max_bytes``.

    Without ``introspection``, documents may not query the schema, and errors do not suggest similar
    names of it.
    """

    def __init__(
        self,
        schema: graphql.GraphQLSchema,
        limits: Limits,
        *,
        introspection: bool = True,
        max_bytes: int = MAX_CACHED_BYTES,
    ) -> None:
        self._schema = schema
        self._limits = limits
        self._hide_suggestions = not introspection
        self._rules = (
            _RULES if introspection else (*_RULES, graphql.NoSchemaIntrospectionCustomRule)
        )
        self._cache: LRUCache[str, Document] = LRUCache(
            max_bytes, lambda document: document.num_bytes
        )
        self._lock = Lock()

    @property
    def num_bytes(self) -> int:
        """Approximate size of the cached documents in bytes."""
        return int(self._cache.currsize)

    def is_known(self, text: str) -> bool:
        """Return whether the document of a text is cached."""
        with self._lock:
            return text in self._cache

    def get(self, text: str) -> Document:
        """Return the document of a text."""
        with self._lock:
            document = self._cache.get(text)
        if document is None:
            document = self._read(text)
            if document.num_bytes <= self._cache.maxsize:
                with self._lock:
                    self._cache[text] = document
        return document

    def count(self, text: str, document: Document) -> None:
        """Update the size of a document that has grown; remove it if it is too large for the
        cache.
        """
        with self._lock:
            is_cached = self._cache.pop(text, None) is document
            if is_cached and document.num_bytes <= self._cache.maxsize:
                self._cache[text] = document

    def _read(self, text: str) -> Document:
        if (refusal := bounds.document_bytes(text, self._limits)) is not None:
            return Document(text, None, (refusal,))
        try:
            node = graphql.parse(text, max_tokens=self._limits.max_tokens)
            refusal = bounds.refused_document(node, self._limits)
        except graphql.GraphQLError as error:
            return self._unreadable(text, error)
        except bounds.FragmentCycle as cycle:
            message = f"Cannot spread fragment '{cycle.name}' within itself."
            return Document(text, None, self._shown([graphql.GraphQLError(message)]))
        except RecursionError:
            return self._unreadable(text, graphql.GraphQLError("The document nests too deeply."))
        if refusal is not None:
            return Document(text, None, (refusal,))
        problems = graphql.validate(
            self._schema,
            node,
            self._rules,
            max_errors=self._limits.max_errors,
            hide_suggestions=self._hide_suggestions,
        )
        return Document(text, node, self._shown(problems), node.token_count or 0)

    def _shown(
        self, problems: list[graphql.GraphQLError]
    ) -> tuple[graphql.GraphQLFormattedError, ...]:
        return errors.shown(problems, self._limits, default_code=errors.VALIDATION_FAILED)

    def _unreadable(self, text: str, error: graphql.GraphQLError) -> Document:
        shown = errors.shown([error], self._limits, default_code=errors.PARSE_FAILED)
        return Document(text, None, shown)
