"""Operations compiled to closures, with the same results as graphql-core's executor.

graphql-core's executor looks up types, collects fields and reads arguments for every object of
every request. All of this depends only on the document, so it is done once for each operation: each
field becomes a closure that calls the resolver with its arguments and writes JSON text.

Errors of fields become null and an error with a path, as in graphql-core. A list whose fields can
resolve many objects at once is rendered as a whole; if that fails, its objects are resolved one by
one, so that each error has its path. What is not compiled is a Fallback: graphql-core executes it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import graphql
import msgspec
import orjson
from graphql.error import located_error
from graphql.execution import ExecutionResult, Executor
from graphql.execution.collect_fields import FieldDetails, collect_fields
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from graphql.language.ast import QUERY_DOCUMENT_KEYS
from strawberry.types.arguments import convert_arguments
from strawberry.types.field import StrawberryField

from schema.execution.budget import Budget
from schema.execution.json_objects import STRUCTURE, JsonObjects, rendered_values
from schema.execution.row_cache import RowCache
from schema.fields.many import FIXED, LazyList, Origin, function_for_many, json_text
from schema.limits import Limits
from snapshots.arrays import Rows
from snapshots.errors import CachelogError

MAX_FIELDS = Limits.max_selections
"""Maximum number of fields of a compiled operation, with those for each type of an interface."""

MAX_COMPILED = 4
"""Maximum number of compiled operations of a document: one for each combination of its directives'
conditions.
"""


class Fallback(StrEnum):
    """Why graphql-core executes an operation."""

    OPERATION = "operation"
    """The document has no such operation, or it is not a query."""

    VARIABLES = "variables"
    """The variables do not have the declared types."""

    DIRECTIVES = "directives"
    """A directive has no condition, or others of them were compiled for too many conditions."""

    INTROSPECTION = "introspection"
    """The operation queries the schema."""

    SIZE = "size"
    """The operation has too many fields."""


class Run:
    """One execution of a compiled operation, which resolvers receive as ``info``.

    ``path`` is the path of the field that is being resolved, and ``errors`` are those so far.
    """

    __slots__ = ("budget", "context", "errors", "path", "rows", "variables")

    def __init__(self, context: Any, variables: VariableValues, rows: RowCache | None) -> None:
        self.context = context
        self.budget: Budget = context.budget
        self.variables = variables
        self.rows = rows
        self.path: list[str | int] = []
        self.errors: list[graphql.GraphQLError] = []

    def fail(self, error: Exception, field: "FieldPlace", *, is_required: bool) -> None:
        """Collect the error of the value at the path; raise it if the value may not be null.

        Errors beyond the maximum of a response are only counted.
        """
        if len(self.errors) > self.budget.limits.max_errors:
            if is_required:
                raise graphql.GraphQLError("", original_error=error)
            self.context.further_errors += 1
            return
        located = located_error(error, field.nodes, [*self.path])
        if is_required:
            raise located
        self.errors.append(located)


class FieldPlace(msgspec.Struct, frozen=True):
    """A field of a selection: its name in the response, and the nodes that select it."""

    key: str
    nodes: list[graphql.FieldNode]


Arguments = Callable[[Run], dict[str, Any]]
"""Returns the arguments of a field in the form that its resolver receives."""

Out = list[str]
"""The pieces of a response, which are joined once, at the end."""

Write = Callable[[Any, Run, Out], None]
"""Writes the JSON of a field of an object."""

Complete = Callable[[Any, Run, Out], int]
"""Writes the JSON of a resolver's value; returns the bytes that it adds to those of its fields."""


class CompiledField(msgspec.Struct, frozen=True):
    """A field of a selection: ``one`` writes it for an object, ``many`` returns its texts for a
    list.

    ``many`` is None if the field can only be resolved for single objects. ``fixed`` returns a key
    of the field, its arguments and the selection below it if the values depend only on the rows of
    a frame, else None.
    """

    key: str
    one: Write
    many: Callable[[Any, Run], Any] | None
    fixed: Callable[[], Hashable]


