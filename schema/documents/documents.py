"""Documents: parsed, validated and cached, with the costs of their operations.

A cached document holds no tokens. graphql-core's tokens, and the visitors of its validation, refer
to each other in circles, which only the garbage collector frees. It stops every thread while it
runs: a flood of new documents made that 0.1 s at a time.
"""

from collections.abc import Callable, Collection, Mapping
from threading import Lock
from typing import Any

import graphql
import msgspec
from cachetools import LRUCache
from graphql.language.ast import QUERY_DOCUMENT_KEYS

from schema import errors
from schema.documents import bounds
from schema.documents.estimates import NOTHING, Estimate, estimate
from schema.execution.compiled import Declined, Operations, nodes_of
from schema.execution.kept_rows import KeptRows
from schema.limits import Limits

Rule = Callable[[graphql.ValidationContext], Any]
"""A validation rule: a class of visitors, or a function that returns one."""


class NodeLocation(msgspec.Struct, gc=False):
    """The position of a node in its document: graphql-core's Location without its tokens."""

    start: int
    end: int
    source: graphql.Source


def validated(
    schema: graphql.GraphQLSchema,
    document: graphql.DocumentNode,
    rules: Collection[Rule],
    *,
    max_errors: int,
    hide_suggestions: bool,
) -> list[graphql.GraphQLError]:
    """Return the errors that the rules find in a document; break the visitors' reference cycles."""
    made: list[Any] = []

    def remembered(rule: Rule) -> Any:
        def make(context: graphql.ValidationContext) -> Any:
            visitor = rule(context)
            made.append(visitor)
            return visitor

        return make

    try:
        return graphql.validate(
            schema,
            document,
            [remembered(rule) for rule in rules],
            max_errors=max_errors,
            hide_suggestions=hide_suggestions,
        )
    finally:
        for visitor in made:
            vars(visitor.context).clear()
            vars(visitor).clear()


def without_tokens(document: graphql.DocumentNode) -> graphql.DocumentNode:
    """Replace the locations of a document's nodes by places without tokens; return the document.

    Names and selection sets are the place of no error, and lose theirs. Equal names become one.
    """
    names: dict[str, graphql.NameNode] = {}
    for node in nodes_of([document]):
        place = node.loc
        is_named = not isinstance(node, graphql.NameNode | graphql.SelectionSetNode)
        location = (
            NodeLocation(place.start, place.end, place.source) if place and is_named else None
        )
        _set(node, "loc", location)
        for key in QUERY_DOCUMENT_KEYS.get(node.kind, ()):
            if isinstance(name := getattr(node, key), graphql.NameNode):
                _set(node, key, names.setdefault(name.value, name))
    return document


_set = object.__setattr__
"""Nodes are frozen for all who use them. This keeps them as small as they are: vars() would not."""


def untie(document: graphql.DocumentNode) -> int:
    """Undo the links from each token to the one before it; return how many tokens there are.

    So nothing refers to each other.
    """
    number, token = 0, document.loc.start_token if document.loc else None
    while token is not None:
        token.prev = None
        number, token = number + 1, token.next
    return number


KEPT_BYTES = 32_000_000
"""How much memory the kept documents take at most, with their texts and estimates."""

# Measured: 120 to 280 bytes a token, with its node and location.
_BYTES, _BYTES_A_TOKEN, _BYTES_AN_ERROR = 20_000, 300, 1_500
_ESTIMATES = 32
_KEY_VALUES = 20
"""Estimates are cached for this many variables at most; larger keys take too much memory."""

MOST_WEIGHED = 64
"""Objects in a list of a variable, where the cost may follow from what is in each of them."""

_LOCK = Lock()
"""One for the estimates of all documents: it is never held for long."""

_COMPARISONS = 12_000
"""So much work, in graphql-core's own count, may go into comparing fields of the same name."""


class _FewOverlappingFields(graphql.OverlappingFieldsCanBeMergedRule):
    """The rule that compares each two fields of a name, up to some 20 ms of it."""

    def __init__(self, context: graphql.ValidationContext) -> None:
        super().__init__(context)
        self.rule_context.remaining_complexity_budget = _COMPARISONS


_RULES = tuple(
    _FewOverlappingFields if rule is graphql.OverlappingFieldsCanBeMergedRule else rule
    for rule in graphql.specified_rules
)


