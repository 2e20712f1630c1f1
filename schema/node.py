"""Relay's Node: objects with an opaque, stable id of their own."""

import base64
import binascii
from abc import abstractmethod
from typing import ClassVar, Self

import strawberry

from schema.context import Context, LoadedRevision
from snapshots.errors import InvalidArgument
from snapshots.wording import quoted

ID_SEPARATOR = ":"
"""What stands between the parts of an id."""


def node_id(kind: str, *parts: str) -> strawberry.ID:
    """Return the id of an object: its type and what names it there, opaque to clients."""
    plain = ID_SEPARATOR.join((kind, *parts))
    return strawberry.ID(binascii.b2a_base64(plain.encode(), newline=False).decode())


def parse_node_id(text: str) -> tuple[str, list[str]]:
    """Return the type and the parts of an id; raises InvalidArgument for any other text."""
    try:
        kind, *parts = base64.b64decode(text, validate=True).decode().split(ID_SEPARATOR)
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise _no_id(text) from None
    return kind, parts


def _no_id(text: str) -> InvalidArgument:
    return InvalidArgument("id", f"{quoted(text)} is no id of this API")


@strawberry.interface(description="An object that can be fetched again by its id.")
class Node:
    """Relay's Node interface. Every type of objects reads its own ids, in ``of_id``."""

    types: ClassVar[dict[str, type["Node"]]] = {}
    """The types with ids, by their names."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "of_id" in vars(cls):
            Node.types[cls.__name__] = cls

    @strawberry.field(
        description="Opaque and stable: the same object has the same id after a restart and on "
        "every replica."
    )
    def id(self) -> strawberry.ID:
        """Return the id; every type has its own."""
        raise NotImplementedError

    @classmethod
    @abstractmethod
    def of_id(cls, context: Context, parts: list[str]) -> Self | None:
        """Return the object that the parts of an id name; None where there is none."""


def find_node(context: Context, id: str) -> Node | None:
    """Return the object of an id; None where there is none. Raises InvalidArgument for no id."""
    kind, parts = parse_node_id(id)
    if kind not in Node.types:
        raise _no_id(id)
    return Node.types[kind].of_id(context, parts)


def in_revision(context: Context, parts: list[str]) -> tuple[LoadedRevision, str] | None:
    """Return the revision that an id names by its key, and the name that follows; or None."""
    match parts:
        case [key, name] if key in context.history.by_key:
            return context.load(context.history.by_key[key]), name
    not_known(context)
    return None


def not_known(context: Context) -> None:
    """Say that an id names no revision: another replica may know one that is yet to be seen."""
    context.is_permanent = False
