"""Relay's Node interface: objects with an opaque, stable id."""

import base64
import binascii
from collections.abc import Callable
from inspect import signature
from operator import attrgetter
from typing import Any, ClassVar

import strawberry

from schema.context import Context
from schema.fields.cost import resolver
from snapshots.errors import InvalidArgument
from snapshots.models import RevisionInfo, StackInfo
from snapshots.refs import parse_side
from snapshots.texts import quoted

ID_SEPARATOR = "~"
"""The separator between the parts of an id; refs of revisions and names do not contain it."""


def node_id(kind: str, *parts: str) -> strawberry.ID:
    """Return the opaque id of an object, from its type and the parts that identify it."""
    plain = ID_SEPARATOR.join((kind, *parts))
    return strawberry.ID(binascii.b2a_base64(plain.encode(), newline=False).decode())


def id_field(kind: str, *paths: str) -> Any:
    """Declare the id of a type, computed from attributes of its object, as ``info.ref``."""
    values = [attrgetter(path) for path in paths]

    def id_of(self: Any) -> strawberry.ID:
        return node_id(kind, *(value(self) for value in values))

    return strawberry.field(resolver=id_of, description="An opaque, stable id.")


def parse_node_id(text: str) -> tuple[str, list[str]]:
    """Return the type and the parts of an id; raises InvalidArgument for any other text."""
    try:
        kind, *parts = base64.b64decode(text, validate=True).decode().split(ID_SEPARATOR)
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise _no_id(text) from None
    return kind, parts


def _no_id(text: str) -> InvalidArgument:
    return InvalidArgument("id", f"{quoted(text)} is not an id of this API")


@strawberry.interface(description="An object that can be queried by its id.")
class Node:
    """Relay's Node interface.

    A type with ids has a class method ``of_id``, whose arguments are the context and the parts of
    an id. It returns the object, or None if there is none.
    """

    types: ClassVar[dict[str, type["Node"]]] = {}
    """The types with ids, by name."""

    of_id: ClassVar[Callable[..., Any]]
    num_id_parts: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "of_id" in vars(cls):
            Node.types[cls.__name__.removesuffix("Type")] = cls
            cls.num_id_parts = len(signature(cls.of_id).parameters) - 1

    @resolver()
    def id(self) -> strawberry.ID:
        """An opaque, stable id: an object has the same id after a restart, and on every replica."""
        raise NotImplementedError


def find_node(context: Context, id: str) -> Node | None:
    """Return the object of an id; None if there is none. Raises InvalidArgument."""
    name, parts = parse_node_id(id)
    if (kind := Node.types.get(name)) is None:
        raise _no_id(id)
    last = kind.num_id_parts - 1
    if len(parts) <= last:
        context.is_permanent = False
        return None
    node: Node | None = kind.of_id(context, *parts[:last], ID_SEPARATOR.join(parts[last:]))
    return node


def node_of(name: str, /, **facts: Any) -> Any:
    """Return an object of a type with ids, by the type's name: for modules that the type's module
    imports.
    """
    return Node.types[name](**facts)


def revision_object(info: RevisionInfo) -> Any:
    """Return the object for a revision of the catalog; for a stack, that of its revision."""
    return node_of("Revision", info=info.revision if isinstance(info, StackInfo) else info)


def info_of_id(context: Context, ref: str) -> RevisionInfo | None:
    """Return the revision or stack whose ref is a part of an id; None if there is none."""
    words = parse_side(ref)
    info = context.history.by_ref.get(words.text)
    if info is None:
        context.is_permanent = False  # such a revision may still be published
    elif words.stack is not None:
        return StackInfo.uncounted(info, words.stack)
    return info


def part_of_id(cls: Any, context: Context, ref: str, name: str) -> Any:
    """Return the part of a revision's ref and a name, which ``cls.find`` returns; None if there is
    none. It is the ``of_id`` of types whose objects are parts of a revision.
    """
    info = info_of_id(context, ref)
    return None if info is None else cls.find(context.load(info), name)