class Document:
    """A request's document: what could be parsed of it, and the errors that make it invalid."""

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
        # A text takes up to 4 bytes a character, here and in the parser's own source.
        self._num_bytes = _BYTES + 8 * len(text) + _BYTES_A_TOKEN * tokens + messages
        self._operations = _operations_of(node) if node else {}
        self._compiled: Operations | None = None
        self._estimates: LRUCache[tuple[Any, ...], Estimate] | None = None

    @property
    def num_bytes(self) -> int:
        """About how many bytes the document takes, with its compiled operations."""
        return self._num_bytes + (self._compiled.num_bytes if self._compiled else 0)

    def operation_type(self, name: str | None) -> graphql.OperationType | None:
        """Return whether an operation is a query, mutation or subscription; None if there is none.

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
        rows: KeptRows,
    ) -> dict[str, Any]:
        """Return the data of a compiled operation; raises Declined as Operations.execute does."""
        operation = self._operations.get(name)
        if self.node is None or operation is None:
            raise Declined
        if self._compiled is None:
            self._compiled = Operations(schema, self.node)
        return self._compiled.execute(operation, variables, context, rows)

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
        self, schema: graphql.GraphQLSchema, name: str | None, variables: Mapping[str, Any] | None
    ) -> Estimate:
        """Return what an operation costs; NOTHING where there is none that can be executed.

        ``variables`` are those that it declares, within the limits. The latest estimates are cached
        by what the variables mean for sizes: the keys have no text of the request but names of
        fields that the schema has.
        """
        operation = self._operations.get(name)
        if self.node is None or operation is None or self.errors:
            return NOTHING
        key = _key(operation, variables or {})
        estimated = self._kept_estimate(key)
        if estimated is None:
            coerced: Mapping[str, Any] = {}
            if operation.variable_definitions:
                values = graphql.get_variable_values(
                    schema, operation.variable_definitions, dict(variables or {}), max_errors=1
                )
                if isinstance(values, list):
                    return NOTHING  # the executor reports the error
                coerced = values.coerced
            estimated = estimate(schema, self.node, operation, coerced)
            if len(key) <= _KEY_VALUES:
                with _LOCK:
                    self._estimates = self._estimates or LRUCache(_ESTIMATES)
                    self._estimates[key] = estimated
        return estimated

    def is_estimated(self, name: str | None, variables: Mapping[str, Any] | None) -> bool:
        """Tell whether ``estimate`` has nothing to add up: it did so before for such variables."""
        operation = self._operations.get(name)
        if self.node is None or operation is None or self.errors:
            return True
        return self._kept_estimate(_key(operation, variables or {})) is not None

    def _kept_estimate(self, key: tuple[Any, ...]) -> Estimate | None:
        with _LOCK:
            estimated: Estimate | None = self._estimates.get(key) if self._estimates else None
        return estimated


def _key(
    operation: graphql.OperationDefinitionNode, variables: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return what decides the cost of an operation: its place, and sizes in its variables."""
    names = [definition.variable.name.value for definition in operation.variable_definitions or ()]
    place = operation.loc.start if operation.loc else 0
    return place, *(_shape(variables[name]) if name in variables else "" for name in names)


def _shape(value: Any) -> Any:
    """Return what a variable's value says about costs: numbers, lengths, and names of fields."""
    if isinstance(value, str):
        return "text", value.count("%") + value.count("^")
    if isinstance(value, dict):
        return tuple((name, _shape(inner)) for name, inner in value.items())
    if isinstance(value, list):
        return "list", len(value), _content(value)
    return type(value), value


def _content(values: list[Any]) -> int | None:
    """Return a hash of the objects in a short list; None where only its length matters for costs.

    It is valid within this process, and no client can construct a collision.
    """
    if len(values) > MOST_WEIGHED or not any(isinstance(value, dict) for value in values):
        return None
    try:
        return hash(repr(values))
    except RecursionError:
        return None  # the limits refuse it


def _operations_of(node: graphql.DocumentNode) -> dict[str | None, graphql.OperationDefinitionNode]:
    """Return a document's operations by their names; the only one also by None."""
    operations: dict[str | None, graphql.OperationDefinitionNode] = {
        definition.name.value if definition.name else None: definition
        for definition in node.definitions
        if isinstance(definition, graphql.OperationDefinitionNode)
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
        schema: graphql.GraphQLSchema,
        limits: Limits,
        *,
        introspection: bool = True,
        suggestions: bool = True,
        max_bytes: int = KEPT_BYTES,
    ) -> None:
        self._schema = schema
        self._limits = limits
        self._suggestions = suggestions
        self._rules = (
            _RULES if introspection else (*_RULES, graphql.NoSchemaIntrospectionCustomRule)
        )
        self._kept: LRUCache[str, Document] = LRUCache(
            max_bytes, lambda document: document.num_bytes
        )
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

    def count(self, text: str, document: Document) -> None:
        """Count a document again that has grown; drop it where it is too large to be kept."""
        with self._lock:
            if self._kept.pop(text, None) is document and document.num_bytes <= self._kept.maxsize:
                self._kept[text] = document

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
            untie(node)
            return Document(text, None, (refusal,))
        problems = validated(
            self._schema,
            node,
            self._rules,
            max_errors=self._limits.max_errors,
            hide_suggestions=not self._suggestions,
        )
        tokens = untie(node)
        return Document(text, without_tokens(node), self._shown(problems), tokens)

    def _shown(
        self, problems: list[graphql.GraphQLError]
    ) -> tuple[graphql.GraphQLFormattedError, ...]:
        return errors.shown(problems, self._limits, default_code=errors.VALIDATION_FAILED)

    def _unreadable(self, text: str, error: graphql.GraphQLError) -> Document:
        shown = errors.shown([error], self._limits, default_code=errors.PARSE_FAILED)
        return Document(text, None, shown)