class CompiledSelection:
    """The selected fields of the objects of a type."""

    def __init__(self, fields: list[CompiledField]) -> None:
        self._fields = fields
        begins = "{", *[","] * len(fields)
        self._members = [
            (f'{begin}"{field.key}":', field.one)
            for begin, field in zip(begins, fields, strict=False)
        ]
        self._end = "}" if fields else "{}"
        self.is_for_many = all(field.many is not None for field in fields)
        """Whether it can be rendered for all objects of a list at once."""

    @cached_property
    def fixed(self) -> bytes | None:
        """The key of the selection if its values depend only on the rows of a frame, else None."""
        names = [(field.key, field.fixed()) for field in self._fields]
        if not names or not self.is_for_many or any(name is None for _, name in names):
            return None
        # A digest, because literal arguments can be as long as the document.
        return sha256(repr(names).encode()).digest()

    def one(self, source: Any, run: Run, out: Out) -> None:
        """Write the JSON of an object."""
        for key, write in self._members:
            out.append(key)
            write(source, run, out)
        out.append(self._end)

    def members(self, source: Any, run: Run) -> dict[str, orjson.Fragment]:
        """Return the JSON of each field of an object."""
        members = {}
        for field in self._fields:
            out: Out = []
            field.one(source, run, out)
            members[field.key] = orjson.Fragment("".join(out))
        return members

    def many(self, objects: Any, run: Run) -> JsonObjects:
        """Return the JSON of each object of a list, if it ``is_for_many``."""
        if run.rows is not None and self.fixed and isinstance(objects, LazyList):
            origin = objects.origin()
            if origin is not None:
                return self._cached(objects, origin, run, run.rows)
        return self._rendered(objects, run)

    def _cached(self, objects: Any, origin: Origin, run: Run, rows: RowCache) -> JsonObjects:
        """Return the JSON of rows of a frame, of which only those that are not cached are
        rendered.
        """
        rendered = JsonObjects(len(objects), run.budget)
        num_values = run.budget.num_values + len(objects) * len(self._fields)

        def render(numbers: Rows | None) -> list[str]:
            run.rows = None  # nested rows are cached as a part of these
            try:
                some = objects if numbers is None else objects.taken(numbers)
                return ["," + text for text in self._rendered(some, run).each()]
            finally:
                run.rows = rows

        rendered.set_texts(rows.texts(self.fixed, origin, render))
        run.budget.num_values = num_values  # whether or not they were cached
        return rendered

    def _rendered(self, objects: Any, run: Run) -> JsonObjects:
        rendered = JsonObjects(len(objects), run.budget)
        run.budget.num_values += len(objects) * len(self._fields)
        for field in self._fields:
            assert field.many is not None  # noqa: S101 - narrows what is_for_many says
            rendered.add(field.key, field.many(objects, run))
        return rendered


