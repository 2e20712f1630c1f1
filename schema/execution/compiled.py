"""Operations compiled to closures, with the same results as graphql-core's executor.

graphql-core's executor looks up types, collects fields and reads arguments for every object of
every request. All of this depends only on the document, so it is done once for each operation: each
field becomes a closure that calls the resolver with its arguments and writes JSON text.

A compiled operation executes requests that succeed. All other cases (an error, null for a non-null
type, an unknown object type) raise NotCompilable, and graphql-core executes the operation instead,
so that errors, with their paths and locations, are created in only one way. An execution has no
side effects, so it can be repeated. A budget counts the same bytes in either way.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import graphql
import msgspec
import orjson
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetails, collect_fields
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from graphql.language.ast import QUERY_DOCUMENT_KEYS
from strawberry.types.arguments import convert_arguments
from strawberry.types.field import StrawberryField

from schema.execution.budget import Budget
from schema.execution.json_objects import STRUCTURE, JsonObjects, rendered_values
from schema.execution.row_cache import RowCache
from schema.fields.many import FIXED, LazyList, NotVectorized, Origin, function_for_many, json_text
from snapshots.frames.columns import Rows

MAX_FIELDS = 500
"""Maximum number of fields of a compiled operation; larger ones are not compiled."""

MAX_COMPILED = 4
"""Maximum number of compiled operations of a document: one for each combination of its directives'
conditions.
"""


class NotCompilable(Exception):
    """Raised if graphql-core has to execute the operation."""


class Run:
    """One execution of a compiled operation, which resolvers receive as ``info``."""

    __slots__ = ("budget", "context", "rows", "variables")

    def __init__(self, context: Any, variables: VariableValues, rows: RowCache | None) -> None:
        self.context = context
        self.budget: Budget = context.budget
        self.variables = variables
        self.rows = rows


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
        self._is_for_many = all(field.many is not None for field in fields)

    @cached_property
    def fixed(self) -> bytes | None:
        """The key of the selection if its values depend only on the rows of a frame, else None."""
        names = [(field.key, field.fixed()) for field in self._fields]
        if not names or not self._is_for_many or any(name is None for _, name in names):
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
        """Return the JSON of each object of a list; raises NotVectorized."""
        if not self._is_for_many:
            raise NotVectorized
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

        def render(numbers: Rows | None) -> list[str]:
            run.rows = None  # nested rows are cached as a part of these
            try:
                some = objects if numbers is None else objects.taken(numbers)
                return ["," + text for text in self._rendered(some, run).each()]
            finally:
                run.rows = rows

        rendered.set_texts(rows.texts(self.fixed, origin, render))
        return rendered

    def _rendered(self, objects: Any, run: Run) -> JsonObjects:
        rendered = JsonObjects(len(objects), run.budget)
        for field in self._fields:
            assert field.many is not None  # noqa: S101 - narrows what is checked above
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
        self._selections: dict[tuple[Any, ...], CompiledSelection | None] = {}

    def execute(
        self,
        operation: graphql.OperationDefinitionNode,
        variables: Mapping[str, Any],
        context: Any,
        rows: RowCache,
    ) -> dict[str, orjson.Fragment]:
        """Return the data of an operation; raises NotCompilable if graphql-core has to execute it.

        ``rows`` is the cache of rendered rows, which it uses and extends.
        """
        values = self._coerced(operation, variables)
        key = operation.loc and operation.loc.start, *map(values.coerced.get, self._conditions)
        # Rows are only cached for repeated operations.
        run = Run(context, values, rows if key in self._selections else None)
        try:
            if key not in self._selections and len(self._selections) < MAX_COMPILED:
                self._selections[key] = None  # if it cannot be compiled
                self._selections[key] = self._compiled(operation, variables)
            if (selection := self._selections.get(key)) is None:
                raise NotCompilable
            return selection.members(None, run)
        except Exception as error:
            context.budget.begin_again()
            raise NotCompilable from error

    def _coerced(
        self, operation: graphql.OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> VariableValues:
        if not operation.variable_definitions:
            return _NO_VARIABLES
        values = get_variable_values(
            self._schema, operation.variable_definitions, dict(variables), max_errors=1
        )
        if isinstance(values, list):
            raise NotCompilable
        return values

    def _compiled(
        self, operation: graphql.OperationDefinitionNode, variables: Mapping[str, Any]
    ) -> CompiledSelection:
        executor = Executor.build(
            self._schema,
            self._document,
            raw_variable_values=dict(variables),
            operation_name=operation.name.value if operation.name else None,
        )
        if isinstance(executor, list):
            raise NotCompilable
        compiler = Compiler(executor, MAX_FIELDS)
        selection = compiler.operation()
        self.num_bytes += _BYTES_A_FIELD * compiler.num_fields
        return selection


_NO_VARIABLES = VariableValues({}, {})

_BYTES_A_FIELD = 2_500


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


class Compiler:
    """Compiles an operation, or the selection below one of its fields, to closures.

    Raises the errors of an executor, and NotCompilable for more than ``most_fields``.
    """

    def __init__(self, executor: Executor[Any], most_fields: int | None = None) -> None:
        self._executor = executor
        self._schema = executor.schema
        self._most_fields = most_fields
        self.num_fields = 0

    def operation(self) -> CompiledSelection:
        """Return the selection of the operation."""
        executor = self._executor
        root = self._schema.query_type
        if executor.operation.operation is not graphql.OperationType.QUERY or root is None:
            raise NotCompilable
        grouped = collect_fields(
            self._schema, executor.fragments, executor.variable_values, root, executor.operation
        )
        return self._selection(root, grouped.grouped_field_set)

    def below(self, object_type: Any, details: list[FieldDetails]) -> CompiledSelection:
        """Return the selection below a field for the objects of a type."""
        grouped = self._executor.collect_subfields(object_type, details)
        return self._selection(object_type, grouped.grouped_field_set)

    def _selection(
        self, object_type: Any, grouped: Mapping[str, list[FieldDetails]]
    ) -> CompiledSelection:
        self.num_fields += len(grouped)
        if self._most_fields is not None and self.num_fields > self._most_fields:
            raise NotCompilable
        return CompiledSelection(
            [self._field(object_type, key, details) for key, details in grouped.items()]
        )

    def _field(self, object_type: Any, key: str, details: list[FieldDetails]) -> CompiledField:
        name = details[0].node.name.value
        if name == "__typename":
            return _type_name(key, object_type.name)
        field = object_type.fields.get(name)
        if field is None:  # __schema and __type
            raise NotCompilable
        declared: StrawberryField = field.extensions["strawberry-definition"]
        item_type = graphql.get_named_type(field.type)
        arguments = self._arguments(field, declared, details[0])
        below: CompiledSelection | _OfAnyType | None = None
        if graphql.is_object_type(item_type):
            below = self.below(item_type, details)
        elif graphql.is_abstract_type(item_type):
            kinds = self._schema.get_possible_types(item_type)
            below = _OfAnyType({kind.name: self.below(kind, details) for kind in kinds})
        one = _one(
            STRUCTURE + len(key), _resolver(declared, arguments), _completed(field.type, below)
        )
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
        constant = read(_NO_VARIABLES)
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


def _one(num_bytes: int, resolve: Callable[[Any, Run], Any], complete: Complete) -> Write:
    def one(source: Any, run: Run, out: Out) -> None:
        more = complete(resolve(source, run), run, out)
        run.budget.spend(num_bytes + more)

    return one


def _completed(kind: Any, below: Any) -> Complete:
    """Return a function that writes the JSON of a value of a type, with the selection below it."""
    is_required = isinstance(kind, graphql.GraphQLNonNull)
    inner = _completed_value(kind.of_type if is_required else kind, below)

    def complete(value: Any, run: Run, out: Out) -> int:
        if value is not None:
            return inner(value, run, out)
        if is_required:
            raise NotCompilable
        out.append("null")
        return 0

    return complete


def _completed_value(kind: Any, below: Any) -> Complete:
    """Return a function that writes the JSON of a value that is not None."""
    if isinstance(kind, graphql.GraphQLList):
        item = _completed(kind.of_type, below)
        inner = graphql.get_nullable_type(kind.of_type)
        counts_texts = below is None and not graphql.is_list_type(inner)
        return _list(item, below, counts_texts=counts_texts)
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


def _list(item: Complete, below: Any, *, counts_texts: bool) -> Complete:
    def complete(values: Any, run: Run, out: Out) -> int:
        if isinstance(values, LazyList) and below is not None:
            num_bytes = run.budget.num_bytes
            try:
                out.append(below.many(values, run).array())
            except NotVectorized:
                run.budget.num_bytes = num_bytes
            else:
                return 0
        more, begin = 0, "["
        for value in values:
            out.append(begin)
            begin = ","
            length = item(value, run, out)
            more += STRUCTURE + (length if counts_texts else 0)
        out.append("[]" if begin == "[" else "]")
        return more

    return complete


def _many(
    declared: StrawberryField, item_type: Any, arguments: Arguments, below: Any
) -> Callable[[Any, Run], Any] | None:
    """Return the function that renders a field for many objects; None if it has none."""
    try:
        function = function_for_many(declared, is_leaf=below is None)
    except NotVectorized:
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

    def __init__(self, selections: Mapping[str, CompiledSelection]) -> None:
        self._selections = selections

    def one(self, source: Any, run: Run, out: Out) -> None:
        """Write the JSON of an object; raises NotCompilable if its type is not in the schema."""
        definition = getattr(source, "__strawberry_definition__", None)
        selection = self._selections.get(definition.name) if definition else None
        if selection is None:
            raise NotCompilable
        selection.one(source, run, out)
