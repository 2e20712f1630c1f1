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
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    OperationType,
    OverlappingFieldsCanBeMergedRule,
    ValidationContext,
    get_variable_values,
    parse,
    specified_rules,
)

from schema import errors
from schema.documents import rules
from schema.documents.estimates import NOTHING, Estimate
from schema.documents.estimating import estimate
from schema.documents.syntax import num_tokens, untie, validated, without_tokens
from schema.limits import Limits

KEPT_BYTES = 32_000_000
"""How much memory the kept documents take at most, with their texts and estimates."""

# Measured: 120 to 280 bytes a token, with its node and place.
_BYTES, _BYTES_A_TOKEN, _BYTES_AN_ERROR = 20_000, 300, 1_500
_ESTIMATES = 32
_KEY_VALUES = 20
"""An estimate is kept for the values of so many variables; further ones take too much memory."""

MOST_WEIGHED = 64
"""Objects in a list of a variable, where the cost may follow from what is in each of them."""

_LOCK = Lock()
"""One for the estimates of all documents: it is never held for long."""

_COMPARISONS = 12_000
"""So much work, in graphql-core's own count, may go into comparing fields of the same name."""


class _FewOverlappingFields(OverlappingFieldsCanBeMergedRule):
    """The rule that compares each two fields of a name, up to some 20 ms of it."""

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self.rule_context.remaining_complexity_budget = _COMPARISONS


_RULES = tuple(
    _FewOverlappingFields if it is OverlappingFieldsCanBeMergedRule else it
    for it in specified_rules
)


class Document:
    """A request's document: what could be parsed of it, and the errors that make it invalid."""

    def __init__(
        self,
        text: str,
        node: DocumentNode | None,
        found: tuple[GraphQLFormattedError, ...],
        tokens: int = 0,
    ) -> None:
        self.node = node
        self.errors = found
        messages = sum(_BYTES_AN_ERROR + 2 * len(error["message"]) for error in found)
        # A text takes up to 4 bytes a character, here and in the parser's own source.
        self.num_bytes = _BYTES + 8 * len(text) + _BYTES_A_TOKEN * tokens + messages
        self._operations = _operations_of(node) if node else {}
        self._estimates: LRUCache[tuple[Any, ...], Estimate] | None = None

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

    def estimate(
        self, schema: GraphQLSchema, name: str | None, variables: Mapping[str, Any] | None
    ) -> Estimate:
        """Return what an operation costs; NOTHING where there is none that can be executed.

        ``variables`` are those that it declares, within the limits. The latest estimates are kept
        by what the variables say about sizes: nothing of a request's own text, for what is kept
        has names of fields that the schema knows.
        """
        operation = self._operations.get(name)
        if self.node is None or operation is None or self.errors:
            return NOTHING
        key = _key(operation, variables or {})
        known = self._known_estimate(key)
        if known is None:
            coerced: Mapping[str, Any] = {}
            if operation.variable_definitions:
                found = get_variable_values(
                    schema, operation.variable_definitions, dict(variables or {}), max_errors=1
                )
                if isinstance(found, list):
                    return NOTHING  # the executor says what is wrong
                coerced = found.coerced
            known = estimate(schema, self.node, operation, coerced)
            if len(key) <= _KEY_VALUES:
                with _LOCK:
                    self._estimates = self._estimates or LRUCache(_ESTIMATES)
                    self._estimates[key] = known
        return known

    def is_estimated(self, name: str | None, variables: Mapping[str, Any] | None) -> bool:
        """Tell whether ``estimate`` has nothing to add up: it did so before for such variables."""
        operation = self._operations.get(name)
        if self.node is None or operation is None or self.errors:
            return True
        return self._known_estimate(_key(operation, variables or {})) is not None

    def _known_estimate(self, key: tuple[Any, ...]) -> Estimate | None:
        with _LOCK:
            known: Estimate | None = self._estimates.get(key) if self._estimates else None
        return known


def _key(operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what decides the cost of an operation: its place, and sizes in its variables."""
    names = [it.variable.name.value for it in operation.variable_definitions or ()]
    place = operation.loc.start if operation.loc else 0
    return place, *(_shape(variables[it]) if it in variables else "" for it in names)


def _shape(value: Any) -> Any:
    """Return what a variable's value says about costs: numbers, lengths, and names of fields."""
    if isinstance(value, str):
        return "text", value.count("%") + value.count("^")
    if isinstance(value, dict):
        return tuple((name, _shape(it)) for name, it in value.items())
    if isinstance(value, list):
        return "list", len(value), _content(value)
    return type(value), value


def _content(values: list[Any]) -> int | None:
    """Return a hash of the objects in a short list; None where costs know nothing but its length.

    It is good within this process, and nobody outside can make two that are equal.
    """
    if len(values) > MOST_WEIGHED or not any(isinstance(it, dict) for it in values):
        return None
    try:
        return hash(repr(values))
    except RecursionError:
        return None  # the limits refuse it


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
    """Parses and validates documents for a schema; the latest are kept, within ``max_bytes``.

    Without ``introspection`` a document may not ask for the schema; without ``suggestions`` no
    error says which names of the schema are near.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        limits: Limits,
        *,
        introspection: bool = True,
        suggestions: bool = True,
        max_bytes: int = KEPT_BYTES,
    ) -> None:
        self._schema = schema
        self._limits = limits
        self._suggestions = suggestions
        self._rules = _RULES if introspection else (*_RULES, NoSchemaIntrospectionCustomRule)
        self._kept: LRUCache[str, Document] = LRUCache(max_bytes, lambda it: it.num_bytes)
        self._lock = Lock()

    @property
    def num_bytes(self) -> int:
        """About how many bytes the kept documents take."""
        return int(self._kept.currsize)

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
        if (refusal := rules.document_bytes(text, self._limits)) is not None:
            return Document(text, None, (refusal,))
        try:
            node = parse(text, max_tokens=self._limits.max_tokens)
            refusal = self._refusal(node)
        except GraphQLError as error:
            return self._unreadable(text, error)
        except rules.FragmentCycle as cycle:
            message = f"Cannot spread fragment '{cycle.name}' within itself."
            return Document(text, None, self._shown([GraphQLError(message)]))
        except RecursionError:
            return self._unreadable(text, GraphQLError("The document nests too deeply."))
        if refusal is not None:
            untie(node)
            return Document(text, None, (refusal,))
        found = validated(
            self._schema,
            node,
            self._rules,
            max_errors=self._limits.max_errors,
            hide_suggestions=not self._suggestions,
        )
        shown, tokens = self._shown(found), num_tokens(node)
        return Document(text, without_tokens(node), shown, tokens)

    def _refusal(self, node: DocumentNode) -> rules.Refusal:
        """Return what the limits refuse in a document that is to be validated."""
        refusal = rules.first_refusal(rules.DOCUMENT_RULES, node, self._limits)
        for measures in rules.measured(node):
            refusal = refusal or rules.first_refusal(rules.OPERATION_RULES, measures, self._limits)
        return refusal

    def _shown(self, found: list[GraphQLError]) -> tuple[GraphQLFormattedError, ...]:
        return errors.shown(found, self._limits, default_code=errors.VALIDATION_FAILED)

    def _unreadable(self, text: str, error: GraphQLError) -> Document:
        shown = errors.shown([error], self._limits, default_code=errors.PARSE_FAILED)
        return Document(text, None, shown)