class Operations:
    """The compiled operations of a document, a few at most.

    Each combination of values of the variables in its directives is compiled separately.
    ``num_bytes`` is the approximate size of the closures in bytes.
    """

    def __init__(self, schema: graphql.GraphQLSchema, document: graphql.DocumentNode) -> None:
        self._schema = schema
        self._document = document
        self._conditions = _conditions(document)
        self.num_bytes = 0
        self._selections: dict[tuple[Any, ...], CompiledSelection | Fallback] = {}

    def execute(
        self,
        operation: graphql.OperationDefinitionNode,
        variables: Mapping[str, Any],
        context: Any,
        rows: RowCache,
    ) -> ExecutionResult | Fallback:
        """Return the result of an operation, or why graphql-core has to execute it.

        ``rows`` is the cache of rendered rows, which it uses and extends.
        """
        values = self._coerced(operation, variables)
        if values is None:
            return Fallback.VARIABLES
        key = operation.loc and operation.loc.start, *map(values.coerced.get, self._conditions)
        # Rows are only cached for repeated operations.
        run = Run(context, values, rows if key in self._selections else None)
        if key not in self._selections:
            if len(self._selections) == MAX_COMPILED:
                return Fallback.DIRECTIVES
            self._selections[key] = self._compiled(operation, variables)
        selection = self._selections[key]
        if isinstance(selection, Fallback):
            return selection
        try:
            return ExecutionResult(selection.members(None, run), run.errors)
        except graphql.GraphQLError as error:  # of a field that may not be null
            return ExecutionResult(None, [*run.errors, error])

    def _coerced(
        self, operation: graphql.OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> VariableValues | None:
        if not operation.variable_definitions:
            return _NO_VARIABLES
        values = get_variable_values(
            self._schema, operation.variable_definitions, dict(variables), max_errors=1
        )
        return None if isinstance(values, list) else values

    def _compiled(
        self, operation: graphql.OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> CompiledSelection | Fallback:
        executor = Executor.build(
            self._schema,
            self._document,
            raw_variable_values=dict(variables),
            operation_name=operation.name.value if operation.name else None,
        )
        if isinstance(executor, list):
            return Fallback.VARIABLES
        compiler = _Compiler(executor)
        try:
            selection = compiler.operation()
        except graphql.GraphQLError:
            return Fallback.DIRECTIVES
        self.num_bytes += _BYTES_A_FIELD * compiler.num_fields
        return compiler.fallback or selection


_NO_VARIABLES = VariableValues({}, {})

_BYTES_A_FIELD = 2_500

_INTROSPECTION = ("__schema", "__type")


def _conditions(document: graphql.DocumentNode) -> list[str]:
    """Return the variables in ``@skip`` and ``@include`` of a document."""
    directives = (node for node in nodes_of([document]) if isinstance(node, graphql.DirectiveNode))
    return sorted({name for directive in directives for name in _variables_in(directive)})


def nodes_of(nodes: Iterable[graphql.Node]) -> Iterator[graphql.Node]:
    """Yield nodes of a document and all nodes below them; a yielded node may be changed."""
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        yield node
        for key in QUERY_DOCUMENT_KEYS.get(node.kind, ()):
            value = getattr(node, key)
            if isinstance(value, tuple):
                waiting += value
            elif value is not None:
                waiting.append(value)


def _variables_in(node: graphql.FieldNode | graphql.DirectiveNode) -> list[str]:
    """Return the variables in the arguments of a field or directive."""
    values = nodes_of(node.arguments or ())
    return [value.name.value for value in values if isinstance(value, graphql.VariableNode)]


class _Compiler:
    """Compiles an operation to closures.

    ``fallback`` is then the reason why they cannot be used, or None.
    """

    def __init__(self, executor: Executor[Any]) -> None:
        self._executor = executor
        self._schema = executor.schema
        self.num_fields = 0
        self.fallback: Fallback | None = None

    def operation(self) -> CompiledSelection:
        """Return the selection of the operation; raises GraphQLError for its directives."""
        executor = self._executor
        root = self._schema.query_type
        if executor.operation.operation is not graphql.OperationType.QUERY or root is None:
            self.fallback = Fallback.OPERATION
            return CompiledSelection([])
        grouped = collect_fields(
            self._schema, executor.fragments, executor.variable_values, root, executor.operation
        )
        return self._selection(root, grouped.grouped_field_set)

    def _below(self, object_type: Any, details: list[FieldDetails]) -> CompiledSelection:
        """Return the selection below a field for the objects of a type."""
        grouped = self._executor.collect_subfields(object_type, details)
        return self._selection(object_type, grouped.grouped_field_set)

    def _selection(
        self, object_type: Any, grouped: Mapping[str, list[FieldDetails]]
    ) -> CompiledSelection:
        self.num_fields += len(grouped)
        if self.num_fields > MAX_FIELDS:
            self.fallback = Fallback.SIZE
        if object_type is self._schema.query_type and any(
            details[0].node.name.value in _INTROSPECTION for details in grouped.values()
        ):
            self.fallback = Fallback.INTROSPECTION
        if self.fallback is not None:
            return CompiledSelection([])
        return CompiledSelection(
            [self._field(object_type, key, details) for key, details in grouped.items()]
        )

    def _field(self, object_type: Any, key: str, details: list[FieldDetails]) -> CompiledField:
        name = details[0].node.name.value
        if name == "__typename":
            return _type_name(key, object_type.name)
        field = object_type.fields[name]
        declared: StrawberryField = field.extensions["strawberry-definition"]
        item_type = graphql.get_named_type(field.type)
        arguments = self._arguments(field, declared, details[0])
        below: CompiledSelection | _OfAnyType | None = None
        if graphql.is_object_type(item_type):
            below = self._below(item_type, details)
        elif graphql.is_abstract_type(item_type):
            kinds = self._schema.get_possible_types(item_type)
            below = _OfAnyType({kind.name: self._below(kind, details) for kind in kinds})
        place = FieldPlace(key, [detail.node for detail in details])
        complete = _completed(field.type, below, place)
        is_required = graphql.is_non_null_type(field.type)
        one = _one(place, _resolver(declared, arguments), complete, is_required=is_required)
        many = _many(declared, item_type, arguments, below)
        fixed = partial(_fixed, declared, details[0].node, below)
        return CompiledField(key, one, many, fixed)

    def _arguments(self, field: Any, declared: StrawberryField, details: FieldDetails) -> Arguments:
        if not field.args:
            return _no_arguments

        def read(variables: VariableValues) -> dict[str, Any]:
            values = get_argument_values(field, details.node, variables)
            return _resolver_arguments(self._schema, declared, values)

        if _variables_in(details.node):
            return lambda run: read(run.variables)
        try:
            constant = read(_NO_VARIABLES)
        except (CachelogError, graphql.GraphQLError):
            return lambda _run: read(_NO_VARIABLES)  # it is the field's error
        return lambda _run: dict(constant)


def _resolver_arguments(
    schema: graphql.GraphQLSchema, declared: StrawberryField, values: dict[str, Any]
) -> dict[str, Any]:
    """Return the coerced arguments of a field in the form in which Strawberry passes them to its
    resolver.
    """
    converter = schema._strawberry_schema.schema_converter  # type: ignore[attr-defined]  # noqa: SLF001
    arguments = convert_arguments(
        values,
        declared.arguments,
        scalar_registry=converter.scalar_registry,
        config=converter.config,
    )
    for extension in declared.extensions:
        arguments = extension.map_arguments(arguments)
    return arguments


def _no_arguments(_run: Run) -> dict[str, Any]:
    return {}


def _type_name(key: str, name: str) -> CompiledField:
    text, num_bytes = f'"{name}"', STRUCTURE + len(key) + len(name)

    def one(_source: Any, run: Run, out: Out) -> None:
        run.budget.spend(num_bytes)
        out.append(text)

    return CompiledField(key, one, lambda _objects, _run: text, lambda: name)


def _fixed(declared: StrawberryField, node: graphql.FieldNode, below: Any) -> Hashable:
    """Return the key of a field whose values depend only on the rows of a frame; None for others.

    The specs that match a query in Spack's spec syntax also depend on the packages of other
    revisions.
    """
    arguments = tuple(map(graphql.print_ast, node.arguments or ()))
    names = {argument.name.value for argument in node.arguments or ()}
    is_fixed = declared.metadata.get(FIXED) or declared.is_basic_field
    if not is_fixed or "matching" in names or _variables_in(node):
        return None
    if below is None:
        return node.name.value, arguments
    return (node.name.value, arguments, below.fixed) if below.fixed else None


def _resolver(declared: StrawberryField, arguments: Arguments) -> Callable[[Any, Run], Any]:
    """Return a function that calls a field's resolver like Strawberry."""
    if declared.is_basic_field:
        name = declared.python_name
        return lambda source, _run: getattr(source, name)
    resolver = declared.base_resolver
    assert resolver is not None  # noqa: S101 - no field of this schema is basic then
    function: Any = resolver.wrapped_func
    info = resolver.info_parameter
    if arguments is _no_arguments and info is None:
        return lambda source, _run: function(source)

    def resolve(source: Any, run: Run) -> Any:
        values = arguments(run)
        if info is not None:
            values[info.name] = run
        return function(source, **values)

    return resolve


def _one(
    field: FieldPlace,
    resolve: Callable[[Any, Run], Any],
    complete: Complete,
    *,
    is_required: bool,
) -> Write:
    key, num_bytes = field.key, STRUCTURE + len(field.key)

    def one(source: Any, run: Run, out: Out) -> None:
        path, size = run.path, len(out)
        path.append(key)
        depth = len(path)
        try:
            more = complete(resolve(source, run), run, out)
        except Exception as error:  # noqa: BLE001 - whatever a field raises is its error
            del path[depth:], out[size:]
            run.fail(error, field, is_required=is_required)
            out.append("null")
            more = 0
        path.pop()
        run.budget.spend(num_bytes + more)

    return one


def _completed(kind: Any, below: Any, field: FieldPlace) -> Complete:
    """Return a function that writes the JSON of a value of a type, with the selection below it."""
    is_required = isinstance(kind, graphql.GraphQLNonNull)
    inner = _completed_value(kind.of_type if is_required else kind, below, field)

    def complete(value: Any, run: Run, out: Out) -> int:
        if value is not None:
            return inner(value, run, out)
        if is_required:
            raise TypeError(f"Cannot return null for the non-nullable {field.key}.")
        out.append("null")
        return 0

    return complete


def _completed_value(kind: Any, below: Any, field: FieldPlace) -> Complete:
    """Return a function that writes the JSON of a value that is not None."""
    if isinstance(kind, graphql.GraphQLList):
        item = _completed(kind.of_type, below, field)
        inner = graphql.get_nullable_type(kind.of_type)
        counts_texts = below is None and not graphql.is_list_type(inner)
        complete = _items(item, kind.of_type, field, counts_texts=counts_texts)
        return _list(complete, below) if below is not None and below.is_for_many else complete
    if below is not None:

        def composite(value: Any, run: Run, out: Out) -> int:
            if isinstance(value, Exception):
                raise value
            below.one(value, run, out)
            return 0

        return composite
    coerce = kind.coerce_output_value

    def leaf(value: Any, _run: Run, out: Out) -> int:
        coerced = coerce(value)
        out.append(json_text(coerced))
        return len(coerced) if type(coerced) is str else 0

    return leaf


def _list(items: Complete, below: CompiledSelection) -> Complete:
    """Return a function that writes a lazy list as a whole, or its items if that fails."""

    def complete(values: Any, run: Run, out: Out) -> int:
        if not isinstance(values, LazyList):
            return items(values, run, out)
        num_bytes = run.budget.num_bytes
        try:
            out.append(below.many(values, run).array())
        except (CachelogError, graphql.GraphQLError):
            run.budget.num_bytes = num_bytes  # the rendered text is discarded
            return items(values, run, out)
        return 0

    return complete


def _items(item: Complete, item_type: Any, field: FieldPlace, *, counts_texts: bool) -> Complete:
    is_required = graphql.is_non_null_type(item_type)

    def complete(values: Any, run: Run, out: Out) -> int:
        more, begin, path = 0, "[", run.path
        depth = len(path)
        path.append(0)
        for path[depth], value in enumerate(values):
            out.append(begin)
            begin, size = ",", len(out)
            try:
                length = item(value, run, out)
            except Exception as error:  # noqa: BLE001 - as of a field
                del path[depth + 1 :], out[size:]
                run.fail(error, field, is_required=is_required)
                out.append("null")
                length = 0
            more += STRUCTURE + (length if counts_texts else 0)
        del path[depth:]
        out.append("[]" if begin == "[" else "]")
        return more

    return complete


def _many(
    declared: StrawberryField, item_type: Any, arguments: Arguments, below: Any
) -> Callable[[Any, Run], Any] | None:
    """Return the function that renders a field for many objects; None if it has none."""
    function = function_for_many(declared, is_leaf=below is None)
    if function is None or (below is not None and not below.is_for_many):
        return None

    def many(objects: Any, run: Run) -> Any:
        run.budget.check()
        if not len(objects):
            return []
        answer = function(objects, **arguments(run))
        return rendered_values(answer, item_type, lambda items: below.many(items, run))

    return many


class _OfAnyType:
    """The selected fields of the objects of an abstract type, by their object types.

    Lists of such objects are not rendered as a whole, and fields that return them are not fixed.
    """

    is_for_many = False

    def __init__(self, selections: Mapping[str, CompiledSelection]) -> None:
        self._selections = selections

    def one(self, source: Any, run: Run, out: Out) -> None:
        """Write the JSON of an object; raises TypeError if its type is not in the schema."""
        definition = getattr(source, "__strawberry_definition__", None)
        selection = self._selections.get(definition.name) if definition else None
        if selection is None:
            raise TypeError(f"{source!r} is of no type of this interface.")
        selection.one(source, run, out)
