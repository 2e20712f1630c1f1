"""The list of a page's document by itself: a document that asks for that alone, piece by piece."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    NameNode,
    Node,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableDefinitionNode,
    VariableNode,
    parse,
    print_ast,
)

from server.pages.documents import document
from server.pages.used_names import UsedNames

_PAGING = {"first": ("exportFirst", "Int"), "after": ("exportAfter", "String")}
_OTHER_WAY = ("last", "before")
_REFS = {"revision": ("ref",), "compare": ("base", "head")}
"""The arguments of the root's fields that name revisions."""


class Table(NamedTuple):
    """A list in a document: how it is asked for, and what a row has.

    ``path`` leads to it in the answer. A connection is asked for in pieces. ``pins`` says for each
    variable that names a revision where the answer has the digest that it stands for. ``columns``
    are the fields of a row, by the names that lead to each.
    """

    text: str
    path: tuple[str, ...]
    is_connection: bool
    pins: Mapping[str, tuple[str, ...]]
    columns: tuple[tuple[str, ...], ...]

    def found(self, data: Mapping[str, Any]) -> Any:
        """Return the list, or the connection, in an answer; None where it is not there."""
        return value_at(data, self.path)

    def rows(self, found: Any) -> list[dict[str, Any]]:
        """Return the rows in what was found; those of edges have what their nodes have."""
        if not self.is_connection:
            return list(found)
        if "nodes" in found:
            return list(found["nodes"])
        return [{**edge, **edge.pop("node")} for edge in found["edges"]]

    def pinned(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Return the variables that name the very revisions of an answer."""
        return {name: value_at(data, path) for name, path in self.pins.items()}

    def variables(self, size: int, after: str | None) -> dict[str, Any]:
        """Return the variables for a piece of so many rows."""
        if not self.is_connection:
            return {}
        return {_PAGING["first"][0]: size, _PAGING["after"][0]: after}


@cache
def table_of(query: str, table: str) -> Table:
    """Return the list that ``table`` names with dots in the document of a page.

    Raises KeyError where the document has no such list.
    """
    tree = parse(document(query).text, no_location=True)
    (operation,) = [it for it in tree.definitions if isinstance(it, OperationDefinitionNode)]
    fragments = {
        it.name.value: it for it in tree.definitions if isinstance(it, FragmentDefinitionNode)
    }
    path = tuple(table.split("."))
    pruned = _Pruned(path)
    root = pruned.down(operation.selection_set, 0)
    used = [*_used(root, fragments)]
    variables = _declared(operation, [root, *used], is_paged=pruned.is_connection)
    asked = OperationDefinitionNode(
        operation=operation.operation,
        name=operation.name,
        variable_definitions=variables,
        selection_set=root,
    )
    columns = dict.fromkeys(_columns(pruned.row, fragments))
    return Table(
        print_ast(DocumentNode(definitions=(asked, *used))),
        path,
        pruned.is_connection,
        pruned.pins,
        tuple(columns),
    )


def value_at(data: Any, path: tuple[str, ...]) -> Any:
    """Return what stands at a path in an answer; None where anything on the way is not there."""
    for name in path:
        data = data.get(name) if data else None
    return data


def _field(parent: SelectionSetNode, name: str) -> FieldNode:
    for it in parent.selections:
        if isinstance(it, FieldNode) and _response_name(it) == name:
            return it
    raise KeyError(name)


def _response_name(field: FieldNode) -> str:
    return field.alias.value if field.alias else field.name.value


class _Pruned:
    """Leaves of a document what leads to a list, and the digests of the revisions on the way."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path
        self.pins: dict[str, tuple[str, ...]] = {}
        self.is_connection = False
        self.row = SelectionSetNode(selections=())

    def down(self, parent: SelectionSetNode, depth: int) -> SelectionSetNode:
        """Return what is left of a selection; notes what leads from its variables to digests."""
        field = _field(parent, self._path[depth])
        inner = field.selection_set or SelectionSetNode(selections=())
        arguments = tuple(field.arguments or ())
        if depth + 1 < len(self._path):
            further = self._pinned(field, self._path[: depth + 1])
            below = self.down(inner, depth + 1)
            inner = SelectionSetNode(selections=(*below.selections, *further))
        elif (holder := _holder(inner)) is not None:
            self.is_connection = True
            self.row = holder.selection_set or self.row
            paging = _selections("pageInfo { hasNextPage endCursor }")
            inner = SelectionSetNode(selections=(holder, *paging))
            arguments = _paged(arguments)
        else:
            self.row = inner
        left = FieldNode(
            alias=field.alias,
            name=field.name,
            arguments=arguments,
            directives=field.directives,
            selection_set=inner,
        )
        return SelectionSetNode(selections=(left,))

    def _pinned(self, field: FieldNode, path: tuple[str, ...]) -> list[FieldNode]:
        """Return what to ask of a field for the digests that its variables stand for."""
        asked: list[FieldNode] = []
        for argument in field.arguments or ():
            name, value = argument.name.value, argument.value
            if name not in _REFS.get(field.name.value, ()) or not isinstance(value, VariableNode):
                continue
            alias, variable = f"pinned_{name}", value.name.value
            if field.name.value == "revision":
                asked += _selections(f"{alias}: digest")
                self.pins[variable] = (*path, alias)
            else:
                asked += _selections(f"{alias}: {name} {{ digest }}")
                self.pins[variable] = (*path, alias, "digest")
        return asked


def _holder(found: SelectionSetNode) -> FieldNode | None:
    """Return the field of a connection that has its rows; None where it is a list."""
    for it in found.selections:
        if isinstance(it, FieldNode) and it.name.value in ("nodes", "edges"):
            return it
    return None


def _paged(arguments: tuple[ArgumentNode, ...]) -> tuple[ArgumentNode, ...]:
    """Return the arguments of a connection that is asked for in pieces."""
    kept = [it for it in arguments if it.name.value not in (*_PAGING, *_OTHER_WAY)]
    paging = [
        ArgumentNode(name=NameNode(value=name), value=VariableNode(name=NameNode(value=variable)))
        for name, (variable, _) in _PAGING.items()
    ]
    return (*kept, *paging)


def _selections(text: str) -> list[FieldNode]:
    (operation,) = parse(f"{{ {text} }}", no_location=True).definitions
    assert isinstance(operation, OperationDefinitionNode)  # noqa: S101
    return [it for it in operation.selection_set.selections if isinstance(it, FieldNode)]


def _used(
    root: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> Iterator[FragmentDefinitionNode]:
    """Yield the fragments that are left in a selection, each once."""
    used, seen = UsedNames(root), set[str]()
    while waiting := used.fragments - seen:
        name = min(waiting)
        seen.add(name)
        used.see(fragments[name])
        yield fragments[name]


def _declared(
    operation: OperationDefinitionNode, left: Sequence[Node], *, is_paged: bool
) -> tuple[VariableDefinitionNode, ...]:
    """Return the variables that are used in what is left, and those of a connection's pieces."""
    used = UsedNames(*left)
    declared = operation.variable_definitions or ()
    kept = tuple(it for it in declared if it.variable.name.value in used.variables)
    if not is_paged:
        return kept
    asked = ", ".join(f"${name}: {kind}" for name, kind in _PAGING.values())
    (paging,) = parse(f"query ({asked}) {{ a }}", no_location=True).definitions
    assert isinstance(paging, OperationDefinitionNode)  # noqa: S101
    return (*kept, *(paging.variable_definitions or ()))


def _columns(
    row: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> Iterator[tuple[str, ...]]:
    for it in row.selections:
        if isinstance(it, FragmentSpreadNode):
            yield from _columns(fragments[it.name.value].selection_set, fragments)
        elif isinstance(it, InlineFragmentNode):
            yield from _columns(it.selection_set, fragments)
        elif isinstance(it, FieldNode):
            name = (_response_name(it),)
            if it.selection_set is None:
                yield name
            else:
                prefix = () if it.name.value == "node" else name
                yield from ((*prefix, *rest) for rest in _columns(it.selection_set, fragments))
