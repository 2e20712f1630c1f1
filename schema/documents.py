"""Documents: parsed, validated and kept, with the costs of their operations."""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from cachetools import LRUCache
from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLFormattedError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    parse,
    specified_rules,
    validate,
)

from schema import errors
from schema.cost import estimate, sizes_in

MAX_LENGTH = 64_000
"""How many characters a document may have."""

MAX_TOKENS = 2_000
"""How many tokens a document may have; GraphiQL's introspection query has some 500.

Validation takes time in the square of it.
"""

KEPT_BYTES = 64_000_000
"""How much memory the kept documents take at most."""

# Measured: 450 to 680 bytes a token, with its node and place.
_BYTES, _BYTES_A_TOKEN, _BYTES_AN_ERROR = 20_000, 700, 1_500
_ESTIMATES = 64


class Document:
    """A request's document: what could be parsed of it, and the errors that make it invalid."""

    def __init__(
        self, text: str, node: DocumentNode | None, found: tuple[GraphQLFormattedError, ...]
    ) -> None:
        self.node = node
        self.errors = found
        messages = sum(_BYTES_AN_ERROR + 2 * len(error["message"]) for error in found)
        tokens = _BYTES_A_TOKEN * _num_tokens(node)
        self.num_bytes = _BYTES + 2 * len(text) + tokens + messages
        self._operations = _operations_of(node) if node else {}
        self._estimates: LRUCache[tuple[int | None, ...], int] = LRUCache(_ESTIMATES)
        self._fixed: dict[str | None, int] = {}
        self._lock = Lock()

    def operation_type(self, name: str | None) -> OperationType | None:
        """Return whether an operation is a query, mutation or subscription; None if there is none.

        The operation is that of the name, or the only one.
        """
        operation = self._operations.get(name)
        return operation.operation if operation else None

    def declared_variables(
        self, name: str | None, variables: Mapping[str, Any] | None
    ) -> dict[str, Any] | None:
        """Return those variables that an operation declares; none where there is no operation."""
        if variables is None:
            return None
        operation = self._operations.get(name)
        declared = operation.variable_definitions if operation else ()
        names = (definition.variable.name.value for definition in declared or ())
        return {name: variables[name] for name in names if name in variables}

    def objects_asked(
        self, schema: GraphQLSchema, name: str | None, variables: Mapping[str, Any] | None
    ) -> int:
        """Return about how many objects an operation asks for; 0 where there is none to execute.

        The latest estimates are kept, by the operation's place and by the numbers that its
        variables say about sizes: nothing of a request's own text.
        """
        operation = self._operations.get(name)
        if self.node is None or operation is None or self.errors:
            return 0
        if not operation.variable_definitions:
            if name not in self._fixed:
                self._fixed[name] = estimate(schema, self.node, operation, {})
            return self._fixed[name]
        sizes = sizes_in(operation, variables)
        key = operation.loc.start if operation.loc else 0, *sizes.values()
        with self._lock:
            known = self._estimates.get(key)
        if known is None:
            known = estimate(schema, self.node, operation, sizes)
            with self._lock:
                self._estimates[key] = known
        return known


def _operations_of(node: DocumentNode) -> dict[str | None, OperationDefinitionNode]:
    """Return a document's operations by their names; the only one also by None."""
    operations: dict[str | None, OperationDefinitionNode] = {
        it.name.value if it.name else None: it
        for it in node.definitions
        if isinstance(it, OperationDefinitionNode)
    }
    if len(operations) == 1:
        operations[None] = next(iter(operations.values()))
    return operations


class Documents:
    """Parses and validates documents for a schema; the latest are kept, within ``max_bytes``."""

    def __init__(self, schema: GraphQLSchema, max_bytes: int = KEPT_BYTES) -> None:
        self._schema = schema
        self._kept: LRUCache[str, Document] = LRUCache(max_bytes, lambda it: it.num_bytes)
        self._lock = Lock()

    def is_known(self, text: str) -> bool:
        """Tell whether the document of a text is kept."""
        with self._lock:
            return text in self._kept

    def get(self, text: str) -> Document:
        """Return the document of a text."""
        with self._lock:
            document = self._kept.get(text)
        if document is None:
            document = self._read(text)
            if document.num_bytes <= self._kept.maxsize:
                with self._lock:
                    self._kept[text] = document
        return document

    def _read(self, text: str) -> Document:
        try:
            if len(text) > MAX_LENGTH:
                raise GraphQLError(f"The document has more than {MAX_LENGTH:,} characters.")
            node = parse(text, max_tokens=MAX_TOKENS)
        except GraphQLError as error:
            return _unreadable(text, error)
        except RecursionError:
            return _unreadable(text, GraphQLError("The document nests too deeply."))
        found = validate(self._schema, node, specified_rules)
        shown = (errors.formatted(it, default_code=errors.VALIDATION_FAILED) for it in found)
        return Document(text, node, tuple(shown))


def _unreadable(text: str, error: GraphQLError) -> Document:
    return Document(text, None, (errors.formatted(error, default_code=errors.PARSE_FAILED),))


def _num_tokens(node: DocumentNode | None) -> int:
    if node is None or node.loc is None:
        return 0
    number, token = 1, node.loc.start_token
    while token.next is not None:
        number, token = number + 1, token.next
    return number
